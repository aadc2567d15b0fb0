"""A process in a node: a thin handle that sends messages and keeps the output."""

from __future__ import annotations

import os
import shlex
import signal
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from wanlab.agent.messages import Kind
from wanlab.errors import CommandError, WanlabError
from wanlab.kept_output import keep_beginning
from wanlab.machine import AgentFailure
from wanlab.units import format_time, parse_time

from .runtime import Runtime

if TYPE_CHECKING:
    from wanlab.agent.processes import InputState

Command = str | Sequence[str | os.PathLike[str]]
OutputHandler = Callable[[bytes], None]
GRACE_NS = 1_000_000_000
MAX_LINE = 200
MAX_KEPT_BYTES = 128 << 20
"""Of the output and of the error output of a process, without a handler that takes them."""
TAIL_BYTES = 4096
NOT_EXECUTABLE, NOT_FOUND = 126, 127


class ProcessLog:
    """Lists the processes that are started in the nodes of a network."""

    def __init__(self) -> None:
        self.commands: list[str] = []
        """In order, as one would type them: "h1$ iperf3 -c h3"."""
        self.on_process: Callable[[Process], None] | None = None
        """Called with each process that was started."""

    def note(self, node: str, process: Process, *, is_new: bool = True) -> None:
        self.commands.append(f"{node}$ {process.command}")
        process.note_in_session(node)
        if is_new and self.on_process is not None:
            self.on_process(process)


def as_texts(command: Command) -> str | list[str]:
    """Return a command with its paths as texts; WanlabError if it has anything else."""
    if isinstance(command, str):
        return command
    words = [os.fspath(word) if isinstance(word, os.PathLike) else word for word in command]
    for word in words:
        if not isinstance(word, str):
            raise WanlabError(
                f"a command consists of texts and paths, and {word!r} is neither: {words}",
                f'write "{word}"' if isinstance(word, int | float) else "",
            )
    return words


def failed_program_warnings(runtime: Runtime) -> list[str]:
    """Return a warning for each program that failed without anybody having looked at it."""
    failed = (process for process in runtime.failed if isinstance(process, Process))
    return [process.failure() for process in failed if process.has_failed_unnoticed]


@dataclass(frozen=True)
class Finished:
    """The result of a process that has ended."""

    command: str
    status: int
    """Exit status; negative: the signal that ended it."""
    output: str
    stderr: str
    seconds: float
    """Duration on the machine's clock."""


class Process:
    """A started process. Time passes only while you wait for it or let the network run.

    `output` and `stderr` grow as the process writes, up to MAX_KEPT_BYTES; with `on_output`
    (`on_stderr`) the bytes are passed to you instead and not kept.
    """

    def __init__(
        self,
        runtime: Runtime,
        node: str,
        command: str | Sequence[str],
        *,
        on_output: OutputHandler | None = None,
        on_stderr: OutputHandler | None = None,
        number: int | None = None,
    ) -> None:
        self._runtime = runtime
        self.node = node
        self.command = command if isinstance(command, str) else shlex.join(command)
        self._status: int | None = None
        self._is_watched = on_output is not None
        self.counters: dict[str, int] = {}
        self.started_ns = runtime.now_ns
        self.ended_ns: int | None = None
        self._is_cut = False
        self._buffers = {Kind.OUTPUT: bytearray(), Kind.STDERR: bytearray()}
        self._handlers = {Kind.OUTPUT: on_output, Kind.STDERR: on_stderr}
        channel = runtime.machine.channel
        if number is None:
            number = channel.new_process(self)
        else:
            channel.adopt_process(number, self)
        self._number = number
        self.pid = 0
        self.has_terminal = False
        runtime.processes[number] = self

    def __repr__(self) -> str:
        state = "running" if self._status is None else f"status {self._status}"
        return f"<Process {self.node or 'root'}: {self.command!r}, {state}>"

    @property
    def status(self) -> int | None:
        """Exit status; negative: the signal that ended it; None while it runs."""
        self._is_watched = True
        return self._status

    @property
    def has_failed_unnoticed(self) -> bool:
        """Whether it has ended with an error, and nobody has asked for its end or its output."""
        return not self._is_watched and (self._status or 0) > 0

    @property
    def output(self) -> str:
        """Standard output so far."""
        return self.output_bytes.decode(errors="replace")

    @property
    def stderr(self) -> str:
        """Standard error so far."""
        self._is_watched = True
        return bytes(self._buffers[Kind.STDERR]).decode(errors="replace")

    @property
    def output_bytes(self) -> bytes:
        self._is_watched = True
        return bytes(self._buffers[Kind.OUTPUT])

    @property
    def number(self) -> int:
        """The number under which the agent knows it."""
        return self._number

    @property
    def is_running(self) -> bool:
        return self._status is None

    # -- waiting, input and signals ---------------------------------------------------------------

    def wait(self, timeout: str | int | None = None) -> int:
        """Let time pass until it has ended; return its status. CommandError after `timeout`, and as
        soon as it has written more than is kept."""
        self._is_watched = True
        limit_ns = None if timeout is None else parse_time(timeout)
        self._runtime.run_until_condition(lambda: not self.is_running or self._is_cut, limit_ns)
        if self._status is None:
            self._refuse_cut_output()
            assert limit_ns is not None
            raise CommandError(
                f"{self._description()} has not ended within {format_time(limit_ns)}",
                output=self._tail(),
            )
        return self._status

    def finish(self, timeout: str | int | None = None, *, check: bool = True) -> Finished:
        """Wait, and return all of its output; CommandError if `check` and its status is not 0."""
        status = self.wait(timeout)
        self._refuse_cut_output()
        assert self.ended_ns is not None
        if check and status != 0:
            raise CommandError(f"{self._description()} failed", status=status, output=self._tail())
        seconds = (self.ended_ns - self.started_ns) / 1e9
        return Finished(self.command, status, self.output, self.stderr, seconds)

    def lines(self) -> Iterator[str]:
        """Yield lines of its output as they arrive; time passes while you wait for the next one."""
        self._is_watched = True
        position = 0
        while True:
            end = self._buffers[Kind.OUTPUT].find(b"\n", position)
            if end >= 0:
                yield self._buffers[Kind.OUTPUT][position:end].decode(errors="replace")
                position = end + 1
                continue
            self._refuse_cut_output()
            if not self.is_running:
                rest = self._buffers[Kind.OUTPUT][position:]
                if rest:
                    yield rest.decode(errors="replace")
                return
            known = len(self._buffers[Kind.OUTPUT])
            self._runtime.run_until_condition(
                lambda known=known: (  # type: ignore[misc]
                    len(self._buffers[Kind.OUTPUT]) > known or self._is_cut or not self.is_running
                )
            )

    def write(self, data: str | bytes) -> None:
        """Send to its standard input (start it with stdin=True or in a terminal)."""
        self._runtime.machine.channel.input(
            self._number, data.encode() if isinstance(data, str) else data
        )

    def end_input(self) -> None:
        self._runtime.machine.channel.end_input(self._number)

    def signal(self, number: int) -> bool:
        """Send a signal to it and to the processes it started; False if it has ended already."""
        self._is_watched = True
        return self._runtime.machine.agent.signal(self._number, number)

    def interrupt(self) -> None:
        """Send SIGINT, as Ctrl-C does."""
        self.signal(signal.SIGINT)

    def stop(self) -> int:
        """End it by SIGINT, SIGTERM and SIGKILL, a second apart; return its status."""
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
            if not self.is_running or not self.signal(number):
                break
            self._runtime.run_until_condition(lambda: not self.is_running, GRACE_NS)
        return self.wait()

    def input_left_bytes(self) -> int | None:
        """Return how much of its input it has not read yet; None if it has closed its input."""
        return self._input_state()["input_left_bytes"]

    def is_raw_mode(self) -> bool:
        """Whether the program in its terminal reads single keys, as shells and editors do."""
        return self._input_state()["is_raw_mode"]

    def waits_for_input(self) -> bool:
        """Whether a program waits for a line in its terminal, or edits one."""
        return self._runtime.machine.agent.waits_for_input(self._number)

    def _input_state(self) -> InputState:
        return self._runtime.machine.agent.input_state(self._number)

    def grant_credit(self, more: int) -> None:
        """Accept `more` bytes of output; see `credit` of `LiveNode.start`."""
        self._runtime.machine.agent.grant_credit(number=self._number, more=more)

    def resize(self, rows: int, columns: int) -> None:
        self._runtime.machine.agent.resize(number=self._number, rows=rows, columns=columns)

    # -- sessions ---------------------------------------------------------------------------------

    def note_in_session(self, node: str) -> None:
        """Note that the user has started it, in the node of this name."""
        self._runtime.note("process", {"number": self._number, "node": node})

    def show_on(self, on_output: OutputHandler, on_stderr: OutputHandler | None = None) -> None:
        """Pass the bytes that it writes from now on to these handlers, and stop keeping them."""
        self._is_watched = True
        self._handlers = {Kind.OUTPUT: on_output, Kind.STDERR: on_stderr or on_output}

    def begin_again(self) -> None:
        """Forget the output and the end of the process: a replay starts it again."""
        self._status = self.ended_ns = None
        self.counters = {}
        for buffer in self._buffers.values():
            buffer.clear()
        self._is_cut = False
        self._runtime.machine.channel.adopt_process(self._number, self)

    def vanish(self) -> None:
        """Count as killed: the network was rewound to an instant before its start."""
        if self._status is None:
            self._status, self.ended_ns = -signal.SIGKILL, self._runtime.now_ns

    # -- called by the channel --------------------------------------------------------------------

    def output_arrived(self, kind: Kind, data: bytes) -> None:
        handler = self._handlers[kind]
        if handler is None:
            self._is_cut |= not keep_beginning(self._buffers[kind], data, MAX_KEPT_BYTES)
        elif not self._runtime.is_replaying:
            handler(data)

    def ended(self, result: dict[str, int]) -> None:
        self._status = result["status"]
        self.ended_ns = self._runtime.now_ns
        self.counters = {name: value for name, value in result.items() if name != "status"}
        if self.has_failed_unnoticed:
            self._runtime.failed.append(self)

    def start(
        self,
        arguments: Sequence[str],
        *,
        folder: str,
        environment: dict[str, str],
        stdin: bool,
        terminal: tuple[int, int] | None,
        merge_stderr: bool,
        credit: int | None,
    ) -> None:
        """Start it. If that fails, raise CommandError with the status that a shell would report."""
        machine = self._runtime.machine
        self.has_terminal = terminal is not None
        try:
            self.pid = machine.agent.start(
                number=self._number,
                node=self.node,
                arguments=list(arguments),
                folder=folder,
                environment=environment,
                stdin=stdin,
                terminal=terminal,
                merge_stderr=merge_stderr,
                credit=credit,
            )
        except AgentFailure as failure:
            machine.channel.forget_process(self._number)
            status = NOT_FOUND if failure.kind == "FileNotFoundError" else NOT_EXECUTABLE
            raise CommandError(
                f"cannot start {self._description()}: {failure.what}", status=status
            ) from None

    def failure(self) -> str:
        """Describe how it failed, with the last line that it wrote."""
        written = self._buffers[Kind.STDERR] or self._buffers[Kind.OUTPUT]
        last = bytes(written).decode(errors="replace").strip().rpartition("\n")[2]
        told = f": {last[:MAX_LINE]}" if last else ""
        return f"{self._description()} ended with status {self._status}{told}"

    def _refuse_cut_output(self) -> None:
        if self._is_cut:
            raise CommandError(
                f"{self._description()} has written more than {MAX_KEPT_BYTES >> 20} MiB",
                "redirect its output to a file, or start it with on_output=",
                output=self._buffers[Kind.OUTPUT][-TAIL_BYTES:].decode(errors="replace"),
            )

    def _description(self) -> str:
        return f"`{self.command}` in {self.node or 'the root namespace'}"

    def _tail(self) -> str:
        return self.stderr or self.output
