"""The links of the running network: what `tc` has set at their ports, and changes of them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import cast

from wanlab import Network
from wanlab.errors import WanlabError
from wanlab.topology import ConditionWords

from ..drawing.link_changes import changed_link
from ..protocol import commands
from ..protocol.messages import LivePort
from ..protocol.model import DrawnLink, End, Options
from ..timeline.branch import Branch
from ..timeline.session_events import SessionEvent
from ..timeline.session_notes import SessionNotes
from .live_ports import LivePorts, PortReader, PortReadings
from .port_changes import described_change, described_plug

CHECK_PORTS_REAL_S = 1.0

PortsChange = Callable[[Network], PortReadings]


class SessionLinks:
    """The links of the running network; the object is reused for the next network.

    call   performs a call in the network's thread; WanlabError if the network is not running
    show   tells browsers of the ports, and of the links that are unplugged
    in_loop   schedules a call in the loop
    """

    def __init__(
        self,
        notes: SessionNotes,
        call: Callable[[PortsChange], Awaitable[PortReadings]],
        show: Callable[[tuple[LivePort, ...], tuple[str, ...]], None],
        in_loop: Callable[[Callable[[], object]], None],
    ) -> None:
        self._notes = notes
        self._call = call
        self._show = show
        self._in_loop = in_loop
        self._ports: LivePorts | None = None
        self._shown: tuple[LivePort, ...] = ()
        self._down: tuple[str, ...] = ()
        self._reader: PortReader | None = None
        self._changed_ns = 0
        """The instant of the last reading in which a port had changed."""

    # -- in the network's thread ------------------------------------------------------------------

    def read_all(self, network: Network, branch: Branch) -> LivePorts:
        """Read the ports of a network that has started, for `begin`."""
        self._reader = PortReader(network)
        readings = self._reader.read()
        self._changed_ns = readings.now_ns
        return LivePorts(branch.plan, network, readings)

    def read_if_due(self) -> PortReadings | None:
        """Read the ports again, for `update`, unless that was done a moment ago."""
        reader = self._reader
        return reader.read() if reader is not None and reader.is_due(CHECK_PORTS_REAL_S) else None

    def change_now(self, network: Network, link: str, conditions: Mapping[End, Options]) -> None:
        """Change conditions of a link at this instant, as `set_conditions` does."""
        names = self._set_ports(network, link, conditions)
        readings = self._read_again()
        self._in_loop(partial(self._note_conditions, link, conditions, names, readings))

    def plug_now(self, network: Network, link: str, *, is_up: bool) -> None:
        """Unplug a link at this instant, or plug it in again, as `plug` does."""
        for port in self.names_of(link):
            network.set_port_up(port, is_up)
        self._in_loop(partial(self._note_plug, link, self._read_again(), is_up=is_up))

    def _read_again(self) -> PortReadings:
        assert self._reader is not None
        return self._reader.read()

    def _set_ports(
        self, network: Network, link: str, conditions: Mapping[End, Options]
    ) -> list[str]:
        """Set conditions of a link's ports; return the names of the ports."""
        ends = dict(zip("ab", self.names_of(link), strict=True))
        for end, options in conditions.items():
            network.set_port(ends[end], **cast(ConditionWords, options))
        return [ends[end] for end in conditions]

    # -- in the loop ------------------------------------------------------------------------------

    def begin(self, ports: LivePorts, down: tuple[str, ...] = ()) -> None:
        """Take over the ports of a network; `down` are the links that are unplugged."""
        self._ports, self._shown, self._down = ports, ports.ports, down

    def end(self) -> None:
        """Forget the ports of a network that has ended."""
        self._ports, self._reader = None, None

    def update(self, readings: PortReadings) -> None:
        """Send browsers the changes that the network or terminals have made."""
        if self._ports is not None and self._ports.update(readings):
            self._changed_ns = readings.now_ns
            self._push(is_explained=False)

    def names_of(self, link: str) -> tuple[str, str]:
        """Return the names of the two ports of a link. WanlabError if the network has no such link."""
        return self._live_ports().names_of(link)

    def set_by_tc(self, link: str) -> dict[End, Options]:
        """Return the settings of `tc` at a link, for each end."""
        self.names_of(link)
        return self._live_ports().set_by_tc(link)

    async def keep_tc(self, link: str) -> None:
        """Note that the drawing now has the settings of `tc` at a link."""
        readings = await self._perform(lambda network: None)
        self._live_ports().set_drawn(self.names_of(link), readings)
        self._changed_ns = readings.now_ns
        self._push()

    async def plug(self, command: commands.LinkUpCommand, by: str = "") -> None:
        """Unplug a link, or plug it in again."""
        names = self.names_of(command.link)

        def set_ports_up(network: Network) -> None:
            for port in names:
                network.set_port_up(port, command.up)

        self._note_plug(command.link, await self._perform(set_ports_up), is_up=command.up)

    def _note_plug(self, link: str, readings: PortReadings, *, is_up: bool) -> None:
        others = {*self._down} - {link}
        self._down = tuple(sorted(others if is_up else {*others, link}))
        self._live_ports().update(readings)
        self._changed_ns = readings.now_ns
        branch = self._notes.branch
        assert branch is not None
        text = described_plug(branch.plan.document, link, is_up=is_up)
        self._notes.note(
            SessionEvent(at_ns=readings.now_ns, kind="link", text=text, link=link, up=is_up)
        )
        self._push()

    async def set_conditions(self, link: str, conditions: Mapping[End, Options]) -> None:
        """Change conditions of a link. `conditions` are by end; None removes one."""
        names = self.names_of(link)
        readings = await self._perform(lambda network: self._set_ports(network, link, conditions))
        changed = [name for end, name in zip("ab", names, strict=True) if end in conditions]
        self._note_ports_set(changed, readings)

    def _note_conditions(
        self,
        link: str,
        conditions: Mapping[End, Options],
        names: Sequence[str],
        readings: PortReadings,
    ) -> None:
        """Note conditions that were set at an instant, in the branch, too."""
        self._note_ports_set(names, readings)
        branch = self._notes.branch
        drawn = branch.plan.document.links if branch is not None else ()
        for one in drawn:
            if one.id == link:
                for end, options in conditions.items():
                    one = changed_link(one, options, end)
                self.note_drawn(one)

    def _note_ports_set(self, names: Sequence[str], readings: PortReadings) -> None:
        self._live_ports().set_drawn(names, readings)
        self._changed_ns = readings.now_ns
        self._push()

    def note_drawn(self, link: DrawnLink) -> None:
        """Note that the running network has a link as it is drawn now."""
        branch = self._notes.branch
        if branch is None:
            return
        before = next((one for one in branch.plan.document.links if one.id == link.id), None)
        if before == link:
            return
        branch.plan = branch.plan.with_link(link)
        self._notes.note(
            SessionEvent(
                at_ns=self._changed_ns,
                kind="link",
                text=described_change(branch.plan.document, before, link),
                link=link.id,
                before=before,
                after=link,
            )
        )

    def _live_ports(self) -> LivePorts:
        if self._ports is None:
            raise WanlabError("the network is not running", "press Run")
        return self._ports

    async def _perform(self, change: Callable[[Network], object]) -> PortReadings:
        """Perform a change, and return the new state of the ports."""

        def perform(network: Network) -> PortReadings:
            change(network)
            return self._read_again()

        return await self._call(perform)

    def _push(self, *, is_explained: bool = True) -> None:
        """Tell browsers of changed ports; `is_explained`: another event says what has changed."""
        before, self._shown = self._shown, self._live_ports().ports
        self._notes.note_ports(before, self._shown, self._changed_ns, is_explained=is_explained)
        self._show(self._shown, self._down)
