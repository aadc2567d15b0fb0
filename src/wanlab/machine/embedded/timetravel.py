"""The time-travel protocol between a User-Mode Linux kernel and its calendar: bytes in, messages out.

Nothing here waits, reads a clock or opens a socket. Source: include/uapi/linux/um_timetravel.h and
arch/um/kernel/time.c of Linux 6.12.

    op u32 | sequence u32 | time u64 (ns)

Both sides send requests and both answer each with an ACK of the same sequence number. What the
kernel says, and when:

             START                    WAIT
    CONNECTED -----> RUNNING ------------------------> WAITING
                     |  ^  `-> REQUEST t: wake me at t   |  ^ `-> REQUEST t: earlier than before
                     |  |   -> GET: what time is it?     |  |  -> GET
                     |  |   -> GET_TOD: wall-clock start |  |
                     |  `----------- RUN t (ours) -------'  |
                     `--------------------------------------'

A RUNNING kernel moves its own time, up to the FREE_UNTIL that it was granted before RUN; from there
on it asks again: REQUEST, then WAIT. A WAITING kernel's time stands still until RUN.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from enum import Enum, IntEnum

from wanlab.errors import PeerError

MESSAGE = struct.Struct("<IIQ")


class Op(IntEnum):
    ACK = 0
    START = 1
    REQUEST = 2
    WAIT = 3
    GET = 4
    UPDATE = 5
    RUN = 6
    FREE_UNTIL = 7
    GET_TOD = 8
    BROADCAST = 9


class Kernel(Enum):
    CONNECTED = "connected"
    RUNNING = "running"
    WAITING = "waiting"


# What a kernel may say, and where that takes it.
HEARD = {
    (Kernel.CONNECTED, Op.START): Kernel.RUNNING,
    (Kernel.RUNNING, Op.REQUEST): Kernel.RUNNING,
    (Kernel.RUNNING, Op.GET): Kernel.RUNNING,
    (Kernel.RUNNING, Op.GET_TOD): Kernel.RUNNING,
    (Kernel.RUNNING, Op.UPDATE): Kernel.RUNNING,
    (Kernel.RUNNING, Op.WAIT): Kernel.WAITING,
    (Kernel.WAITING, Op.REQUEST): Kernel.WAITING,
    (Kernel.WAITING, Op.GET): Kernel.WAITING,
}


@dataclass(frozen=True)
class Heard:
    """A request of the kernel's; it stands still until `answer` has been sent for it."""

    op: Op
    sequence: int
    time_ns: int

    def answer(self, time_ns: int = 0) -> bytes:
        return MESSAGE.pack(Op.ACK, self.sequence, time_ns)


class TimeTravel:
    """One connection, seen from the calendar's side."""

    def __init__(self) -> None:
        self.state = Kernel.CONNECTED
        self._buffer = b""
        self._sequence = 0
        self._unanswered: list[int] = []

    def receive(self, data: bytes) -> list[Heard]:
        """The requests in `data`, which may end anywhere. PeerError for what cannot be said now."""
        self._buffer += data
        heard = []
        while len(self._buffer) >= MESSAGE.size:
            number, sequence, time_ns = MESSAGE.unpack_from(self._buffer)
            self._buffer = self._buffer[MESSAGE.size :]
            try:
                op = Op(number)
            except ValueError:
                raise PeerError(
                    f"the kernel sent an unknown time-travel message: {number}"
                ) from None
            if op is Op.ACK:
                self._take_ack(sequence)
                continue
            try:
                self.state = HEARD[self.state, op]
            except KeyError:
                raise PeerError(f"the kernel sent {op.name} while {self.state.value}") from None
            heard.append(Heard(op, sequence, time_ns))
        return heard

    def _take_ack(self, sequence: int) -> None:
        if sequence not in self._unanswered:
            raise PeerError(f"the kernel acknowledged message {sequence}, which awaits no answer")
        self._unanswered.remove(sequence)

    def run(self, time_ns: int, free_until_ns: int) -> bytes:
        """Lets a waiting kernel go on at `time_ns`, and by itself up to `free_until_ns`."""
        assert self.state is Kernel.WAITING, f"the kernel is {self.state.value}, not waiting"
        assert time_ns <= free_until_ns, f"free until {free_until_ns}, before {time_ns}"
        self.state = Kernel.RUNNING
        # The other way round the kernel would forget FREE_UNTIL at its next WAIT.
        return self._say(Op.FREE_UNTIL, free_until_ns) + self._say(Op.RUN, time_ns)

    def _say(self, op: Op, time_ns: int) -> bytes:
        self._sequence += 1
        self._unanswered.append(self._sequence)
        return MESSAGE.pack(op, self._sequence, time_ns)
