"""`wanlab exec`: one command in a fresh machine, as if it ran here.

Time in the machine passes as fast as it can while the command runs, so `sleep 1000` returns at once.
"""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Callable
from types import FrameType, TracebackType

from wanlab import Network, Process, Topology
from wanlab.errors import CommandError, WanlabError

from . import Ended, desktop, topologies
from .lines import VARIABLES, LineService, StreamLines
from .manner import PLAIN, Manner
from .streams import Abandoned, Input, Output, are_one
from .strides import LISTEN_REAL_S, Strides
from .topologies import one_of
from .windows import refuse

QUICK_REAL_S = 2.0
DELIVERY_REAL_S = 1.0
NOT_EXECUTABLE, NOT_FOUND = 126, 127
BUSY = (
    "the command computes without a pause, so it has not heard Ctrl-C yet; "
    "press it once more to end the machine"
)


def run(
    command: list[str],
    *,
    topo: str | None,
    node: str | None,
    machine: str,
    clock: str | None,
    wire: str,
    seed: int | None,
) -> int:
    """Returns the command's exit status; 128 + N if signal N ended it, as a shell does."""
    network = Network(
        topologies.read(topo) if topo else Topology(),
        machine=one_of("machine", machine, ("embedded", "native")),  # type: ignore[arg-type]
        clock=clock and one_of("clock", clock, ("virtual", "real")),  # type: ignore[arg-type]
        wire=one_of("wire", wire, ("mtu", "gso")),  # type: ignore[arg-type]
        seed=seed,
    )
    place = network[node] if node else network.root
    return run_in(network, place.start, command, PLAIN)


def run_in(
    network: Network, start: Callable[..., Process], command: list[str], manner: Manner
) -> int:
    """Starts the network, and the command in it; returns its exit status as a shell has it."""
    desktop.offer(network)
    with network:
        if manner.paces_to_real:
            network.pace_to_real()
        try:
            if sys.stdin.isatty() and sys.stdout.isatty():
                from .terminal import serve

                status = serve(network, start, command, manner)
            else:
                status = _serve(network, start, command, manner)
        except CommandError as error:
            if error.status not in (NOT_EXECUTABLE, NOT_FOUND):
                raise
            print(f"wanlab: {_as_a_shell(error, command[0], network)}", file=sys.stderr)
            return error.status
    return status if status >= 0 else 128 - status


def _serve(
    network: Network, start: Callable[..., Process], command: list[str], manner: Manner
) -> int:
    """Starts the command with our own streams and waits for it; returns its status."""
    output, errors = Output(1), Output(2)
    refuse(network)
    try:
        with Interrupts() as interrupts:
            lines = LineService(network) if manner.stdin_is_for_prompt else None
            process = start(
                command,
                stdin=lines is None,
                environment=VARIABLES if lines else None,
                on_output=output.write,
                on_errors=errors.write,
                errors_in_output=are_one(1, 2),
            )
            stdin: Input | PromptInput = (
                PromptInput(
                    lines, StreamLines(network, interrupts.take, goes_on=manner.goes_on(network))
                )
                if lines
                else Input(process)
            )
            status = Attendance(network, process, output, errors, interrupts, stdin).serve()
    except Abandoned:
        status = -signal.SIGPIPE
    for stream, name in ((output, "output"), (errors, "errors")):
        if stream.error:
            raise WanlabError(f"cannot write standard {name}: {stream.error}")
    return status


def _as_a_shell(error: CommandError, name: str, network: Network) -> str:
    if error.status == NOT_EXECUTABLE:
        return error.what
    if "/" in name:
        return f"{name}: no such file in the machine, or not its interpreter"
    return f"{name}: command not found (the machine looks in {network.environment['PATH']})"


class PromptInput:
    """Our standard input, for a prompt in the machine that asks for a line when it wants one."""

    def __init__(self, line_service: LineService, lines: StreamLines) -> None:
        self._line_service = line_service
        self._lines = lines

    @property
    def is_wanted(self) -> bool:
        return self._line_service.is_wanted

    def pass_on(self) -> bool:
        """Whether anything was."""
        if not self.is_wanted:
            return False
        self._line_service.serve(self._lines)
        return True

    def wait(self, real_s: float) -> bool:
        """Nothing is wanted of it before the program asks."""
        time.sleep(real_s)
        return False


class Interrupts:
    """Notes Ctrl-C for the command. A second one, quickly or before the command could hear the first,
    ends the machine and us."""

    def __init__(self) -> None:
        self.is_asked = False
        self._last_real_s = -QUICK_REAL_S
        self._before: dict[signal.Signals, object] = {}

    def __enter__(self) -> Interrupts:
        # Ignored: we run in the background of a script, where Ctrl-C is not meant for us.
        if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
            self._before = {
                signal.SIGINT: signal.signal(signal.SIGINT, self._note),
                signal.SIGALRM: signal.signal(signal.SIGALRM, self._tell),
            }
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        signal.setitimer(signal.ITIMER_REAL, 0)
        for number, handler in self._before.items():
            signal.signal(number, handler)  # type: ignore[arg-type]

    def pass_on(self, process: Process) -> None:
        """To the command. Until it has been, the next one ends us."""
        if self.is_asked:
            process.signal(signal.SIGINT)
            self.is_asked = False

    def take(self) -> bool:
        """Whether Ctrl-C was pressed; we have seen to it."""
        was_asked, self.is_asked = self.is_asked, False
        return was_asked

    def _note(self, number: int, frame: FrameType | None) -> None:
        now = time.monotonic()
        if self.is_asked or now - self._last_real_s < QUICK_REAL_S:
            raise Ended(number)
        self.is_asked = True
        self._last_real_s = now
        signal.setitimer(signal.ITIMER_REAL, DELIVERY_REAL_S)

    def _tell(self, number: int, frame: FrameType | None) -> None:
        if self.is_asked:
            print(f"wanlab: {BUSY}", file=sys.stderr, flush=True)


class Attendance:
    """Lets time pass until the command ends; passes on what is typed, piped in and pressed here."""

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
        self._strides = Strides(always_short=network.clock == "real")
        self._hints = iter((signal.SIGPIPE, signal.SIGHUP, signal.SIGTERM, signal.SIGKILL))
        self._lost_bytes = 0

    def serve(self) -> int:
        """Returns its status; negative: the signal that ended it."""
        while self._process.is_running:
            self._stride()
        assert self._process.status is not None
        return self._process.status

    def _stride(self) -> None:
        self._interrupts.pass_on(self._process)
        self._tell_that_nobody_reads()
        said_bytes = self._said_bytes
        moved = self._stdin.pass_on()
        self._network.run_until_condition(
            lambda: (
                not self._process.is_running or self._interrupts.is_asked or self._stdin.is_wanted
            ),
            self._strides.length_ns,
        )
        self._strides.tell(moved or self._said_bytes > said_bytes)
        if self._strides.is_idle and self._process.is_running:
            self._stdin.wait(LISTEN_REAL_S)

    @property
    def _said_bytes(self) -> int:
        return self._output.written_bytes + self._errors.written_bytes

    def _tell_that_nobody_reads(self) -> None:
        """As the kernel tells it with SIGPIPE; more clearly each time that it writes on."""
        lost_bytes = self._output.lost_bytes + self._errors.lost_bytes
        if lost_bytes > self._lost_bytes:
            self._lost_bytes = lost_bytes
            self._process.signal(next(self._hints, signal.SIGKILL))
