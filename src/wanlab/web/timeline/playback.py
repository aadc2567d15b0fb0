"""Do in a branch what the user did in another one after an instant, each thing at its instant.

    original   --- keys -- terminal -- keys -- link -- end
    branch     `-- a change
               `-- keys -- terminal -- keys -- link -- end -- commands end, then it pauses

Commands that had ended in the original may take longer in the branch. It waits for them, for as long
again as the original took.

The branch runs as any network does: curves, events and terminals are recorded, and browsers watch. What
the lessons and measurements of the original did is not repeated.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from wanlab import Network, Process
from wanlab.errors import MachineError, WanlabError
from wanlab.session import (
    RecordedSession,
    SignalCall,
    StartCall,
    UserInput,
    restore,
    user_inputs,
)
from wanlab.shared_folder import SharedFolder
from wanlab.units import format_time

from ..drawing.link_changes import conditions_of_ends
from ..protocol.model import DrawnLink, End, Options
from ..running.session import NetworkSession
from ..running.worker import NetworkWorker, TimedCall
from ..terminals.terminals import CLIENT, PROMPT, Terminal
from .branch import Branch
from .session_events import SessionEvent

LOOK_NS = 100_000_000
"""How often commands that take longer are looked at."""
MIN_LONGER_NS = 60_000_000_000
"""How long they may take at least."""


class Playback:
    """The user's inputs of one branch, for the branch that runs now.

    keeps    the link and the options that stay as the branch has them, whatever the original changed
    on_end   called in the loop when the last instant has been reached, or the playback was cancelled,
             with what could not be done
    """

    def __init__(
        self,
        session: NetworkSession,
        source: Branch,
        recorded: RecordedSession,
        after_ns: int,
        keeps: tuple[str, frozenset[str]],
        on_end: Callable[[list[str]], None],
    ) -> None:
        self._session = session
        self._source = source
        self._recorded = recorded
        self._after_ns = after_ns
        self._keeps = keeps
        self._on_end = on_end
        self._problems: list[str] = []
        self._worker: NetworkWorker = session.network_worker()
        self._terminals: dict[int, Terminal] = {
            terminal.process.number: terminal
            for terminal in session.terminals
            if terminal.process is not None
        }
        """The terminals of the branch, by the numbers that their processes have in the original."""

    # -- in the loop ------------------------------------------------------------------------------

    async def begin(self) -> None:
        """Let time pass, and do everything at its instant."""
        calls = sorted(self._calls(), key=lambda call: call.at_ns)
        worker = self._worker
        end = TimedCall(self._source.end_ns, self._finish_when_idle)
        await self._session.in_network(
            lambda network: worker.perform_at(network, [*map(self._guarded, calls), end])
        )

    async def cancel(self) -> None:
        """Do no more; the branch stays paused where it is."""

        def cancel(network: Network) -> None:
            if self._worker.forget_timed():
                self._finish(network)

        await self._session.in_network(cancel)

    def _calls(self) -> Iterator[TimedCall]:
        records = {record.process.number: record for record in self._source.terminals.values()}
        for given in user_inputs(self._recorded, self._after_ns, frozenset(records)):
            if isinstance(given.what, StartCall):
                record = records[given.process]
                terminal = self._session.terminals.list.new(record.node, record.title)
                self._terminals[given.process] = terminal
                perform = partial(self._start, terminal, given.what)
            elif given.process:
                perform = partial(self._give, given)
            else:
                perform = partial(self._write_files, given)
            yield TimedCall(given.at_ns, perform)
        for number, record in records.items():
            if record.closed_ns is not None and record.closed_ns > self._after_ns:
                yield TimedCall(record.closed_ns, partial(self._close, number))
        for event in self._source.events.all():
            if event.kind == "link" and event.at_ns > self._after_ns:
                yield TimedCall(event.at_ns, partial(self._change_link, event))

    def _guarded(self, call: TimedCall) -> TimedCall:
        """Return a call that notes an error: what the original did may be impossible here."""

        def perform(network: Network) -> None:
            try:
                call.perform(network)
            except MachineError:
                raise
            except (WanlabError, OSError) as error:
                self._problems.append(f"at {format_time(call.at_ns)}: {error}")

        return TimedCall(call.at_ns, perform)

    # -- in the network's thread ------------------------------------------------------------------

    def _start(self, terminal: Terminal, call: StartCall, network: Network) -> None:
        is_root = terminal.node in (CLIENT, PROMPT)
        namespace = network.root if is_root else network[terminal.title]
        record = terminal.begin(
            self._worker,
            network,
            namespace.start,
            call.arguments,
            size=call.terminal or (24, 80),
            folder=call.folder,
            environment=call.environment,
        )
        self._session.terminals.on_open(record)

    def _give(self, given: UserInput, network: Network) -> None:
        terminal = self._terminals.get(given.process)
        process = terminal.process if terminal is not None else None
        if terminal is None or process is None or not process.is_running:
            return
        if isinstance(given.what, bytes):
            self._session.in_loop(partial(terminal.marks.note_keys, given.what))
            self._worker.write_now(network, process, given.what)
        else:
            _pass_on(process, given)

    def _write_files(self, given: UserInput, network: Network) -> None:
        if isinstance(given.what, tuple):
            restore(given.what, SharedFolder(network.folder))

    def _close(self, number: int, network: Network) -> None:
        terminal = self._terminals.get(number)
        if terminal is not None and terminal.record is not None:
            terminal.record.closed_ns = network.now_ns
            self._session.in_loop(partial(self._session.terminals.list.close, terminal.name))

    def _change_link(self, event: SessionEvent, network: Network) -> None:
        links = self._session.links
        if event.up is not None:
            links.plug_now(network, event.link, is_up=event.up)
        elif event.before is not None and event.after is not None:
            link, kept = self._keeps
            left_out = kept if link == event.link else frozenset[str]()
            changes = _changes(event.before, event.after, left_out)
            if any(changes.values()):
                links.change_now(network, event.link, changes)

    def _finish_when_idle(self, network: Network) -> None:
        """Finish, unless commands that had ended in the original are still running."""
        end_ns = self._source.end_ns
        last_ns = end_ns + max(MIN_LONGER_NS, end_ns - self._after_ns)
        if network.now_ns < last_ns and any(network.are_busy(self._programs_expected_to_end())):
            next_ns = min(network.now_ns + LOOK_NS, last_ns)
            self._worker.perform_later(TimedCall(next_ns, self._finish_when_idle))
        else:
            self._finish(network)

    def _programs_expected_to_end(self) -> list[Process]:
        """Return the shells of the branch whose commands had all ended at the end of the original."""
        commands = [event for event in self._source.events.all() if event.kind == "command"]
        ended = {event.terminal for event in commands}
        ended -= {event.terminal for event in commands if event.until_ns is None}
        records = self._source.terminals.values()
        numbers = [record.process.number for record in records if record.name in ended]
        terminals = [self._terminals[number] for number in numbers if number in self._terminals]
        processes = [terminal.process for terminal in terminals]
        return [process for process in processes if process is not None and process.is_running]

    def _finish(self, network: Network) -> None:
        self._worker.pause(network, is_paused=True)
        self._session.in_loop(partial(self._on_end, self._problems))


def _pass_on(process: Process, given: UserInput) -> None:
    """Give a process anything but keys."""
    what = given.what
    if what is None:
        process.end_input()
    elif isinstance(what, SignalCall):
        process.signal(what.signal_number)
    elif not isinstance(what, (bytes, StartCall, tuple)):
        process.resize(what.rows, what.columns)


def _changes(before: DrawnLink, after: DrawnLink, left_out: frozenset[str]) -> dict[End, Options]:
    """Return the conditions that differ, by end; None for those that are gone."""
    was, becomes = conditions_of_ends(before), conditions_of_ends(after)
    return {
        end: {
            name: becomes[end].get(name)
            for name in {**was[end], **becomes[end]}
            if name not in left_out and was[end].get(name) != becomes[end].get(name)
        }
        for end in becomes
    }
