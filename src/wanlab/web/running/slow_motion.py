"""Functions that only virtual time allows: packets in flight, steps to events, breakpoints."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from wanlab import Network
from wanlab.errors import WanlabError
from wanlab.measure.queue_lengths import QueueReader

from ..broadcast import Broadcast
from ..protocol import commands, messages
from ..protocol.push import Push
from .breakpoints import parse_breakpoint
from .session import NetworkSession

if TYPE_CHECKING:
    from ..packets.packet_flights import PacketFlights
    from .event_steps import EventSteps

MAX_LINKS = 300
"""In larger networks, packets in flight are not traced."""


class SlowMotion:
    """Carries out the commands for steps and breakpoints, and traces packets while time is slow."""

    def __init__(self, broadcast: Broadcast, session: NetworkSession) -> None:
        self._broadcast = broadcast
        self._session = session
        self._flights: PacketFlights | None = None
        self._steps: EventSteps | None = None
        self._reached = ""

    # -- in the network's thread ------------------------------------------------------------------

    def collect(self, network: Network) -> None:
        """Trace packets as long as time is slow, and send their movements."""
        worker, ports = self._session.worker, self._session.snapshot().ports
        if worker is None or not ports or len(ports) > 2 * MAX_LINKS:
            return
        if self._flights is not None:
            if (push := self._flights.collect()) is not None:
                self._in_loop(push)
            if not worker.is_slow:
                self._flights.end()
                self._flights = None
                self._in_loop(messages.PacketsPush(is_over=True))
                if self._steps is not None:
                    self._steps.end()
                    self._steps = None
        elif worker.is_slow and not self._session.is_playing_back:
            from ..packets.packet_flights import PacketFlights  # loads numpy

            with contextlib.suppress(WanlabError):  # a port was deleted in a terminal
                self._flights = PacketFlights(network, ports)

    def _in_loop(self, push: Push) -> None:
        with contextlib.suppress(RuntimeError):  # the loop has ended
            self._session.loop.call_soon_threadsafe(self._broadcast.push, push)

    def note_break(self, why: str) -> None:
        """Note the breakpoint at which time was paused."""
        self._reached = why
        self._in_loop(self.snapshot())

    # -- commands ---------------------------------------------------------------------------------

    def snapshot(self) -> messages.BreakpointsPush:
        """Return the breakpoints as browsers receive them."""
        worker = self._session.worker
        texts = worker.breakpoints.texts if worker is not None else ()
        return messages.BreakpointsPush(breakpoints=texts, reached=self._reached)

    async def step_to(self, command: commands.StepToCommand, by: str = "") -> messages.EventStep:
        """Let time pass to the next event of a kind, and pause there."""
        from .event_steps import EventSteps  # loads numpy

        worker = self._session.network_worker()
        names = [port.name for port in self._session.snapshot().ports]

        if command.port and command.port not in names:
            raise WanlabError(f"the running network has no port {command.port}")

        def perform(network: Network) -> messages.EventStep:
            worker.pause(network, is_paused=True)
            try:
                if self._steps is None:
                    self._steps = EventSteps(network, names)
                what = self._steps.step_to(command)
            finally:
                worker.end_step(network)
            return messages.EventStep(what, network.now_ns)

        return await self._session.in_network(perform)

    async def set_breakpoint(self, command: commands.BreakCommand, by: str = "") -> None:
        """Set a breakpoint, or remove it."""
        worker = self._session.network_worker()

        def perform(network: Network) -> None:
            if network.clock == "real":
                raise WanlabError("the real clock cannot be paused", "choose the virtual clock")
            if not command.on:
                worker.breakpoints.remove(command.text)
                return
            one = parse_breakpoint(command.text)
            names = {port.name for port in self._session.snapshot().ports}
            if one.port and one.port not in names:
                raise WanlabError(f"the running network has no port {one.port}")
            if one.time_ns is not None and one.time_ns <= network.now_ns:
                raise WanlabError(f"{one.text} has passed already")
            worker.breakpoints.add(one, QueueReader(network).read() if one.reads_queues else {})

        await self._session.in_network(perform)
        self._broadcast.push(self.snapshot())

    def end(self) -> None:
        """Forget the network, which is gone."""
        self._flights, self._steps, self._reached = None, None, ""
        self._broadcast.push(messages.BreakpointsPush())
