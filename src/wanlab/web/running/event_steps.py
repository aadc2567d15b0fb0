"""Step to the next event of a running network: a packet, a drop, an acknowledgement, a timer.

The kernel runs from event to event, and after each the traces are read, while time stands still. So
virtual time stops at the very instant of the event.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Sequence

from wanlab import Network, Sampling
from wanlab.errors import WanlabError
from wanlab.measure.packet_events import RARELY_NS, KernelEvents, PacketEvent, PacketEvents

from ..protocol.commands import StepToCommand

MAX_STEP_NS = 60 * 10**9
MAX_STEP_REAL_S = 20.0
EVENTS = {
    "packet": "packet",
    "drop": "dropped packet",
    "ack": "TCP acknowledgement",
    "timer": "kernel timer",
}
"""The events of `StepToCommand`, in words."""
_ACK, _TIMER = "tcp/tcp_probe", "timer/timer_expire_entry"
_PACKET_WORDS = {
    "queued": "a packet of {size} bytes reaches the queue of {port}",
    "sent": "{port} begins to send a packet of {size} bytes",
    "received": "{port} has received a packet of {size} bytes",
    "dropped": "{port} drops a packet of {size} bytes ({reason})",
}


class PacketFinder(PacketEvents):
    """Finds what happens to packets at some ports."""

    def __init__(self, ports: Sequence[str], *, only_drops: bool) -> None:
        super().__init__(ports)
        self._only_drops = only_drops

    def found(self) -> str:
        wanted = [it for it in self.drain() if it.kind == "dropped" or not self._only_drops]
        return "; ".join(map(words_of, wanted))


class EventFinder(KernelEvents):
    """Finds events of the kernel of one kind."""

    def __init__(self, event: str, condition: str, words: str) -> None:
        super().__init__(event, condition)
        self._words = words

    def found(self) -> str:
        return self._words if self.drain() else ""


def words_of(event: PacketEvent) -> str:
    """Return what happened to a packet as a sentence."""
    words = _PACKET_WORDS[event.kind]
    return words.format(size=event.size_bytes, port=event.port, reason=event.reason)


class EventSteps:
    """Steps to events. Lives in the network's thread.

    A trace is not ended after a step, because that takes up to 4 ms of virtual time: the kernel waits
    until the trace is no longer in use.
    """

    def __init__(self, network: Network, ports: Sequence[str]) -> None:
        self._network = network
        self._ports = ports
        self._open: dict[tuple[str, str], tuple[Sampling, PacketFinder | EventFinder]] = {}

    def step_to(self, command: StepToCommand) -> str:
        """Let time pass to the next event, and describe it. WanlabError if none occurs."""
        key = (command.event, command.port)
        if key not in self._open:
            finder = self._finder(command)
            sampling = Sampling(self._network, [finder], every=RARELY_NS)
            sampling.begin()
            self._open[key] = (sampling, finder)
        self._network.pace_to_real(False)
        return self._run_to(*self._open[key], command.event)

    def _finder(self, command: StepToCommand) -> PacketFinder | EventFinder:
        if command.event in ("packet", "drop"):
            chosen = [command.port] if command.port else self._ports
            return PacketFinder(chosen, only_drops=command.event == "drop")
        if command.event == "ack":
            words = "a TCP connection receives an acknowledgement"
            return EventFinder(_ACK, "data_len == 0", words)
        return EventFinder(_TIMER, "", "a kernel timer expires")

    def _run_to(self, sampling: Sampling, finder: PacketFinder | EventFinder, event: str) -> str:
        network = self._network
        end_ns, end_real_s = network.now_ns + MAX_STEP_NS, time.monotonic() + MAX_STEP_REAL_S
        sampling.sample()
        finder.found()  # events up to now
        while network.now_ns < end_ns and time.monotonic() < end_real_s:
            network.run_to_next_event(end_ns - network.now_ns)
            sampling.sample()
            if what := finder.found():
                return what
        waited_s = (network.now_ns - (end_ns - MAX_STEP_NS)) / 1e9
        raise WanlabError(
            f"no {EVENTS[event]} came within {waited_s:.3g} s of virtual time",
            "start a program that sends packets, then try again; time is paused now",
        )

    def end(self) -> None:
        """End all traces."""
        for sampling, _ in self._open.values():
            with contextlib.suppress(WanlabError):
                sampling.end()
        self._open.clear()
