"""Processes and terminals: started, fed, signalled, reaped.

All descriptors here are read when they are ready and never waited for, so a process that reads or
writes slowly delays nobody else. What a process wrote before it ended is passed on before its end
is told. A process leads a session of its own: a signal reaches whatever it started, too.
"""

from __future__ import annotations

import fcntl
import os
import select
import signal
import struct
import sys
import termios
from collections.abc import Callable

from .messages import Kind, encode, encode_json
from .namespaces import Namespaces

CHUNK = 65536
MOST_LAST_WORDS = 1 << 20
NOT_AT_WORK = (b"Z", b"T")  # ended, stopped
DEFAULT_SIGNALS = [signal.SIGPIPE, signal.SIGXFSZ]  # Python ignores these; a child must not


class Process:  # a plain class: `dataclasses` would cost a tenth of a machine's start
    """A process that the machine side knows by its number.

    `input` is where its standard input is written to: the terminal's master if it has a terminal.
    `outputs` are the descriptors it is read from.
    """

    def __init__(
        self, number: int, pid: int, input: int | None, terminal: bool, outputs: dict[int, Kind]
    ) -> None:
        self.number = number
        self.pid = pid
        self.input = input
        self.terminal = terminal
        self.outputs = outputs
        self.waiting = bytearray()
        self.input_ends = False
        self.input_watched = False
        self.left_terminal: int | None = None
        self.room: int | None = None


class Processes:
    """All processes started on request. `send` passes a frame to the machine side."""

    def __init__(
        self, namespaces: Namespaces, poll: select.epoll, send: Callable[[bytes], None]
    ) -> None:
        self._namespaces = namespaces
        self._poll = poll
        self._send = send
        self._by_pid: dict[int, Process] = {}
        self._by_number: dict[int, Process] = {}
        self._by_descriptor: dict[int, Process] = {}

    # -- starting ---------------------------------------------------------------------------------

    def start(
        self,
        number: int,
        node: str,
        arguments: list[str],
        folder: str,
        environment: dict[str, str],
        stdin: bool,
        terminal: list[int] | None,
        errors_in_output: bool = False,
        room: int | None = None,
    ) -> int:
        """Starts `arguments` in a node; returns its pid.

        `stdin`: a pipe to write to (otherwise /dev/null). `terminal`: rows and columns of a terminal
        that is all three streams. `errors_in_output`: its two outputs are one. `room`: so many bytes
        are read of what it says, and no more until there is room again. OSError if the program or the
        folder does not exist.
        """
        program = _find_program(arguments[0], environment.get("PATH", ""), folder)
        ours: list[int] = []
        theirs: list[int] = []
        try:
            actions: list[tuple[int, ...] | tuple[int, int, str, int, int]] = []
            outputs: dict[int, Kind] = {}
            if terminal is not None:
                master, slave = os.openpty()
                ours.append(master)
                theirs.append(slave)
                resize_terminal(master, *terminal)
                # Opened by the session's leader, it becomes the controlling terminal.
                actions.append((os.POSIX_SPAWN_OPEN, 0, os.ttyname(slave), os.O_RDWR, 0))
                actions += [(os.POSIX_SPAWN_DUP2, 0, 1), (os.POSIX_SPAWN_DUP2, 0, 2)]
                outputs[master] = Kind.OUTPUT
                input_end: int | None = master
            else:
                input_end = None
                if stdin:
                    read_end, input_end = os.pipe()
                    theirs.append(read_end)
                    ours.append(input_end)
                    actions.append((os.POSIX_SPAWN_DUP2, read_end, 0))
                else:
                    actions.append((os.POSIX_SPAWN_OPEN, 0, "/dev/null", os.O_RDONLY, 0))
                streams = ((1, Kind.OUTPUT), (2, Kind.ERRORS))
                for target, kind in streams[:1] if errors_in_output else streams:
                    read_end, write_end = os.pipe()
                    ours.append(read_end)
                    theirs.append(write_end)
                    actions.append((os.POSIX_SPAWN_DUP2, write_end, target))
                    outputs[read_end] = kind
                if errors_in_output:
                    actions.append((os.POSIX_SPAWN_DUP2, 1, 2))

            with self._namespaces.inside(node):
                os.chdir(folder)
                pid = os.posix_spawn(
                    program,
                    arguments,
                    environment,
                    file_actions=actions,
                    setsid=True,
                    setsigdef=DEFAULT_SIGNALS,
                )
        except BaseException:
            for descriptor in ours:
                os.close(descriptor)
            raise
        finally:
            os.chdir("/")
            for descriptor in theirs:
                os.close(descriptor)

        process = Process(number, pid, input_end, terminal is not None, outputs=outputs)
        process.room = room
        for descriptor in ours:
            os.set_blocking(descriptor, False)
            self._by_descriptor[descriptor] = process
        for descriptor in outputs:
            self._poll.register(descriptor, select.EPOLLIN)
        self._by_pid[pid] = process
        self._by_number[number] = process
        return pid

    # -- told by the machine side -----------------------------------------------------------------

    def feed(self, number: int, data: bytes) -> None:
        """Bytes for its standard input; ignored when it does not take any more."""
        process = self._by_number.get(number)
        if process and process.input is not None:
            process.waiting += data
            self._write(process)

    def end_input(self, number: int) -> None:
        process = self._by_number.get(number)
        if process is None or process.input is None:
            return
        if process.terminal:
            self.feed(number, b"\x04")  # what Ctrl-D at a terminal means
            return
        process.input_ends = True
        self._write(process)

    def signal(self, number: int, signal_number: int) -> bool:
        """Signals the process and what it started; False if it has ended."""
        process = self._by_number.get(number)
        if process is None or process.pid not in self._by_pid:
            return False
        try:
            os.killpg(process.pid, signal_number)
        except ProcessLookupError:
            return False
        return True

    def resize(self, number: int, rows: int, columns: int) -> None:
        process = self._by_number.get(number)
        if process and process.terminal and process.input is not None:
            resize_terminal(process.input, rows, columns)

    def look(self, number: int) -> dict[str, int | bool | None]:
        """How many bytes it still has to take of its input (None: it takes no more), and whether the
        program in its terminal reads single keys (it does its own line editing)."""
        process = self._by_number.get(number)
        if process is None or process.input is None:
            return {"input_left_bytes": None, "is_raw_mode": False}
        return {
            "input_left_bytes": len(process.waiting),
            "is_raw_mode": process.terminal and _is_raw_mode(process.input),
        }

    def give_room(self, number: int, more: int) -> None:
        """So much more of what it says may be read."""
        process = self._by_number.get(number)
        if process is None or process.room is None:
            return
        was_full = process.room <= 0
        process.room += more
        if was_full and process.room > 0:
            for descriptor in process.outputs:
                self._poll.register(descriptor, select.EPOLLIN)
            if process.input in process.outputs and process.input_watched:
                self._poll.modify(process.input, select.EPOLLIN | select.EPOLLOUT)

    def are_busy(self, numbers: list[int]) -> list[bool]:
        """Of each, whether it does something: a shell that waits for a line does not, unless something
        runs in the background."""
        found = []
        sessions: set[int] | None = None
        for number in numbers:
            process = self._by_number.get(number)
            if process is None or process.pid not in self._by_pid:
                found.append(False)
            elif process.input is None or not process.terminal or not _waits(process):
                found.append(True)
            else:
                if sessions is None:
                    sessions = _busy_sessions()
                found.append(process.pid in sessions)
        return found

    def kill_all(self) -> None:
        """Everything that was started here and runs; what has left its session, too."""
        for pid in list(self._by_pid):
            try:
                os.killpg(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue

    # -- told by the kernel -----------------------------------------------------------------------

    def ready(self, descriptor: int, events: int) -> None:
        """One of our ends can be read or written."""
        process = self._by_descriptor.get(descriptor)
        if process is None:
            return
        # A full pipe whose reader has gone is never ready to be written, but in error for ever.
        if events & select.EPOLLOUT or descriptor not in process.outputs:
            self._write(process)
        if descriptor in process.outputs and events & ~select.EPOLLOUT:
            self._read(process, descriptor)

    def reap(self) -> None:
        """Collects everything that has ended, orphans included."""
        while True:
            try:
                pid, status, usage = os.wait4(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            process = self._by_pid.pop(pid, None)
            if process is None:
                continue
            if process.room is not None and process.room <= 0:
                self.give_room(process.number, MOST_LAST_WORDS)
            for descriptor in list(process.outputs):
                while descriptor in process.outputs and _bytes_to_read(descriptor):
                    self._read(process, descriptor)
            if process.input is not None and not process.terminal:
                self._close_input(process)
            if process.left_terminal is not None:
                os.close(process.left_terminal)
            self._send(
                encode_json(
                    Kind.ENDED,
                    process.number,
                    {
                        "status": os.waitstatus_to_exitcode(status),
                        "memory_bytes": usage.ru_maxrss * 1024,
                        "minor_faults": usage.ru_minflt,
                        "major_faults": usage.ru_majflt,
                        "voluntary_switches": usage.ru_nvcsw,
                        "involuntary_switches": usage.ru_nivcsw,
                    },
                )
            )
            if not process.outputs:
                del self._by_number[process.number]

    # -- inside -----------------------------------------------------------------------------------

    def _read(self, process: Process, descriptor: int) -> None:
        try:
            data = os.read(descriptor, CHUNK)
        except BlockingIOError:
            return
        except OSError:  # EIO: the last process has left the terminal
            data = b""
        if data:
            self._send(encode(process.outputs[descriptor], process.number, data))
            if process.room is not None:
                self._take_room(process, len(data))
            return
        self._poll.unregister(descriptor)
        del process.outputs[descriptor], self._by_descriptor[descriptor]
        if descriptor == process.input:
            process.input = None
        if process.terminal and process.pid in self._by_pid:
            # It has left its terminal but not ended yet; closing this end would hang up on it.
            process.left_terminal = descriptor
            return
        os.close(descriptor)
        if not process.outputs and process.pid not in self._by_pid:
            self._by_number.pop(process.number, None)

    def _take_room(self, process: Process, read: int) -> None:
        """A full one is not listened to: its program waits, as before a printer without paper."""
        assert process.room is not None
        had_room = process.room > 0
        process.room -= read
        if had_room and process.room <= 0:
            for descriptor in process.outputs:
                self._poll.unregister(descriptor)

    def _write(self, process: Process) -> None:
        descriptor = process.input
        if descriptor is None:
            return
        try:
            while process.waiting:
                del process.waiting[: os.write(descriptor, process.waiting[:CHUNK])]
        except BlockingIOError:
            self._watch_input(process, True)
            return
        except BrokenPipeError:
            self._close_input(process)
            return
        except OSError:  # EIO: nobody has the terminal open
            process.waiting.clear()
        self._watch_input(process, False)
        if process.input_ends:
            self._close_input(process)

    def _watch_input(self, process: Process, wanted: bool) -> None:
        descriptor = process.input
        assert descriptor is not None
        if wanted == process.input_watched:
            return
        process.input_watched = wanted
        if descriptor in process.outputs and process.room is not None and process.room <= 0:
            return  # it takes no keys either until somebody has heard it; see `give_room`
        if descriptor in process.outputs:
            self._poll.modify(descriptor, select.EPOLLIN | (select.EPOLLOUT if wanted else 0))
        elif wanted:
            self._poll.register(descriptor, select.EPOLLOUT)
        else:
            # Watched for nothing it would be reported over and over once nobody reads it.
            self._poll.unregister(descriptor)

    def _close_input(self, process: Process) -> None:
        descriptor = process.input
        if descriptor is None:
            return
        process.input = None
        process.waiting.clear()
        self._by_descriptor.pop(descriptor, None)
        os.close(descriptor)  # leaves the poll by itself


def resize_terminal(master: int, rows: int, columns: int) -> None:
    fcntl.ioctl(master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))


def _is_raw_mode(master: int) -> bool:
    """Line mode has been taken off the terminal."""
    return not termios.tcgetattr(master)[3] & termios.ICANON


def _waits(process: Process) -> bool:
    """The program that was started in a terminal has it for itself, and edits a line in it."""
    assert process.input is not None
    try:
        modes = termios.tcgetattr(process.input)[3]
        # Without signals of the terminal's it passes keys on to what it runs.
        edits_line = not modes & termios.ICANON and bool(modes & termios.ISIG)
        return edits_line and os.tcgetpgrp(process.input) == process.pid
    except OSError:  # nobody has the terminal open
        return False


def _busy_sessions() -> set[int]:
    """Leaders of the sessions in which something else than the leader runs."""
    found = set()
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            with open(f"/proc/{name}/stat", "rb") as file:
                words = file.read().rpartition(b")")[2].split()
        except OSError:  # it has ended
            continue
        state, session = words[0], int(words[3])
        if state not in NOT_AT_WORK and session != int(name):
            found.add(session)
    return found


def _bytes_to_read(descriptor: int) -> int:
    """Neither a poll nor a failing read: both would move virtual time."""
    answer = fcntl.ioctl(descriptor, termios.FIONREAD, b"\0" * 4)
    return int.from_bytes(answer, sys.byteorder)


def _find_program(name: str, path: str, folder: str) -> str:
    if "/" in name:
        return name
    for place in path.split(os.pathsep):
        program = os.path.join(folder, place, name)
        if os.access(program, os.X_OK) and not os.path.isdir(program):
            return program
    raise FileNotFoundError(2, f"no program {name} in {path}")
