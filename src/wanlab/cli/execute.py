"""`wanlab exec`: runs one command in a new machine, as if it ran here.

Time in the machine passes as fast as possible while the command runs, so `sleep 1000` returns at once.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import replace
from types import FrameType
from typing import Any

from wanlab import Network, Process, Topology
from wanlab.errors import CommandError, WanlabError, did_you_mean
from wanlab.network import collect_computing, computing_real_s, computing_warnings
from wanlab.topology import IPV6_BASE

from . import desktop, drops, lost_files, start_date, topologies, virtual_environment
from .exec_options import ExecOptions
from .lines import VARIABLES, LineService, StreamLines
from .signals import EndedBySignal
from .streams import Abandoned, Input, Output, is_same_file, print_hints
from .time_slices import LISTEN_REAL_S, TimeSlices
from .windows import refuse

DOUBLE_PRESS_REAL_S = 2.0
DELIVERY_REAL_S = 3.0
"""After one second, the kernel preempts a command that computes; the command then receives Ctrl-C."""
NOT_EXECUTABLE, NOT_FOUND = 126, 127
BUSY = "the command is computing and has not received Ctrl-C yet; press it again to end the machine"


def run(
    command: list[str],
    *,
    topo: str | None,
    node: str | None,
    network_options: Mapping[str, Any],
    keep_files: str | None,
    no_drops: bool,
    ipv6: bool,
    date: str | None,
    known: Sequence[str],
) -> int:
    """Run a command and return its exit status; as in a shell, 128 + N if signal N ended it.

    `known` are the options of `wanlab exec`, for a wrong one that is taken for the command.
    """
    if command[0].startswith("-"):
        raise WanlabError(
            f"there is no option {command[0]}", did_you_mean(command[0].partition("=")[0], known)
        )
    keep = lost_files.check_keep_folder(keep_files) if keep_files is not None else ""
    venv = virtual_environment.chosen(None)
    topology = topologies.read(topo) if topo else Topology()
    if ipv6 and not topology.ipv6_base:
        topology = replace(topology, ipv6_base=IPV6_BASE)
    network = Network(topology, **network_options, visible_folders=venv.folders if venv else ())
    own_path = (
        virtual_environment.own_programs() if os.environ.get("VIRTUAL_ENV") and not venv else []
    )
    namespace = network[node] if node else network.root
    options = ExecOptions(
        path=(venv.programs,) if venv else (),
        own_path=tuple(own_path),
        keep_files=keep,
        shows_drops=not no_drops,
        date=start_date.parse(date),
    )
    return run_in(network, namespace.start, command, options)


def run_in(
    network: Network,
    start: Callable[..., Process],
    command: list[str],
    options: ExecOptions,
    around: AbstractContextManager[object] | None = None,
) -> int:
    """Start the network and a command in it; return the command's exit status as a shell does.

    `start` starts the command; its keyword arguments are those of Node.start. `around` is entered
    after the network has started.
    """
    desktop.offer(network)
    computed_inside = collect_computing(network)
    with network, around or nullcontext():
        _print_warnings(network.warnings)
        if options.paces_to_real:
            network.pace_to_real()
        if options.date:
            network.root.run(["date", "--utc", "--set", options.date])
        try:
            if sys.stdin.isatty() and sys.stdout.isatty():
                from .terminal import run_in_terminal

                status = run_in_terminal(network, start, command, options)
            else:
                status = _run_with_streams(network, start, command, options)
        except CommandError as error:
            if error.status not in (NOT_EXECUTABLE, NOT_FOUND):
                raise
            print(f"wanlab: {_shell_message(error, command[0], network)}", file=sys.stderr)
            return error.status
        if options.shows_drops:
            drops.report(network)
        if options.keep_files is not None:
            lost_files.report(network, options.keep_files)
        with suppress(WanlabError):  # the machine, or a node's namespace, may be gone
            _print_warnings(network.look_at_queues())
            computed = {**computed_inside, **computing_real_s(network)}
            _print_warnings(computing_warnings(computed, network.now_ns))
    return status if status >= 0 else 128 - status


def _print_warnings(warnings: Iterable[str]) -> None:
    for warning in warnings:
        print(f"wanlab: warning: {warning}", file=sys.stderr)


def _run_with_streams(
    network: Network, start: Callable[..., Process], command: list[str], options: ExecOptions
) -> int:
    """Run a command with our standard streams; return its status, negative for a signal."""
    output, errors = Output(1), Output(2)
    refuse(network)
    try:
        with Interrupts() as interrupts:
            is_prompt = options.stdin_is_for_prompt
            lines = LineService(network, options.on_line) if is_prompt else None
            process = start(
                command,
                stdin=lines is None,
                environment={**options.environment(network), **(VARIABLES if lines else {})},
                on_output=output.write,
                on_stderr=errors.write,
                merge_stderr=is_same_file(1, 2),
            )
            stdin: Input | PromptInput = (
                PromptInput(
                    lines,
                    StreamLines(
                        network, interrupts.pop, runs_at_prompt=options.runs_at_prompt(network)
                    ),
                )
                if lines
                else Input(process)
            )
            status = Foreground(network, process, output, errors, interrupts, stdin).wait()
    except Abandoned:
        status = -signal.SIGPIPE
    print_hints(output, errors)
    for stream, name in ((output, "output"), (errors, "error")):
        if stream.error:
            raise WanlabError(f"cannot write to standard {name}: {stream.error}")
    return status


def _shell_message(error: CommandError, name: str, network: Network) -> str:
    if error.status == NOT_EXECUTABLE:
        return error.what
    if "/" in name:
        return f"{name}: the machine does not have this file, or its interpreter"
    return f"{name}: command not found (the machine's PATH is {network.environment['PATH']})"


class PromptInput:
    """Our standard input, for a prompt in the machine that requests each line."""

    def __init__(self, line_service: LineService, lines: StreamLines) -> None:
        self._line_service = line_service
        self._lines = lines

    @property
    def is_wanted(self) -> bool:
        return self._line_service.is_wanted

    def pass_on(self) -> bool:
        """Answer a request for a line; return whether there was one."""
        if not self.is_wanted:
            return False
        self._line_service.serve(self._lines)
        return True

    def wait(self, real_s: float) -> bool:
        """Sleep: there is nothing to read before the program requests a line."""
        time.sleep(real_s)
        return False


class Interrupts:
    """Notes Ctrl-C for the command.

    A second Ctrl-C ends the machine and wanlab, if it follows soon or before the first was delivered.
    """

    def __init__(self) -> None:
        self.is_pending = False
        self._last_real_s = -DOUBLE_PRESS_REAL_S
        self._before: dict[signal.Signals, object] = {}

    def __enter__(self) -> Interrupts:
        # A script ignores SIGINT for programs in its background: Ctrl-C is then not meant for us.
        if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
            self._before = {
                signal.SIGINT: signal.signal(signal.SIGINT, self._note),
                signal.SIGALRM: signal.signal(signal.SIGALRM, self._report_delay),
            }
        return self

    def __exit__(self, *_: object) -> None:
        signal.setitimer(signal.ITIMER_REAL, 0)
        for number, handler in self._before.items():
            signal.signal(number, handler)  # type: ignore[arg-type]

    def pass_on(self, process: Process) -> None:
        """Deliver a pending Ctrl-C to the command."""
        if self.is_pending:
            process.signal(signal.SIGINT)
            self.is_pending = False

    def pop(self) -> bool:
        """Return whether Ctrl-C is pending, and forget it."""
        was_pending, self.is_pending = self.is_pending, False
        return was_pending

    def _note(self, number: int, frame: FrameType | None) -> None:
        now = time.monotonic()
        if self.is_pending or now - self._last_real_s < DOUBLE_PRESS_REAL_S:
            raise EndedBySignal(number)
        self.is_pending = True
        self._last_real_s = now
        signal.setitimer(signal.ITIMER_REAL, DELIVERY_REAL_S)

    def _report_delay(self, number: int, frame: FrameType | None) -> None:
        if self.is_pending:
            print(f"wanlab: {BUSY}", file=sys.stderr, flush=True)


class Foreground:
    """Lets time pass until the command ends, and passes on our standard input and Ctrl-C."""

    def __init__(
        self,
        network: Network,
        process: Process,
        output: Output,
        errors: Output,
        interrupts: Interrupts,
        stdin: Input | PromptInput,
    ) -> None:
        self._network = network
        self._interrupts = interrupts
        self._process = process
        self._output = output
        self._errors = errors
        self._stdin = stdin
        self._time_slices = TimeSlices(always_short=network.clock == "real")
        self._signals = iter((signal.SIGPIPE, signal.SIGHUP, signal.SIGTERM, signal.SIGKILL))
        self._lost_bytes = 0

    def wait(self) -> int:
        """Return the command's status; if it is negative, the signal that ended it."""
        while self._process.is_running:
            self._run_time_slice()
        assert self._process.status is not None
        return self._process.status

    def _run_time_slice(self) -> None:
        self._interrupts.pass_on(self._process)
        self._signal_lost_output()
        written_bytes = self._written_bytes
        moved = self._stdin.pass_on()
        self._network.run_until_condition(
            lambda: (
                not self._process.is_running or self._interrupts.is_pending or self._stdin.is_wanted
            ),
            self._time_slices.length_ns,
        )
        self._time_slices.update(moved or self._written_bytes > written_bytes)
        if self._time_slices.is_idle and self._process.is_running:
            self._stdin.wait(LISTEN_REAL_S)

    @property
    def _written_bytes(self) -> int:
        return self._output.written_bytes + self._errors.written_bytes

    def _signal_lost_output(self) -> None:
        """If nobody reads the output, send SIGPIPE as the kernel would; then stronger signals."""
        lost_bytes = self._output.lost_bytes + self._errors.lost_bytes
        if lost_bytes > self._lost_bytes:
            self._lost_bytes = lost_bytes
            self._process.signal(next(self._signals, signal.SIGKILL))
