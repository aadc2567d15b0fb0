"""Starts processes and terminals, passes data to and from them, signals them and reaps them.

All descriptors are non-blocking, so a process that reads or writes slowly delays no other. The output
of a process is sent before the message that it has ended. Each process leads its own session, so a
signal also reaches what it started.
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
from typing import TYPE_CHECKING

from .messages import CHUNK_BYTES, Kind, encode, encode_json
from .namespaces import Namespaces

MAX_FINAL_OUTPUT_BYTES = 1 << 20
IDLE_STATES = (b"Z", b"T")  # ended, stopped
if TYPE_CHECKING:
    from typing import TypedDict

    from .sandbox import FileAction, Sandbox

    class InputState(TypedDict):
        """The answer to `input_state`."""

        input_left_bytes: int | None
        is_raw_mode: bool


DEFAULT_SIGNALS = [signal.SIGPIPE, signal.SIGXFSZ]  # Python ignores these; a child must not


class ChildProcess:  # a plain class: importing `dataclasses` takes a tenth of a machine's start
    """A process that the machine's side knows by its number.

    `input` is the descriptor for writing to its standard input: the master if it has a terminal.
    `outputs` are the descriptors for reading its output. `credit` is how many bytes may still be read;
    None is no limit.
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
        self.is_input_polled = False
        self.left_terminal: int | None = None
        self.credit: int | None = None


class ChildStreams:
    """The standard streams of a program that is about to be started.

    `actions` are what posix_spawn() does in the child to open them. `own_ends` are our descriptors:
    `input_end` writes to standard input (None if that is /dev/null), and `outputs` read the output.
    """

    def __init__(self) -> None:
        self.actions: list[FileAction] = []
        self.own_ends: list[int] = []
        self.outputs: dict[int, Kind] = {}
        self.input_end: int | None = None
        self._child_ends: list[int] = []

    def open_terminal(self, rows: int, columns: int) -> None:
        """Make one terminal all three streams."""
        master, slave = os.openpty()
        self.own_ends.append(master)
        self._child_ends.append(slave)
        resize_terminal(master, rows, columns)
        # Opened by the session's leader, it becomes the controlling terminal.
        self.actions.append((os.POSIX_SPAWN_OPEN, 0, os.ttyname(slave), os.O_RDWR, 0))
        self.actions += [(os.POSIX_SPAWN_DUP2, 0, 1), (os.POSIX_SPAWN_DUP2, 0, 2)]
        self.outputs[master] = Kind.OUTPUT
        self.input_end = master

    def open_pipes(self, *, stdin: bool, merge_stderr: bool) -> None:
        """Make a pipe for each output stream, and one for standard input if `stdin` says so."""
        if stdin:
            read_end, self.input_end = os.pipe()
            self._child_ends.append(read_end)
            self.own_ends.append(self.input_end)
            self.actions.append((os.POSIX_SPAWN_DUP2, read_end, 0))
        else:
            self.actions.append((os.POSIX_SPAWN_OPEN, 0, "/dev/null", os.O_RDONLY, 0))
        kinds = ((1, Kind.OUTPUT), (2, Kind.STDERR))
        for target, kind in kinds[:1] if merge_stderr else kinds:
            read_end, write_end = os.pipe()
            self.own_ends.append(read_end)
            self._child_ends.append(write_end)
            self.actions.append((os.POSIX_SPAWN_DUP2, write_end, target))
            self.outputs[read_end] = kind
        if merge_stderr:
            self.actions.append((os.POSIX_SPAWN_DUP2, 1, 2))

    def close_own_ends(self) -> None:
        for descriptor in self.own_ends:
            os.close(descriptor)

    def close_child_ends(self) -> None:
        for descriptor in self._child_ends:
            os.close(descriptor)


class Processes:
    """All processes started on request. `send` passes a frame to the machine's side."""

    def __init__(
        self, namespaces: Namespaces, poll: select.epoll, send: Callable[[bytes], None]
    ) -> None:
        self._namespaces = namespaces
        self._poll = poll
        self._send = send
        self._by_pid: dict[int, ChildProcess] = {}
        self._by_number: dict[int, ChildProcess] = {}
        self._by_descriptor: dict[int, ChildProcess] = {}
        self._sandbox: Sandbox | None = None

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
        merge_stderr: bool = False,
        credit: int | None = None,
    ) -> int:
        """Start a program in a node and return its pid.

        stdin         make a pipe for its standard input; otherwise that is /dev/null
        terminal      rows and columns of a terminal for all three streams
        merge_stderr  send standard error with standard output
        credit        read this many bytes of its output, then wait for `grant_credit`

        OSError if the program or the folder does not exist.
        """
        program = _find_program(arguments[0], environment.get("PATH", ""), folder)
        streams = ChildStreams()
        try:
            if terminal is not None:
                streams.open_terminal(*terminal)
            else:
                streams.open_pipes(stdin=stdin, merge_stderr=merge_stderr)
            pid = self._spawn(node, program, arguments, folder, environment, streams.actions)
        except BaseException:
            streams.close_own_ends()
            raise
        finally:
            os.chdir("/")
            streams.close_child_ends()

        process = ChildProcess(
            number, pid, streams.input_end, terminal is not None, outputs=streams.outputs
        )
        process.credit = credit
        for descriptor in streams.own_ends:
            os.set_blocking(descriptor, False)
            self._by_descriptor[descriptor] = process
        for descriptor in streams.outputs:
            self._poll.register(descriptor, select.EPOLLIN)
        self._by_pid[pid] = process
        self._by_number[number] = process
        return pid

    def _spawn(
        self,
        node: str,
        program: str,
        arguments: list[str],
        folder: str,
        environment: dict[str, str],
        actions: list[FileAction],
    ) -> int:
        if self._sandbox is not None:
            return self._sandbox.spawn(
                node, program, arguments, folder, environment, actions, DEFAULT_SIGNALS
            )
        with self._namespaces.inside(node):
            os.chdir(folder)
            return os.posix_spawn(
                program,
                arguments,
                environment,
                file_actions=actions,
                setsid=True,
                setsigdef=DEFAULT_SIGNALS,
            )

    # -- the sandbox ------------------------------------------------------------------------------

    @property
    def sandbox(self) -> Sandbox | None:
        """The sandbox in which everything is started now."""
        return self._sandbox

    def confine(
        self, working_folder: str, home: str, visible: list[str], hidden: list[str]
    ) -> None:
        """Start everything in a sandbox from now on, until `end_confinement`."""
        from .sandbox import Sandbox  # only grading needs it

        self._sandbox = Sandbox(self._namespaces, working_folder, home, visible, hidden)

    def end_confinement(self) -> None:
        """Kill everything that was started in the sandbox, and start programs outside again."""
        sandbox, self._sandbox = self._sandbox, None
        if sandbox is not None:
            sandbox.end(self.reap)

    def program_files(self, names: list[str], path: str) -> list[dict[str, str]]:
        """Return where programs are found, and the digests of their files."""
        from .program_files import program_files  # only grading needs it

        return program_files(names, path)

    def changed_programs(self, programs: list[dict[str, str]], path: str) -> list[str]:
        """Return the programs, and the files that they load, that differ in the sandbox."""
        return self._sandbox.changed_programs(programs, path) if self._sandbox else []

    # -- called by the machine's side ------------------------------------------------------------

    def feed(self, number: int, data: bytes) -> None:
        """Write to a process's standard input; ignored if that is closed."""
        process = self._by_number.get(number)
        if process and process.input is not None:
            process.waiting += data
            self._write(process)

    def end_input(self, number: int) -> None:
        process = self._by_number.get(number)
        if process is None or process.input is None:
            return
        if process.terminal:
            self.feed(number, b"\x04")  # Ctrl-D
            return
        process.input_ends = True
        self._write(process)

    def signal(self, number: int, signal_number: int) -> bool:
        """Signal a process and everything in its session's group; False if it has ended."""
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

    def input_state(self, number: int) -> InputState:
        """Return the state of a process's standard input.

        `input_left_bytes` counts the bytes that it has not taken yet; None if its input is closed.
        `is_raw_mode` says that the program in its terminal reads single keys: it edits lines itself.
        """
        process = self._by_number.get(number)
        if process is None or process.input is None:
            return {"input_left_bytes": None, "is_raw_mode": False}
        return {
            "input_left_bytes": len(process.waiting),
            "is_raw_mode": process.terminal and _is_raw_mode(process.input),
        }

    def grant_credit(self, number: int, more: int) -> None:
        """Allow `more` further bytes of a process's output to be read."""
        process = self._by_number.get(number)
        if process is None or process.credit is None:
            return
        was_stopped = process.credit <= 0
        process.credit += more
        if was_stopped and process.credit > 0:
            for descriptor in process.outputs:
                self._poll.register(descriptor, select.EPOLLIN)
            if process.input in process.outputs and process.is_input_polled:
                self._poll.modify(process.input, select.EPOLLIN | select.EPOLLOUT)

    def are_busy(self, numbers: list[int]) -> list[bool]:
        """Return for each process whether it is doing something.

        A shell that waits for a command line is not busy, unless it has jobs in the background.
        """
        busy = []
        sessions: set[int] | None = None
        for number in numbers:
            process = self._by_number.get(number)
            if process is None or process.pid not in self._by_pid:
                busy.append(False)
            elif process.input is None or not process.terminal or not _waits_for_line(process):
                busy.append(True)
            else:
                if sessions is None:
                    sessions = _busy_sessions()
                busy.append(process.pid in sessions)
        return busy

    def kill_all(self) -> None:
        """Kill the process group of everything that was started here and still runs."""
        for pid in list(self._by_pid):
            try:
                os.killpg(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue

    # -- events from the kernel -------------------------------------------------------------------

    def ready(self, descriptor: int, events: int) -> None:
        """Handle epoll `events` of one of our descriptors."""
        process = self._by_descriptor.get(descriptor)
        if process is None:
            return
        # A full pipe whose reader has gone never becomes writable; it reports an error again and again.
        if events & select.EPOLLOUT or descriptor not in process.outputs:
            self._write(process)
        if descriptor in process.outputs and events & ~select.EPOLLOUT:
            self._read(process, descriptor)

    def reap(self) -> None:
        """Collect all processes that have ended, orphans included."""
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
            if process.credit is not None and process.credit <= 0:
                self.grant_credit(process.number, MAX_FINAL_OUTPUT_BYTES)
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

    def _read(self, process: ChildProcess, descriptor: int) -> None:
        try:
            data = os.read(descriptor, CHUNK_BYTES)
        except BlockingIOError:
            return
        except OSError:  # EIO: the last process has left the terminal
            data = b""
        if data:
            self._send(encode(process.outputs[descriptor], process.number, data))
            if process.credit is not None:
                self._use_credit(process, len(data))
            return
        self._poll.unregister(descriptor)
        del process.outputs[descriptor], self._by_descriptor[descriptor]
        if descriptor == process.input:
            process.input = None
        if process.terminal and process.pid in self._by_pid:
            # It closed its terminal but runs on: closing the master would send it SIGHUP.
            process.left_terminal = descriptor
            return
        os.close(descriptor)
        if not process.outputs and process.pid not in self._by_pid:
            self._by_number.pop(process.number, None)

    def _use_credit(self, process: ChildProcess, read_bytes: int) -> None:
        """Stop reading from a process without credit: it blocks once its pipe is full."""
        assert process.credit is not None
        had_credit = process.credit > 0
        process.credit -= read_bytes
        if had_credit and process.credit <= 0:
            for descriptor in process.outputs:
                self._poll.unregister(descriptor)

    def _write(self, process: ChildProcess) -> None:
        descriptor = process.input
        if descriptor is None:
            return
        try:
            while process.waiting:
                del process.waiting[: os.write(descriptor, process.waiting[:CHUNK_BYTES])]
        except BlockingIOError:
            self._poll_input(process, True)
            return
        except BrokenPipeError:
            self._close_input(process)
            return
        except OSError:  # EIO: nobody has the terminal open
            process.waiting.clear()
        self._poll_input(process, False)
        if process.input_ends:
            self._close_input(process)

    def _poll_input(self, process: ChildProcess, wanted: bool) -> None:
        descriptor = process.input
        assert descriptor is not None
        if wanted == process.is_input_polled:
            return
        process.is_input_polled = wanted
        if descriptor in process.outputs and process.credit is not None and process.credit <= 0:
            return  # `grant_credit` registers it again
        if descriptor in process.outputs:
            self._poll.modify(descriptor, select.EPOLLIN | (select.EPOLLOUT if wanted else 0))
        elif wanted:
            self._poll.register(descriptor, select.EPOLLOUT)
        else:
            # Registered without events it would still report errors once its reader has gone.
            self._poll.unregister(descriptor)

    def _close_input(self, process: ChildProcess) -> None:
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
    """Whether a program has switched off the terminal's line editing (ICANON)."""
    return not termios.tcgetattr(master)[3] & termios.ICANON


def _waits_for_line(process: ChildProcess) -> bool:
    """Whether the program started in a terminal is in the foreground and edits a line there."""
    assert process.input is not None
    try:
        modes = termios.tcgetattr(process.input)[3]
        # Without ISIG it passes keys on to something else, as ssh and screen do.
        edits_line = not modes & termios.ICANON and bool(modes & termios.ISIG)
        return edits_line and os.tcgetpgrp(process.input) == process.pid
    except OSError:  # nobody has the terminal open
        return False


def _busy_sessions() -> set[int]:
    """Return the leaders of the sessions in which another process than the leader runs, and their
    ancestors: at Mininet's prompt, a job in the background belongs to the shell of a node."""
    sessions = set()
    parents = {}
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            with open(f"/proc/{name}/stat", "rb") as file:
                fields = file.read().rpartition(b")")[2].split()
        except OSError:  # it has ended
            continue
        state, parent, session = fields[0], int(fields[1]), int(fields[3])
        parents[int(name)] = parent
        if state not in IDLE_STATES and session != int(name):
            sessions.add(session)
    for leader in list(sessions):
        while (leader := parents.get(leader, 0)) > 1:
            sessions.add(leader)
    return sessions


def _bytes_to_read(descriptor: int) -> int:
    """Ask without polling and without a read that fails: both would move virtual time."""
    count = fcntl.ioctl(descriptor, termios.FIONREAD, b"\0" * 4)
    return int.from_bytes(count, sys.byteorder)


def _find_program(name: str, path: str, folder: str) -> str:
    if "/" in name:
        return name
    for path_folder in path.split(os.pathsep):
        program = os.path.join(folder, path_folder, name)
        if os.access(program, os.X_OK) and not os.path.isdir(program):
            return program
    raise FileNotFoundError(2, f"no program {name} in {path}")
