"""The branches of the session: go back to an instant, and continue from there in another way.

A branch leaves another one at an instant. The session up to there is replayed in a new machine, while
the old network stands still; then the old one ends, and what it has recorded stays. So one network
runs at a time, and a replay that fails or is cancelled costs nothing.
"""

from __future__ import annotations

import asyncio
import contextlib
import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from wanlab import Network
from wanlab.errors import WanlabError, did_you_mean
from wanlab.session import RecordedSession, parse
from wanlab.units import format_time

from . import commands, protocol
from .branch import Branch
from .branch_protocol import BranchesPush, BranchReplay, RecordedTerminal, ReplayCost
from .broadcast import Broadcast
from .editor import RefusedError
from .folder import WorkingFolder
from .run_plan import RunPlan
from .session import NetworkSession
from .session_events import SessionEvent

FOLDER = "branches"
MAX_BRANCHES = 20
MAX_NAME_LENGTH = 60
MAX_MARKER_LENGTH = 200
REPORT_REAL_S = 0.2
REAL_CLOCK = (
    "on the real clock a session cannot go back: what happened at which instant depended on the "
    "computer. Choose the virtual clock before you press Run"
)


@dataclass
class RunningReplay:
    """A replay that is under way. `is_cancelled` is read in its thread."""

    progress: BranchReplay
    began_real_s: float
    is_cancelled: bool = False
    reported_real_s: float = 0.0


class Branches:
    """Performs the commands about branches.

    `redraw` is called with the plan of the branch that continues, to draw its links as they were.
    """

    def __init__(
        self,
        folder: WorkingFolder,
        broadcast: Broadcast,
        session: NetworkSession,
        redraw: Callable[[RunPlan, str], None],
    ) -> None:
        self._folder = folder
        self._broadcast = broadcast
        self._session = session
        self._redraw = redraw
        self._branches: dict[str, Branch] = {}
        self._count = 0
        self._replay: RunningReplay | None = None
        self._has_real_clock = False
        self.is_busy: Callable[[], str] = lambda: ""
        """Returns why the running network cannot be left now; "" if it can."""
        session.on_ending.append(self._note_end)

    # -- state ------------------------------------------------------------------------------------

    def begin(self, plan: RunPlan) -> Branch:
        """Forget all branches, and return the first one of a session that begins."""
        self._count = 1
        branch = Branch("b1", "original", plan)
        self._branches = {branch.id: branch}
        self._has_real_clock = plan.document.preferences.clock == "real"
        self.push()
        return branch

    def snapshot(self) -> BranchesPush:
        """Return the branches as browsers receive them."""
        live = self._session.branch if self._session.worker is not None else None
        return BranchesPush(
            branches=tuple(branch.info() for branch in self._branches.values()),
            live=live.id if live is not None else None,
            replay=self._replay.progress if self._replay is not None else None,
            refusal=REAL_CLOCK if self._has_real_clock else "",
        )

    @property
    def is_replaying(self) -> bool:
        """Whether a session is being replayed."""
        return self._replay is not None

    def _note_end(self) -> None:
        """Note that the network has ended. Unless a branch takes over, cancel a replay."""
        if self._replay is not None and not self._session.is_switching:
            self._replay.is_cancelled = True
        self.push()

    def push(self) -> None:
        """Send all browsers the branches."""
        self._broadcast.push(self.snapshot())

    def _branch(self, id_: str) -> Branch:
        try:
            return self._branches[id_]
        except KeyError:
            raise WanlabError(
                f"no branch {id_}", did_you_mean(id_, self._branches) or "was it removed?"
            ) from None

    def _is_live(self, branch: Branch) -> bool:
        return self._session.worker is not None and branch is self._session.branch

    # -- what was recorded ------------------------------------------------------------------------

    def events(self, id_: str) -> tuple[SessionEvent, ...]:
        """Return the events of a branch."""
        return self._branch(id_).events.all()

    def terminals(self, id_: str) -> tuple[RecordedTerminal, ...]:
        """Return the output of a branch's terminals."""
        return tuple(record.recorded() for record in list(self._branch(id_).terminals.values()))

    def history(self, command: commands.HistoryCommand) -> tuple[protocol.SampleColumn, ...] | None:
        """Return the samples of a branch that is not live; None for the live one."""
        if not command.branch or self._is_live(branch := self._branch(command.branch)):
            return None
        return tuple(branch.memory.columns(command.series))

    # -- commands ---------------------------------------------------------------------------------

    async def mark(self, command: commands.MarkerCommand, by: str = "") -> None:
        """Mark an instant."""
        text = " ".join(command.text.split())[:MAX_MARKER_LENGTH]
        if not text:
            raise WanlabError("a marker needs a text")
        branch = self._branch(command.branch) if command.branch else self._session.branch
        if branch is None:
            raise WanlabError("no network has run", "press Run")
        end_ns = self._session.now_ns if self._is_live(branch) else branch.end_ns
        at_ns = end_ns if command.at_ns is None else command.at_ns
        _check_instant(at_ns, end_ns)
        branch.events.add(SessionEvent(at_ns=at_ns, kind="marker", text=text))
        self._session.notes.push(branch)

    def rename(self, command: commands.RenameBranchCommand, by: str = "") -> None:
        """Give a branch another name."""
        branch, name = self._branch(command.branch), " ".join(command.name.split())
        if not 0 < len(name) <= MAX_NAME_LENGTH:
            raise WanlabError("a branch needs a name", f"of {MAX_NAME_LENGTH} characters at most")
        if any(other.name == name and other is not branch for other in self._branches.values()):
            raise WanlabError(f"another branch is called {name}", "choose another name")
        branch.name = name
        self.push()

    def drop(self, command: commands.DropBranchCommand, by: str = "") -> None:
        """Forget a branch."""
        branch = self._branch(command.branch)
        if self._is_live(branch):
            raise WanlabError(
                f"{branch.name} is the running branch", "continue from another branch first"
            )
        del self._branches[branch.id]
        self.push()

    async def cost(self, command: commands.CostCommand, by: str = "") -> ReplayCost:
        """Return how long a replay is expected to take."""
        branch = self._branch(command.branch)
        return ReplayCost(round(branch.costs.of_replay(command.at_ns), 1))

    def cancel(self, command: commands.CancelContinueCommand, by: str = "") -> None:
        """Stop replaying."""
        if self._replay is not None:
            self._replay.is_cancelled = True

    async def go_on(self, command: commands.ContinueCommand, by: str = "") -> str:
        """Replay a branch up to an instant, and continue from there; return the new branch's id."""
        source, at_ns = self._branch(command.branch), command.at_ns
        self._refuse(source, at_ns)
        expected_real_s = round(source.costs.of_replay(at_ns), 1)
        progress = BranchReplay(branch=source.id, at_ns=at_ns, expected_real_s=expected_real_s)
        self._replay = replay = RunningReplay(progress, time.monotonic())
        self.push()
        try:
            return await self._go_on(source, at_ns, replay, by)
        finally:
            self._replay = None
            self.push()

    def _refuse(self, source: Branch, at_ns: int) -> None:
        """Raise WanlabError if a branch cannot be left at an instant, or not now."""
        session = self._session
        if self._has_real_clock:
            raise WanlabError(REAL_CLOCK)
        if self._replay is not None:
            raise WanlabError("a session is being replayed already", "cancel that first")
        if not (session.is_running or session.is_stopped):
            raise WanlabError("the network is starting or stopping", "wait until it has")
        _check_instant(at_ns, session.now_ns if self._is_live(source) else source.end_ns)
        if session.is_running and (reason := self.is_busy()):
            raise WanlabError(reason)
        if len(self._branches) >= MAX_BRANCHES:
            raise WanlabError(f"there are {MAX_BRANCHES} branches", "remove one first")

    async def _go_on(self, source: Branch, at_ns: int, replay: RunningReplay, by: str) -> str:
        session = self._session
        if session.is_running:
            await session.hold()
        if self._is_live(source):
            content = await session.recorded_so_far()
            branch = await session.call(lambda network: self._branch_from(source, at_ns))
        else:
            content = source.session_content()
            branch = self._branch_from(source, at_ns, is_end=at_ns == source.end_ns)
        recorded = await asyncio.to_thread(parse, content, "this session")
        folder = self._new_folder() if recorded.has_files else None
        worker, started = session.replaying_worker(
            branch, partial(self._make, recorded, at_ns, folder, replay)
        )
        try:
            await asyncio.wrap_future(started)
            if replay.is_cancelled:
                raise RefusedError("the replay was cancelled", code="cancelled")
        except BaseException as error:
            worker.end()
            if folder is not None:
                shutil.rmtree(folder, ignore_errors=True)
            if isinstance(error, WanlabError):
                raise
            raise WanlabError(f"the session could not be replayed: {error!r}") from error
        if folder is not None:
            branch.folder = self._folder.path_of(folder)
        if branch.id == source.id:
            del self._branches[source.id]
        self._branches[branch.id] = branch
        await session.switch(worker, branch)
        self._redraw(branch.plan, by)
        self.push()
        self._broadcast.push(protocol.FilesPush(paths=(FOLDER,)))
        return branch.id

    def _branch_from(self, source: Branch, at_ns: int, *, is_end: bool = False) -> Branch:
        """Return a new branch that leaves another one; at that one's end, a branch that replaces it."""
        if is_end:
            branch = source.until(source.end_ns, source.id, source.name)
            branch.parent, branch.left_ns = source.parent, source.left_ns
            branch.first_number = source.first_number
            return branch
        self._count += 1
        return source.until(at_ns, f"b{self._count}", f"branch {self._count}")

    def _new_folder(self) -> Path:
        """Make a folder for the files of a branch, in the working folder."""
        parent = self._folder.path / FOLDER
        number = self._count
        while (folder := parent / str(number)).exists():
            number += 1
        folder.mkdir(parents=True)
        return folder

    def _make(
        self, recorded: RecordedSession, at_ns: int, folder: Path | None, replay: RunningReplay
    ) -> Network:
        """Return the network that replays; called in its thread."""
        network = Network.replay(recorded, until=at_ns, folder=folder, record=True)

        def note(now_ns: int, until_ns: int | None) -> None:
            if replay.is_cancelled:
                raise RefusedError("the replay was cancelled", code="cancelled")
            real_s = time.monotonic()
            if real_s - replay.reported_real_s > REPORT_REAL_S:
                replay.reported_real_s = real_s
                with contextlib.suppress(RuntimeError):  # the loop has ended
                    self._session.loop.call_soon_threadsafe(self._report, replay, now_ns)

        network.on_time = note
        return network

    def _report(self, replay: RunningReplay, now_ns: int) -> None:
        if replay is not self._replay:
            return
        branch = self._branches.get(replay.progress.branch)
        passed_real_s = time.monotonic() - replay.began_real_s
        expected_real_s = replay.progress.expected_real_s
        if branch is not None:
            # What is left takes as long as it took at first; what is past is known.
            left = branch.costs.at(replay.progress.at_ns) - branch.costs.at(max(now_ns, 0))
            expected_real_s = passed_real_s + left
        replay.progress = BranchReplay(
            branch=replay.progress.branch,
            at_ns=replay.progress.at_ns,
            now_ns=max(now_ns, 0),
            passed_real_s=round(passed_real_s, 1),
            expected_real_s=round(expected_real_s, 1),
        )
        self.push()


def _check_instant(at_ns: int, end_ns: int) -> None:
    if not 0 <= at_ns <= end_ns:
        raise WanlabError(
            f"{format_time(at_ns)} is not an instant of this branch",
            f"it goes from 0 to {format_time(end_ns)}",
        )
