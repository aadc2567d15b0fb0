"""Terminals in the running network: opening them, and passing on keys and sizes."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from functools import partial
from typing import TypeVar

from wanlab import Network, Process
from wanlab.errors import WanlabError
from wanlab.labs import prompt
from wanlab.network import Connection

from ..protocol import commands, messages
from ..running.run_plan import RunPlan
from ..running.worker import NetworkWorker, TimedCall
from ..timeline.transcripts import TerminalRecord
from . import shell_marks
from .terminals import CLIENT, PROMPT, SHELL, Terminal, TerminalList

INTERRUPT_REAL_S = 1
SIGKILL = 9
DEFAULT_SIZE = (24, 80)

Argument = TypeVar("Argument")
Running = tuple[NetworkWorker, RunPlan]


class NodeTerminals:
    """The terminals of the running network.

    `running` returns its worker and plan, and raises WanlabError if there is none; `on_change` is
    called when browsers need the new state of the terminals.
    """

    def __init__(self, running: Callable[[], Running], on_change: Callable[[], None]) -> None:
        self._running = running
        self._on_change = on_change
        self._loop = asyncio.get_running_loop()
        self._busy: set[str] = set()
        self.on_open: Callable[[TerminalRecord], None] = lambda record: None
        """Called in the network's thread when a terminal was opened."""
        self.opens_requested: Callable[[], bool] = lambda: True
        """Returns whether programs may open terminals: a playback opens them by itself."""
        self.list = TerminalList(on_change)

    def __iter__(self) -> Iterator[Terminal]:
        return iter(self.list)

    def __getitem__(self, name: str) -> Terminal:
        return self.list[name]

    def snapshot(self) -> messages.TerminalsPush:
        """Return the terminals as browsers receive them."""
        return self.list.snapshot()

    # -- commands ---------------------------------------------------------------------------------

    async def open(
        self, command: commands.OpenTerminalCommand, by: str = "", *, folder: str | None = None
    ) -> messages.OpenedTerminal:
        """Open a terminal, in the home folder or another one; wait until its program has started."""
        size = (_clamped(command.rows, 2, 500), _clamped(command.columns, 10, 1000))
        argv = ["/bin/bash", "-c", command.command] if command.command else list(SHELL)
        title = command.node
        _, plan = self._running()
        if command.node == PROMPT:
            argv, title = list(prompt.COMMAND), "mininet"
        elif command.node != CLIENT:
            node = plan.node(command.node)
            if node.kind == "controller":
                raise WanlabError(f"{node.name} is a controller, which has no terminal")
            title = node.name
        terminal, started = self._open(command.node, title, argv, size, folder=folder)
        try:
            await asyncio.wrap_future(started)
        except WanlabError:
            self.list.close(terminal.name)
            raise
        return messages.OpenedTerminal(terminal.name)

    def _open(
        self,
        node: str,
        title: str,
        argv: list[str],
        size: tuple[int, int],
        *,
        folder: str | None = None,
    ) -> tuple[Terminal, Future[None]]:
        worker, plan = self._running()
        terminal = self.list.new(node, title)
        marks = shell_marks.SHELL_ENVIRONMENT if argv == list(SHELL) else shell_marks.ENVIRONMENT
        folder = folder or plan.home
        environment = {**plan.environment, **marks, **({"PWD": folder} if folder else {})}

        def begin(network: Network) -> None:
            namespace = network.root if node in (CLIENT, PROMPT) else network[title]
            record = terminal.begin(
                worker,
                network,
                namespace.start,
                argv,
                size=size,
                folder=folder,
                environment=environment,
            )
            self.on_open(record)

        return terminal, worker.submit(begin)

    async def close(self, command: commands.CloseTerminalCommand, by: str = "") -> None:
        """Close a terminal and end its program."""
        record = self.list[command.terminal].record
        process = self.list.close(command.terminal)
        if process is None:
            return

        def kill(network: Network) -> None:
            if record is not None:
                record.closed_ns = network.now_ns
            _kill(process)

        with contextlib.suppress(WanlabError):
            worker, _ = self._running()
            await asyncio.wrap_future(worker.submit(kill))

    def type(self, command: commands.TypeCommand, by: str = "") -> None:
        """Type a text into a terminal."""
        self.send_keys(self.list[command.terminal], command.text.encode())

    def type_together(self, command: commands.TypeTogetherCommand, by: str = "") -> None:
        """Type a text into several terminals at one instant."""
        chosen = [self.list[name] for name in dict.fromkeys(command.terminals)]
        if ended := [terminal.title for terminal in chosen if terminal.status is not None]:
            raise WanlabError(
                f"the terminal {ended[0]} has ended", "choose terminals whose program still runs"
            )
        processes = [terminal.process for terminal in chosen if terminal.process is not None]
        worker, _ = self._running()
        keys = command.text.encode()
        for terminal in chosen:
            terminal.marks.note_keys(keys)
        worker.send_keys_together(processes, keys)

    def send_keys_apart(
        self, terminals: Iterable[Terminal], data: bytes, next_delay_ns: Callable[[], int]
    ) -> None:
        """Send keys to each terminal after a delay of its own, on the network's clock."""
        worker, _ = self._running()
        delayed = [(next_delay_ns(), terminal) for terminal in terminals]

        def send(network: Network) -> None:
            calls = [
                TimedCall(network.now_ns + delay_ns, partial(send_to, terminal.process))
                for delay_ns, terminal in sorted(delayed, key=lambda pair: pair[0])
            ]
            worker.perform_at(network, calls)

        def send_to(process: Process | None, network: Network) -> None:
            if process is not None and process.is_running:
                worker.write_now(network, process, data)

        for _, terminal in delayed:
            terminal.marks.note_keys(data)
        worker.submit(send)

    def send_keys(self, terminal: Terminal, data: bytes) -> None:
        """Pass on typed keys. Ctrl-C also ends a program that computes without a pause."""
        if terminal.process is None:
            return
        with contextlib.suppress(WanlabError):
            worker, _ = self._running()
            terminal.marks.note_keys(data)
            if shell_marks.INTERRUPT in data and worker.stalled_real_s > INTERRUPT_REAL_S:
                worker.end_stalled_process()
            worker.send_keys(terminal.process, data)

    def resize(self, terminal: Terminal, rows: int, columns: int) -> None:
        """Tell the program of a terminal its new size."""
        process = terminal.process
        if process is None:
            return
        size = (_clamped(rows, 2, 500), _clamped(columns, 10, 1000))

        def resize(network: Network) -> None:
            if process.is_running:
                process.resize(*size)

        with contextlib.suppress(WanlabError):
            worker, _ = self._running()
            worker.submit(resize)
            worker.send_keys(process, b"")  # lets time pass, for the program to redraw

    def close_all(self) -> None:
        """Remove all terminals, as before another network starts."""
        for terminal in self.list:
            self.list.close(terminal.name)

    def close_ended(self) -> None:
        """Remove the terminals whose programs have ended."""
        for terminal in self.list:
            if terminal.status is not None:
                self.list.close(terminal.name)

    # -- in the network's thread ------------------------------------------------------------------

    def serve_request(self, connection: Connection) -> None:
        """Serve `xterm h1` at the prompt: open a terminal in the browser."""
        command = connection.request.get("command")
        title = str(connection.request.get("title", "terminal"))
        if not isinstance(command, list) or not command:
            connection.answer({"error": "a terminal needs a command"})
            return
        argv = [str(word) for word in command]
        folder = connection.request.get("folder")

        def open_terminal() -> None:
            with contextlib.suppress(WanlabError):
                self._open(
                    CLIENT, title, argv, DEFAULT_SIZE, folder=str(folder) if folder else None
                )

        if self.opens_requested():
            self._loop.call_soon_threadsafe(open_terminal)
        connection.answer({"opened": True})

    def check(self, worker: NetworkWorker) -> None:
        """Note which programs have ended, and which are busy."""
        for terminal in self.list:
            if terminal.process and not terminal.process.is_running:
                self._in_loop(terminal.end, terminal.process.status)
        busy = {
            terminal.name
            for terminal in self.list
            if terminal.process is not None and worker.is_busy(terminal.process)
        }
        if busy != self._busy:
            self._busy = busy
            self._in_loop(self._set_busy, busy)

    def _in_loop(self, call: Callable[[Argument], None], argument: Argument) -> None:
        with contextlib.suppress(RuntimeError):  # the loop has ended
            self._loop.call_soon_threadsafe(call, argument)

    def _set_busy(self, busy: set[str]) -> None:
        for terminal in self.list:
            terminal.is_busy = terminal.name in busy
        self._on_change()


def _kill(process: Process) -> None:
    if process.is_running:
        process.signal(SIGKILL)


def _clamped(number: int, minimum: int, maximum: int) -> int:
    return min(max(number, minimum), maximum)
