"""Terminals of the running network, and the output of their programs.

Flow control: a program blocks once it is WINDOW_BYTES ahead of the browser that has displayed most,
as it would at a slow terminal. So a program that prints without end neither fills our memory nor
delays others. While no browser views a terminal its program is not held back, and the end of its
output is kept.
"""

from __future__ import annotations

import asyncio
import itertools
import threading
from collections.abc import Callable, Iterable, Iterator

from wanlab import Network, Process
from wanlab.errors import WanlabError, did_you_mean

from ..protocol import messages
from ..running.worker import NetworkWorker
from ..timeline.transcripts import TerminalRecord
from .key_streams import KeyStreams
from .shell_marks import ShellMarks, TypedCommand

WINDOW_BYTES = 64 << 10
SCROLLBACK_BYTES = 512 << 10
MIN_CREDIT_BYTES = 16 << 10
MAX_BEHIND_BYTES = 4 << 20
MAX_TERMINALS = 100
CLIENT, PROMPT = "client", "prompt"
HANG_UP = 1
SHELL = ("/bin/bash", "--norc", "--noprofile", "-i")


class Viewer:
    """A browser's view of a terminal, with the output that it has not been sent yet."""

    def __init__(self, scrollback: bytes, *, looks: bool = False) -> None:
        self.looks = looks
        """Whether the program does not wait for this view."""
        self.history_bytes = len(scrollback)
        self.is_behind = False
        self.acknowledged_bytes = 0
        self._unsent = bytearray(scrollback)
        self._is_filled = asyncio.Event()
        self._has_ended = False

    def add_output(self, data: bytes) -> None:
        """Queue output for the browser. If the browser is too far behind, disconnect it."""
        if len(self._unsent) + len(data) > MAX_BEHIND_BYTES:
            self.is_behind = True
            self._unsent.clear()
        else:
            self._unsent += data
        self._is_filled.set()

    def end(self) -> None:
        """Note that there will be no more output."""
        self._has_ended = True
        self._is_filled.set()

    async def next_output(self, max_bytes: int) -> bytes:
        """Wait for output and return it; b"" if there will be no more."""
        while not self._unsent and not self._has_ended and not self.is_behind:
            self._is_filled.clear()
            await self._is_filled.wait()
        chunk = bytes(self._unsent[:max_bytes])
        del self._unsent[:max_bytes]
        return chunk


class Terminal:
    """A terminal. `begin` and `add_output` are called in the network's thread, the rest in the loop."""

    def __init__(self, name: str, node: str, title: str, on_change: Callable[[], None]) -> None:
        self.name = name
        self.node = node
        self.title = title
        self.process: Process | None = None
        self.status: int | None = None
        self.is_busy = False
        self.marks = ShellMarks()
        self.key_streams = KeyStreams()
        self.record: TerminalRecord | None = None
        """The record of its output, once its program has started."""
        self.on_command: Callable[[Terminal, TypedCommand], None] = lambda terminal, command: None
        """Called when a command that was typed has begun or ended."""
        self._on_change = on_change
        self._loop = asyncio.get_running_loop()
        self._lock = threading.Lock()
        self._new_output: list[tuple[int, bytes]] = []
        """New output with its instants on the network's clock."""
        self._scrollback = bytearray()
        self._viewers: list[Viewer] = []
        self._received_bytes = 0
        self._credited_bytes = 0
        self._grant_credit: Callable[[int], None] | None = None

    def info(self) -> messages.TerminalInfo:
        """Return the state of the terminal that browsers receive."""
        return messages.TerminalInfo(
            self.name, self.node, self.title, self.status, self.is_busy, self.marks.at_mininet
        )

    # -- in the network's thread ------------------------------------------------------------------

    def begin(
        self,
        worker: NetworkWorker,
        network: Network,
        start: Callable[..., Process],
        command: list[str],
        *,
        size: tuple[int, int],
        folder: str | None = None,
        environment: dict[str, str] | None = None,
    ) -> TerminalRecord:
        """Start the program. Browsers see the terminal only then, so that they can type at once."""
        opened_ns = network.now_ns
        early: list[bytes] = []
        process = start(
            command,
            terminal=size,
            folder=folder,
            environment={"PS1": f"{self.title}:\\W\\$ ", **(environment or {})},
            on_output=early.append,
            credit=WINDOW_BYTES,
        )
        record = TerminalRecord(self.name, self.node, self.title, process, opened_ns)
        on_output = self._attach(worker, network, record)
        for data in early:
            on_output(data)
        self._loop.call_soon_threadsafe(self._on_change)
        return record

    def go_on(self, worker: NetworkWorker, network: Network, record: TerminalRecord) -> None:
        """Continue with a program that a replay has started again, from the state in the recording."""
        for now_ns, data in record.transcript.timed():
            self._scrollback += data
            for _ in self.marks.read(data, now_ns):
                pass  # the timeline already shows this command
        self._received_bytes = record.transcript.written_bytes
        self._credited_bytes = record.credited_bytes()
        self._attach(worker, network, record)
        if not record.process.is_running:
            self.status = record.process.status

    def _attach(
        self, worker: NetworkWorker, network: Network, record: TerminalRecord
    ) -> Callable[[bytes], None]:
        """Receive the program's output from now on; return the function that receives it."""
        process = record.process

        def on_output(data: bytes) -> None:
            worker.note_output(data)
            self.add_output(network.now_ns, data)

        def grant_credit(more_bytes: int) -> None:
            def grant(network: Network) -> None:
                if process.is_running:
                    process.grant_credit(more_bytes)
                    record.credits.append((network.now_ns, record.credited_bytes() + more_bytes))

            worker.submit(grant)

        process.show_on(on_output)
        self.process, self.record = process, record
        self._grant_credit = grant_credit
        worker.follow(process)
        return on_output

    def add_output(self, now_ns: int, data: bytes) -> None:
        """Add output of the program."""
        if self.record is not None:
            self.record.transcript.add(now_ns, data)
        with self._lock:
            is_first = not self._new_output
            self._new_output.append((now_ns, data))
        if is_first:
            self._loop.call_soon_threadsafe(self._distribute)

    # -- in the loop ------------------------------------------------------------------------------

    def _distribute(self) -> None:
        """Keep new output and pass it on to all viewers."""
        with self._lock:
            chunks, self._new_output = self._new_output, []
        data = b"".join(data for _, data in chunks)
        self._received_bytes += len(data)
        self._scrollback += data
        was_at_mininet = self.marks.at_mininet
        for now_ns, chunk in chunks:
            for command in self.marks.read(chunk, now_ns):
                self.on_command(self, command)
        if self.marks.at_mininet != was_at_mininet:
            self._on_change()
        if len(self._scrollback) > SCROLLBACK_BYTES:
            cut = len(self._scrollback) - SCROLLBACK_BYTES // 2
            line = self._scrollback.find(b"\n", cut)
            del self._scrollback[: line + 1 if line >= 0 else cut]
        for viewer in self._viewers:
            viewer.add_output(data)
        self._update_credit()

    def add_viewer(self, *, looks: bool = False) -> Viewer:
        """Return a new view, which begins with the output that was kept."""
        viewer = Viewer(bytes(self._scrollback), looks=looks)
        # The scrollback counts as not yet displayed, but its credit has been granted already.
        viewer.acknowledged_bytes = self._received_bytes - len(self._scrollback)
        self._viewers.append(viewer)
        if self.status is not None:
            viewer.end()
        return viewer

    def remove_viewer(self, viewer: Viewer) -> None:
        """Remove a view."""
        self._viewers.remove(viewer)
        self._update_credit()

    def acknowledge(self, viewer: Viewer, shown_bytes: int) -> None:
        """Note that a browser has displayed this much more output."""
        shown_bytes = min(max(shown_bytes, 0), WINDOW_BYTES + SCROLLBACK_BYTES)
        viewer.acknowledged_bytes = min(
            viewer.acknowledged_bytes + shown_bytes, self._received_bytes
        )
        self._update_credit()

    def _update_credit(self) -> None:
        """Let the program print up to a window beyond the fastest viewer."""
        acknowledged = [
            viewer.acknowledged_bytes
            for viewer in self._viewers
            if not viewer.is_behind and not viewer.looks
        ]
        shown_bytes = max(acknowledged, default=self._received_bytes)
        more_bytes = shown_bytes - self._credited_bytes
        if (
            more_bytes >= MIN_CREDIT_BYTES
            and self.status is None
            and self._grant_credit is not None
        ):
            self._credited_bytes = shown_bytes
            self._grant_credit(more_bytes)

    def make_viewers_return(self) -> None:
        """End all views; their browsers reconnect to the terminal that then has this name."""
        for viewer in self._viewers:
            viewer.is_behind = True
            viewer.add_output(b"")

    def end(self, status: int | None) -> None:
        """Note that its program has ended, or cannot be reached any more (`status` None)."""
        if self.status is not None:
            return
        self._distribute()
        self.status = status if status is not None else -HANG_UP
        self.is_busy = False
        for viewer in self._viewers:
            viewer.end()
        self._on_change()


class TerminalList:
    """The terminals that are open. They end with the network."""

    def __init__(self, on_change: Callable[[], None]) -> None:
        self.on_command: list[Callable[[Terminal, TypedCommand], None]] = []
        """Called when a command that was typed in a terminal has begun or ended."""
        self._on_change = on_change
        self._open: dict[str, Terminal] = {}
        self._numbers = itertools.count(1)

    def __iter__(self) -> Iterator[Terminal]:
        return iter(list(self._open.values()))

    def __getitem__(self, name: str) -> Terminal:
        try:
            return self._open[name]
        except KeyError:
            hint = did_you_mean(name, self._open)
            raise WanlabError(f"there is no terminal {name}", hint) from None

    def snapshot(self) -> messages.TerminalsPush:
        """Return the terminals whose programs have been started."""
        started = [terminal for terminal in self if terminal.process is not None]
        return messages.TerminalsPush(terminals=tuple(terminal.info() for terminal in started))

    def new(self, node: str, title: str) -> Terminal:
        """Add a terminal; `begin` starts its program."""
        if len(self._open) >= MAX_TERMINALS:
            raise WanlabError(f"{MAX_TERMINALS} terminals are already open", "close some of them")
        return self._add(Terminal(f"t{next(self._numbers)}", node, title, self._on_change))

    def _add(self, terminal: Terminal) -> Terminal:
        terminal.on_command = self._note_command
        self._open[terminal.name] = terminal
        return terminal

    def _note_command(self, terminal: Terminal, command: TypedCommand) -> None:
        for listener in self.on_command:
            listener(terminal, command)

    def made_for(self, records: Iterable[TerminalRecord]) -> list[Terminal]:
        """Return terminals for records of a branch; `Terminal.go_on` and `replace_all` are next."""
        return [
            Terminal(record.name, record.node, record.title, self._on_change) for record in records
        ]

    def replace_all(self, terminals: Iterable[Terminal]) -> None:
        """Replace all terminals; new ones may have the names of earlier ones."""
        before, self._open = self._open, {}
        for terminal in terminals:
            self._add(terminal)
        for terminal in before.values():
            terminal.make_viewers_return()
        self._on_change()

    def close(self, name: str) -> Process | None:
        """Remove a terminal. Return its program if that is still running."""
        terminal = self[name]
        del self._open[name]
        process = terminal.process if terminal.status is None else None
        terminal.end(None)
        self._on_change()
        return process

    def end_all(self) -> None:
        """End all terminals, since the network is gone. Their output stays until they are closed."""
        for terminal in self:
            terminal.end(None)
