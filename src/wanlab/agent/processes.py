"""Starts processes and terminals, signals them and reaps them.

The output of a process is sent before the message that it has ended. Each process leads its own
session, so a signal also reaches its children.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

from . import integrity
from .messages import Kind, encode_json
from .namespaces import Namespaces
from .program_path import find_program
from .streams import NewStreams, Streams

if TYPE_CHECKING:
    from typing import TypedDict

    from .sandbox import FileAction, Sandbox

    class InputState(TypedDict):
        """The answer to `input_state`."""

        input_left_bytes: int | None
        is_raw_mode: bool


DEFAULT_SIGNALS = [signal.SIGPIPE, signal.SIGXFSZ, signal.SIGINT, signal.SIGQUIT]
"""Signals that a child must not ignore. Python ignores the first two. A shell that runs a program in the
background makes it ignore the others, and its agent inherits that."""


class ChildProcess:  # a plain class: importing `dataclasses` takes a tenth of a machine's start
    """A process that the machine's side knows by a number."""

    def __init__(self, pid: int, streams: Streams) -> None:
        self.pid = pid
        self.streams = streams


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
        self._polled: dict[int, Streams] = {}
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
        program = _program(arguments[0], environment.get("PATH", ""), folder)
        new = NewStreams()
        try:
            if terminal is not None:
                new.open_terminal(*terminal)
            else:
                new.open_pipes(stdin=stdin, merge_stderr=merge_stderr)
            pid = self._spawn(node, program, arguments, folder, environment, new.actions)
        except BaseException:
            new.close_own_ends()
            raise
        finally:
            os.chdir("/")
            new.close_child_ends()

        streams = Streams(number, new, self._poll, self._polled, self._send, credit)
        self._by_pid[pid] = self._by_number[number] = ChildProcess(pid, streams)
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

        self._sandbox = Sandbox(self._namespaces, self.reap, working_folder, home, visible, hidden)

    def writable_root(self) -> AbstractContextManager[None]:
        """Return a context in which the agent can write the machine's root."""
        return self._sandbox.writable_root() if self._sandbox else contextlib.nullcontext()

    def end_confinement(self) -> None:
        """Kill everything that was started in the sandbox, and start programs outside again."""
        sandbox, self._sandbox = self._sandbox, None
        if sandbox is not None:
            sandbox.end()

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
        if process is not None:
            process.streams.feed(data)

    def end_input(self, number: int) -> None:
        """Close a process's standard input; in a terminal, type Ctrl-D."""
        process = self._by_number.get(number)
        if process is not None:
            process.streams.end_input()

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
        """Resize the terminal of a process; ignored if it has none."""
        process = self._by_number.get(number)
        if process is not None:
            process.streams.resize(rows, columns)

    def input_state(self, number: int) -> InputState:
        """Return the state of a process's standard input.

        `input_left_bytes` counts the bytes that it has not taken yet; None if its input is closed.
        `is_raw_mode` says that the program in its terminal reads single keys: it edits lines itself.
        """
        integrity.load("wanlab.agent.activity")
        from .activity import is_raw_mode  # only terminals need it

        process = self._by_number.get(number)
        if process is None:
            return {"input_left_bytes": None, "is_raw_mode": False}
        terminal = process.streams.terminal
        return {
            "input_left_bytes": process.streams.unwritten_bytes,
            "is_raw_mode": terminal is not None and is_raw_mode(terminal),
        }

    def waits_for_input(self, number: int) -> bool:
        """Whether a program waits for input from a process's terminal."""
        from .terminal_readers import waits_for_input  # only terminals need it

        process = self._by_number.get(number)
        terminal = None if process is None else process.streams.terminal
        return terminal is not None and waits_for_input(terminal)

    def grant_credit(self, number: int, more: int) -> None:
        """Allow `more` further bytes of a process's output to be read."""
        process = self._by_number.get(number)
        if process is not None:
            process.streams.grant_credit(more)

    def are_busy(self, numbers: list[int]) -> list[bool]:
        """Return for each process whether it is doing something.

        A shell that waits for a command line is not busy, unless it has jobs in the background.
        """
        integrity.load("wanlab.agent.activity")
        from .activity import busy_sessions, waits_for_line  # only terminals need it

        busy = []
        sessions: set[int] | None = None
        for number in numbers:
            process = self._by_number.get(number)
            if process is None or process.pid not in self._by_pid:
                busy.append(False)
                continue
            terminal = process.streams.terminal
            if terminal is None or not waits_for_line(terminal, process.pid):
                busy.append(True)
                continue
            if sessions is None:
                sessions = busy_sessions()
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
        streams = self._polled.get(descriptor)
        if streams is not None:
            streams.ready(descriptor, events)
            if streams.is_finished:
                self._by_number.pop(streams.number, None)

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
            process.streams.end_program()
            self._send(
                encode_json(
                    Kind.ENDED,
                    process.streams.number,
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
            if process.streams.is_finished:
                del self._by_number[process.streams.number]


def _program(name: str, path: str, folder: str) -> str:
    """Return the program to start. FileNotFoundError if PATH does not have it."""
    if "/" in name:
        return name
    program = find_program(name, path, folder)
    if program is None:
        raise FileNotFoundError(2, f"no program {name} in {path}")
    return program
