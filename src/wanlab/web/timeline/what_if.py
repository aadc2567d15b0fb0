"""What would have happened with another value: a branch with it, in which the rest happens again."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable

from wanlab.errors import WanlabError
from wanlab.session import parse

from ..broadcast import Broadcast
from ..drawing.document import edited, read
from ..drawing.link_changes import changed_link
from ..protocol import commands
from ..protocol.branches import BranchPlayback, RepeatedBranch
from ..protocol.messages import CaptureFile, MessagePush
from ..protocol.model import Document, Elements
from ..running.port_changes import described_change
from ..running.session import NetworkSession
from ..running_tasks import RunningTasks
from .branches import MAX_NAME_LENGTH, Branches
from .playback import Playback

MAX_PROBLEMS = 3
HEADER_BYTES = 128
"""Of each packet that is captured for a time-sequence graph."""


class WhatIf:
    """Carries out the command "what_if", one at a time.

    admit      is awaited before a network starts; WanlabError if none may
    set_link   sets options of a link in the running network and in the drawing
    capture    starts or ends a capture
    """

    def __init__(
        self,
        branches: Branches,
        session: NetworkSession,
        broadcast: Broadcast,
        *,
        admit: Callable[[], Awaitable[None]],
        set_link: Callable[[commands.SetLinkCommand, str], Awaitable[None]],
        capture: Callable[[commands.CaptureCommand], Awaitable[CaptureFile]],
    ) -> None:
        self._branches = branches
        self._session = session
        self._broadcast = broadcast
        self._admit = admit
        self._set_link = set_link
        self._capture = capture
        self._playback: Playback | None = None
        self._captured = ""
        """The port that is captured until the playback has ended."""
        self._tasks = RunningTasks()

    async def begin(self, command: commands.WhatIfCommand, by: str) -> RepeatedBranch:
        """Begin a branch in which everything after the change happens again; return it."""
        branches, session = self._branches, self._session
        source = branches.branch(command.branch)
        until_ns = branches.end_ns(source)
        if command.at_ns >= until_ns:
            raise WanlabError("nothing happens after this instant", "choose an earlier one")
        set_link = commands.SetLinkCommand(
            link=command.link, options=command.options, end=command.end
        )
        if command.capture:
            name = f"packets of {command.capture[0]}"
        else:
            name = checked_change(source.plan_at(command.at_ns).document, set_link)
        await self._admit()
        session.is_playing_back = True
        file = ""
        try:
            continued = commands.ContinueCommand(branch=source.id, at_ns=command.at_ns)
            id_ = await branches.continue_from(continued, by)
            branches.name(id_, name[:MAX_NAME_LENGTH])
            if command.capture:
                file = await self._begin_capture(*command.capture)
            else:
                await self._set_link(set_link, by)
            recorded = await asyncio.to_thread(parse, source.session_content(), "this session")
            keeps = (command.link, frozenset(command.options))
            playback = Playback(session, source, recorded, command.at_ns, keeps, self._note_played)
            await playback.begin()
        except BaseException:
            session.is_playing_back = False
            raise
        self._playback = playback
        branches.show_playback(BranchPlayback(branch=id_, source=source.id, until_ns=until_ns))
        return RepeatedBranch(branch=id_, capture=file)

    async def _begin_capture(self, sender: str, arrival: str = "") -> str:
        """Begin a capture of the headers of packets at one or two ports; return its file."""
        begin = commands.CaptureCommand(port=sender, on=True, arrival=arrival, snaplen=HEADER_BYTES)
        self._captured = sender
        return (await self._capture(begin)).path

    async def _end_capture(self, port: str) -> None:
        with contextlib.suppress(WanlabError):  # it has been ended already
            await self._capture(commands.CaptureCommand(port=port, on=False))

    @property
    def is_playing(self) -> bool:
        """Whether a branch repeats another one."""
        return self._playback is not None

    async def cancel(self, command: commands.CancelContinueCommand, by: str = "") -> None:
        """Cancel the replay or the playback, if there is one."""
        self._branches.cancel(command, by)
        if self._playback is not None:
            await self._playback.cancel()

    def _note_played(self, problems: list[str]) -> None:
        """Note that everything has happened again."""
        self._forget()
        self._branches.draw_live()
        if self._captured:
            self._tasks.start(self._end_capture(self._captured))
            self._captured = ""
        for problem in problems[:MAX_PROBLEMS]:
            what = f"it could not be repeated: {problem}"
            self._broadcast.push(MessagePush(level="warning", what=what))

    def note_end(self) -> None:
        """Note that the network has ended, unless the one of a branch takes over."""
        if not self._session.is_changing_branch:
            self._forget()

    def _forget(self) -> None:
        self._session.is_playing_back = False
        self._playback = None
        self._branches.show_playback(None)


def checked_change(document: Document, command: commands.SetLinkCommand) -> str:
    """Describe a change of a link in a document. WanlabError if the link would be wrong then."""
    link = next((one for one in document.links if one.id == command.link), None)
    if link is None:
        raise WanlabError("this run does not have the link", "stop the network and run it again")
    changed = changed_link(link, command.options, command.end)
    if changed == link:
        raise WanlabError("this is the value that the link has", "choose another one")
    _, problems = read(edited(document, commands.EditCommand(put=Elements(links=(changed,)))))
    for problem in problems:
        if problem.place.id == link.id:
            raise WanlabError(problem.what, problem.hint)
    return described_change(document, link, changed).partition(": ")[2]
