"""The branches of the session: return to an earlier instant, and continue from there.

Such a continuation is a new branch. Its network is a new machine in which the session is replayed up
to the instant. The old network stands still during the replay and ends after it, and its recording
stays as the branch that was left. So only one network runs at a time, and a replay that fails or is
cancelled changes nothing.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import msgspec

from wanlab import Network
from wanlab.errors import WanlabError, did_you_mean
from wanlab.network import NO_CHOICE, MachineChoice
from wanlab.session import RecordedSession, parse
from wanlab.shared_folder import file_error
from wanlab.units import format_time

from ..broadcast import Broadcast
from ..drawing.editor import RefusedError
from ..folder import WorkingFolder
from ..protocol import commands, messages
from ..protocol.branches import (
    BranchesPush,
    BranchNumbers,
    BranchPlayback,
    BranchReplay,
    RecordedTerminal,
    ReplayCost,
)
from ..running.run_plan import RunPlan
from ..running.session import NetworkSession
from ..running.worker import INTERNAL_ERROR_HINT, NetworkWorker
from .branch import Branch
from .branch_numbers import numbers
from .session_events import SessionEvent

FOLDER = "branches"
"""A folder in the working folder, with the files of each branch except the first."""
MAX_BRANCHES = 20
MAX_NAME_LENGTH = 60
MAX_MARKER_LENGTH = 200
REPORT_REAL_S = 0.2
"""The time between two reports of a replay's progress."""
REAL_CLOCK = (
    "on the real clock a session cannot go back: what happened at which instant depended on the "
    "computer. Choose the virtual clock before you press Run"
)


class Branches:
    """The session's branches, and the commands about them.

    A method with a `command` serves this command of a browser: what it returns is the reply, and
    `by` is the browser's name. WanlabError refuses the command.

    `redraw` is called with the plan of a branch that continues, and the name of the browser that
    asked for it. It draws the links as they are in that plan. `why_busy` returns why the running
    network cannot be replaced by a branch now; "" if it can.
    """

    def __init__(
        self,
        folder: WorkingFolder,
        broadcast: Broadcast,
        session: NetworkSession,
        redraw: Callable[[RunPlan, str], None],
        why_busy: Callable[[], str],
        choice: MachineChoice = NO_CHOICE,
    ) -> None:
        self._folder = folder
        self._broadcast = broadcast
        self._session = session
        self._redraw = redraw
        self._branches: dict[str, Branch] = {}
        self._last_number = 0
        """The number of the newest branch of this session, even if it was dropped."""
        self._replay: RunningReplay | None = None
        self._playback: BranchPlayback | None = None
        self._has_real_clock = False
        self._why_busy = why_busy
        self._choice = choice

    # -- state ------------------------------------------------------------------------------------

    def begin(self, plan: RunPlan) -> Branch:
        """Forget all branches, and return the first one of a session that begins."""
        self._last_number = 1
        branch = Branch("b1", "original", plan)
        self._branches = {branch.id: branch}
        self._has_real_clock = plan.document.preferences.clock == "real"
        self.push()
        return branch

    def end(self) -> None:
        """Forget the session, which belongs to a document that is not open any more.

        There must be no network and no replay.
        """
        if not self._branches:
            return
        self._branches = {}
        self._has_real_clock = False
        self._session.notes.branch = None
        self.push()

    @property
    def is_replaying(self) -> bool:
        """Whether a branch is being replayed."""
        return self._replay is not None

    def snapshot(self) -> BranchesPush:
        """Return the branches as browsers receive them."""
        live = self._live_branch()
        return BranchesPush(
            branches=tuple(branch.info() for branch in self._branches.values()),
            live=live.id if live is not None else None,
            replay=self._replay.progress if self._replay is not None else None,
            playback=self._playback,
            refusal=REAL_CLOCK if self._has_real_clock else "",
        )

    def push(self) -> None:
        """Send the branches to all browsers."""
        self._broadcast.push(self.snapshot())

    def show_playback(self, playback: BranchPlayback | None) -> None:
        """Show browsers which branch repeats another one, with a change; None: no branch does."""
        if playback != self._playback:
            self._playback = playback
            self.push()

    def draw_live(self) -> None:
        """Draw the links as the live branch has them."""
        if (live := self._live_branch()) is not None:
            self._redraw(live.plan, "")

    # -- what was recorded ------------------------------------------------------------------------

    def events(self, id_: str) -> tuple[SessionEvent, ...]:
        """Return the events of a branch."""
        return self.branch(id_).events.all()

    def terminals(self, id_: str) -> tuple[RecordedTerminal, ...]:
        """Return the terminals of a branch, with their output."""
        records = list(self.branch(id_).terminals.values())  # the network's thread adds to them
        return tuple(record.recorded() for record in records)

    def history(self, command: commands.HistoryCommand) -> tuple[messages.SampleColumn, ...] | None:
        """Return the recorded samples of a branch.

        None if the branch is live: the running measurements have its samples.
        """
        if not command.branch:
            return None
        branch = self.branch(command.branch)
        return None if self._is_live(branch) else tuple(branch.memory.columns(command.series))

    def numbers(self, command: commands.NumbersCommand, by: str = "") -> list[BranchNumbers]:
        """Return numbers of branches beside each other."""
        memories = [self.branch(id_).memory for id_ in command.branches]
        return numbers(memories, command.from_ns / 1e9, command.until_ns / 1e9)

    # -- commands ---------------------------------------------------------------------------------

    def mark(self, command: commands.MarkerCommand, by: str = "") -> None:
        """Add a marker to the events of a branch."""
        text = " ".join(command.text.split())[:MAX_MARKER_LENGTH]
        if not text:
            raise WanlabError("a marker needs text")
        branch = self.branch(command.branch) if command.branch else self._session.branch
        if branch is None:
            raise WanlabError("no network has run", "press Run")
        end_ns = self.end_ns(branch)
        at_ns = end_ns if command.at_ns is None else command.at_ns
        _check_instant(at_ns, end_ns)
        branch.events.add(SessionEvent(at_ns=at_ns, kind="marker", text=text))
        self._session.notes.push(branch)

    def rename(self, command: commands.RenameBranchCommand, by: str = "") -> None:
        """Give a branch another name, which no other branch has."""
        branch = self.branch(command.branch)
        name = " ".join(command.name.split())
        if not 0 < len(name) <= MAX_NAME_LENGTH:
            raise WanlabError(
                "a branch needs a name", f"it can have at most {MAX_NAME_LENGTH} characters"
            )
        if self._is_taken(name, branch):
            raise WanlabError(f"another branch is already named {name}", "choose another name")
        branch.name = name
        self.push()

    def name(self, id_: str, name: str) -> None:
        """Give a branch a name, with a number if another branch has it."""
        branch = self.branch(id_)
        names = itertools.chain([name], (f"{name} ({number})" for number in itertools.count(2)))
        branch.name = next(one for one in names if not self._is_taken(one, branch))
        self.push()

    def _is_taken(self, name: str, branch: Branch) -> bool:
        """Return whether another branch has a name."""
        return any(other.name == name and other is not branch for other in self._branches.values())

    def drop(self, command: commands.DropBranchCommand, by: str = "") -> None:
        """Forget a branch that is neither live nor being replayed. Its files stay."""
        branch = self.branch(command.branch)
        if self._replay is not None and self._replay.progress.branch == branch.id:
            raise WanlabError(f"{branch.name} is being replayed", "cancel that first")
        if self._is_live(branch):
            raise WanlabError(
                f"{branch.name} is the running branch", "continue from another branch first"
            )
        del self._branches[branch.id]
        self.push()

    def cost(self, command: commands.CostCommand, by: str = "") -> ReplayCost:
        """Return how long a replay of a branch up to an instant is expected to take."""
        branch = self.branch(command.branch)
        return ReplayCost(_expected_real_s(branch, command.at_ns))

    def cancel(self, command: commands.CancelContinueCommand, by: str = "") -> None:
        """Cancel the replay, if there is one."""
        if self._replay is not None:
            self._replay.is_cancelled = True

    async def continue_from(self, command: commands.ContinueCommand, by: str = "") -> str:
        """Replay a branch up to an instant, and continue from there.

        Returns the id of the branch that is live then: a new one, or the replayed branch itself if
        it was not live and the instant is its last.
        """
        source, at_ns = self.branch(command.branch), command.at_ns
        self._check_can_continue(source, at_ns)
        replay = self._replay = RunningReplay(
            BranchReplay(
                branch=source.id, at_ns=at_ns, expected_real_s=_expected_real_s(source, at_ns)
            ),
            time.monotonic(),
        )
        self.push()
        try:
            branch, worker = await self._replay_branch(source, replay)
            if branch.id == source.id:
                del self._branches[source.id]  # a branch that continues is the last in the list
            self._branches[branch.id] = branch
            await self._session.continue_with(worker, branch)
            self._redraw(branch.plan, by)
            self.push()
            self._broadcast.push(messages.FilesPush(paths=(FOLDER,)))
        finally:
            self._replay = None
            self.push()
        return branch.id

    # -- looking up branches ----------------------------------------------------------------------

    def branch(self, id_: str) -> Branch:
        """Return the branch with an id. WanlabError if there is none."""
        try:
            return self._branches[id_]
        except KeyError:
            raise WanlabError(
                f"no branch {id_}", did_you_mean(id_, self._branches) or "was it removed?"
            ) from None

    def _live_branch(self) -> Branch | None:
        """Return the branch whose network runs, starts or stops; None if there is no network."""
        return None if self._session.is_stopped else self._session.branch

    def _is_live(self, branch: Branch) -> bool:
        return branch is self._live_branch()

    def end_ns(self, branch: Branch) -> int:
        """Return the last instant of a branch, so far."""
        return self._session.clock.now_ns if self._is_live(branch) else branch.end_ns

    # -- replaying --------------------------------------------------------------------------------

    def _check_can_continue(self, source: Branch, at_ns: int) -> None:
        """WanlabError if no branch can continue from this instant, or not now."""
        session = self._session
        if self._has_real_clock:
            raise WanlabError(REAL_CLOCK)
        if self._replay is not None:
            raise WanlabError("a session is already being replayed", "cancel that first")
        if not (session.is_running or session.is_stopped):
            raise WanlabError(
                "the network is starting or stopping", "wait until it has, and try again"
            )
        _check_instant(at_ns, self.end_ns(source))
        if session.is_running and (reason := self._why_busy()):
            raise WanlabError(reason)
        if len(self._branches) >= MAX_BRANCHES:
            raise WanlabError(
                f"there are {MAX_BRANCHES} branches",
                "remove one first, with the menu beside its name",
            )

    async def _replay_branch(
        self, source: Branch, replay: RunningReplay
    ) -> tuple[Branch, NetworkWorker]:
        """Replay a branch while the running network stands still.

        Returns the branch that continues and the worker of its network, which stands still, too.
        WanlabError if the replay fails or is cancelled; nothing is left of it then.
        """
        if self._session.is_running:
            await self._session.clock.hold()
        branch, content = await self._continuation(source, replay.progress.at_ns)
        recorded = await asyncio.to_thread(parse, content, "this session")
        folder = self._make_folder() if recorded.has_files else None
        worker, replayed = self._session.replaying_worker(
            branch, partial(self._replaying_network, recorded, folder, replay)
        )
        try:
            await asyncio.wrap_future(replayed)
            replay.check_cancelled()  # after the last instant, the replay's thread checks no more
        except BaseException as error:
            worker.end()
            if folder is not None:
                with contextlib.suppress(OSError):
                    self._folder.shared.remove_tree(self._folder.path_of(folder))
            if isinstance(error, WanlabError):
                raise
            traceback.print_exception(error)
            what = f"internal error in the replay: {error!r}"
            raise WanlabError(what, INTERNAL_ERROR_HINT) from error
        if folder is not None:
            branch.folder = self._folder.path_of(folder)
        return branch, worker

    async def _continuation(self, source: Branch, at_ns: int) -> tuple[Branch, bytes]:
        """Return the branch that continues another one, and the session file to replay for it."""
        if self._is_live(source):
            content = await self._session.recorded_so_far()
            # The network's thread adds to the source, so the copy is made in that thread.
            branch = await self._session.in_network(lambda _: self._new_branch(source, at_ns))
            return branch, content
        branch = _copy_of(source) if at_ns == source.end_ns else self._new_branch(source, at_ns)
        return branch, source.session_content()

    def _new_branch(self, source: Branch, at_ns: int) -> Branch:
        """Return a new branch that leaves another one at an instant."""
        self._last_number += 1
        number = self._last_number
        return source.until(at_ns, f"b{number}", f"branch {number}")

    def _make_folder(self) -> Path:
        """Make the folder for a branch's files; return its path.

        The folder has the number of the newest branch, or the next free number, because folders of
        earlier sessions may still exist.
        """
        parent = self._folder.shared.subfolder(FOLDER)
        numbers = itertools.count(self._last_number)
        try:
            name = next(str(number) for number in numbers if not parent.exists(str(number)))
            return parent.subfolder(name).make().path
        except OSError as error:
            raise file_error("write to", parent.path, error) from None

    # -- in the replay's thread -------------------------------------------------------------------

    def _replaying_network(
        self, recorded: RecordedSession, folder: Path | None, replay: RunningReplay
    ) -> Network:
        """Return a network that replays a session when it is started, and reports its progress."""
        network = Network.replay(
            recorded,
            until=replay.progress.at_ns,
            folder=folder,
            record=True,
            kernel=self._choice.kernel,
            traps=self._choice.traps,
        )

        def report(now_ns: int, until_ns: int | None) -> None:
            replay.check_cancelled()
            now_real_s = time.monotonic()
            if now_real_s - replay.reported_real_s > REPORT_REAL_S:
                replay.reported_real_s = now_real_s
                with contextlib.suppress(RuntimeError):  # the loop has ended
                    self._session.loop.call_soon_threadsafe(self._push_progress, replay, now_ns)

        network.on_time = report
        return network

    # -- in the loop ------------------------------------------------------------------------------

    def _push_progress(self, replay: RunningReplay, now_ns: int) -> None:
        """Send a replay's progress to all browsers, unless the replay has ended."""
        if replay is not self._replay:
            return
        now_ns = max(now_ns, 0)  # negative before the network's clock starts
        passed_real_s = time.monotonic() - replay.began_real_s
        expected_real_s = replay.progress.expected_real_s
        source = self._branches.get(replay.progress.branch)
        if source is not None:  # the branch may have been dropped
            # The time of the first part is known by now. The rest takes as long as it did originally.
            left_real_s = source.costs.at(replay.progress.at_ns) - source.costs.at(now_ns)
            expected_real_s = passed_real_s + left_real_s
        replay.progress = msgspec.structs.replace(
            replay.progress,
            now_ns=now_ns,
            passed_real_s=round(passed_real_s, 1),
            expected_real_s=round(expected_real_s, 1),
        )
        self.push()

    def note_end(self) -> None:
        """Note that the network has ended. Unless a branch takes over, that cancels a replay."""
        if self._replay is not None and not self._session.is_changing_branch:
            self._replay.is_cancelled = True
        self.push()


@dataclass
class RunningReplay:
    """A replay that is under way.

    progress          as browsers receive it; set in the loop
    began_real_s      when it began, by time.monotonic()
    is_cancelled      set in the loop, read in the replay's thread
    reported_real_s   when it last reported its progress; for the replay's thread only
    """

    progress: BranchReplay
    began_real_s: float
    is_cancelled: bool = False
    reported_real_s: float = 0.0

    def check_cancelled(self) -> None:
        """RefusedError if the replay was cancelled."""
        if self.is_cancelled:
            raise RefusedError("the replay was cancelled", code="cancelled")


def _copy_of(branch: Branch) -> Branch:
    """Return a branch to take the place of one that is not live, and to continue at its end."""
    copy = branch.until(branch.end_ns, branch.id, branch.name)
    copy.parent, copy.left_ns = branch.parent, branch.left_ns
    copy.first_number = branch.first_number
    return copy


def _expected_real_s(branch: Branch, at_ns: int) -> float:
    """Return how long a replay of a branch up to an instant is expected to take."""
    return round(branch.costs.of_replay(at_ns), 1)


def _check_instant(at_ns: int, end_ns: int) -> None:
    """WanlabError unless an instant is between 0 and the end of its branch."""
    if not 0 <= at_ns <= end_ns:
        raise WanlabError(
            f"{format_time(at_ns)} is outside this branch",
            f"it runs from 0 to {format_time(end_ns)}",
        )
