"""A watch: the agent reads counters at regular instants by itself; we hear of them in large pieces."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from wanlab.agent.messages import Kind
from wanlab.agent.watches import PIECE

if TYPE_CHECKING:
    from .network import Network

Take = Callable[[int, int, bytes], None]


class Watch:
    """Begins at once. `take` is given the place of a source (streams follow the sources), the time since
    the watch began, and what was read.

    sources   counters, see `agent.counters`
    streams   events and packets between the samples, see `agent.tracing` and `agent.packets`
    """

    def __init__(
        self,
        network: Network,
        sources: Sequence[Sequence[Any]],
        streams: Sequence[dict[str, Any]],
        take: Take,
        *,
        every_ns: int,
        drain_ns: int,
    ) -> None:
        self._network = network
        self._take = take
        self._number = network.machine.channel.new_process(self)
        self.began_ns = network.now_ns
        """On the network's clock."""
        told = network.machine.agent.watch(
            number=self._number,
            sources=sources,
            streams=streams,
            every_ns=every_ns,
            drain_ns=drain_ns,
            is_clock_read=network.clock == "real",
        )
        self.streams = told["streams"]
        """What the agent says of each stream."""
        self.clock_began_ns: int = told["began_ns"]
        """On the clock of the machine's kernel, which is on events."""

    def flush(self) -> None:
        """All that was read so far has been given on when this returns."""
        self._network.machine.agent.flush(number=self._number)

    def snapshot(self) -> None:
        """A sample now, between the regular ones; all that was read so far has been given on then."""
        self._network.machine.agent.snapshot(number=self._number, time_ns=self._time_ns())

    def end(self) -> list[int]:
        """A last sample, and no more. What was lost of each stream."""
        machine = self._network.machine
        lost: list[int] = machine.agent.unwatch(number=self._number, time_ns=self._time_ns())
        machine.channel.forget_process(self._number)
        return lost

    def _time_ns(self) -> int:
        return self._network.now_ns - self.began_ns

    # -- what the channel tells -------------------------------------------------------------------

    def output_arrived(self, kind: Kind, data: bytes) -> None:
        position = 0
        while position < len(data):
            place, time_ns, length = PIECE.unpack_from(data, position)
            position += PIECE.size
            self._take(place, time_ns, data[position : position + length])
            position += length

    def ended(self, result: dict[str, int]) -> None:
        """A watch is no process."""
