"""The time-travel protocol between a User-Mode Linux kernel and its calendar: bytes in, messages out.

Nothing here waits, reads a clock or opens a socket. Source: include/uapi/linux/um_timetravel.h and
arch/um/kernel/time.c of Linux 6.12.

    op u32 | sequence u32 | time u64 (ns)

Both sides send requests, and each answers every request with an ACK of the same sequence number. What
the kernel sends, and when:

             START                    WAIT
    CONNECTED -----> RUNNING ------------------------> WAITING
                     |  ^  `-> REQUEST t: wake me at t   |  ^ `-> REQUEST t: earlier than before
                     |  |   -> GET: what time is it?     |  |  -> GET
                     |  |   -> GET_TOD: wall-clock start |  |
                     |  `----------- RUN t (ours) -------'  |
                     `--------------------------------------'

A RUNNING kernel advances its own time up to the FREE_UNTIL that it was granted before RUN. There it
asks again: REQUEST, then WAIT. The time of a WAITING kernel stands still until RUN.
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


class KernelState(Enum):
    CONNECTED = "connected"
    RUNNING = "running"
    WAITING = "waiting"


# What a kernel may send in each state, and the state that follows.
TRANSITIONS = {
    (KernelState.CONNECTED, Op.START): KernelState.RUNNING,
    (KernelState.RUNNING, Op.REQUEST): KernelState.RUNNING,
    (KernelState.RUNNING, Op.GET): KernelState.RUNNING,
    (KernelState.RUNNING, Op.GET_TOD): KernelState.RUNNING,
    (KernelState.RUNNING, Op.UPDATE): KernelState.RUNNING,
    (KernelState.RUNNING, Op.WAIT): KernelState.WAITING,
    (KernelState.WAITING, Op.REQUEST): KernelState.WAITING,
    (KernelState.WAITING, Op.GET): KernelState.WAITING,
}


@dataclass(frozen=True)
class KernelMessage:
    """A request of the kernel, which stands still until it has received the `answer`."""

    op: Op
    sequence: int
    time_ns: int

    def answer(self, time_ns: int = 0) -> bytes:
        return MESSAGE.pack(Op.ACK, self.sequence, time_ns)


class TimeTravel:
    """One connection, seen from the calendar's side."""

    def __init__(self) -> None:
        self.state = KernelState.CONNECTED
        self._buffer = b""
        self._sequence = 0
        self._unanswered: list[int] = []

    def receive(self, data: bytes) -> list[KernelMessage]:
        """Return the requests in `data`, which may end anywhere. PeerError if one is not allowed now."""
        self._buffer += data
        messages = []
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
                self._receive_ack(sequence)
                continue
            try:
                self.state = TRANSITIONS[self.state, op]
            except KeyError:
                raise PeerError(f"the kernel sent {op.name} while {self.state.value}") from None
            messages.append(KernelMessage(op, sequence, time_ns))
        return messages

    def _receive_ack(self, sequence: int) -> None:
        if sequence not in self._unanswered:
            raise PeerError(f"the kernel acknowledged message {sequence}, which awaits no answer")
        self._unanswered.remove(sequence)

    def run(self, time_ns: int, free_until_ns: int) -> bytes:
        """Return the messages that make a waiting kernel run from `time_ns` up to `free_until_ns`."""
        assert self.state is KernelState.WAITING, f"the kernel is {self.state.value}, not waiting"
        assert time_ns <= free_until_ns, f"free until {free_until_ns}, before {time_ns}"
        self.state = KernelState.RUNNING
        # In the other order the kernel would forget FREE_UNTIL at its next WAIT.
        return self._encode(Op.FREE_UNTIL, free_until_ns) + self._encode(Op.RUN, time_ns)

    def _encode(self, op: Op, time_ns: int) -> bytes:
        self._sequence += 1
        self._unanswered.append(self._sequence)
        return MESSAGE.pack(op, self._sequence, time_ns)
