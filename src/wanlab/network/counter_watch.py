"""A counter watch: the agent reads counters at regular intervals and sends the readings in batches."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from wanlab.agent.messages import Kind
from wanlab.agent.watches import PIECE

if TYPE_CHECKING:
    from .network import Network

OnData = Callable[[int, int, bytes], None]


class CounterWatch:
    """A watch that starts when it is created.

    `on_data` is called with the index of a source (streams come after the sources), the time since
    the watch began in ns, and the bytes that were read.

    sources   counters, see `agent/counters.py`
    streams   events and packets between the samples, see `agent/tracing.py` and `agent/packets.py`
    """

    def __init__(
        self,
        network: Network,
        sources: Sequence[Sequence[object]],
        streams: Sequence[Mapping[str, object]],
        on_data: OnData,
        *,
        every_ns: int,
        drain_ns: int,
    ) -> None:
        self._network = network
        self._on_data = on_data
        self._number = network.machine.channel.new_process(self)
        self.began_ns = network.now_ns
        """On the network's clock."""
        started = network.machine.agent.watch(
            number=self._number,
            sources=sources,
            streams=streams,
            every_ns=every_ns,
            drain_ns=drain_ns,
            is_clock_read=network.clock == "real",
        )
        self.streams = started["streams"]
        """The agent's report about each stream."""
        self.clock_began_ns = started["began_ns"]
        """On the clock of the machine's kernel, which stamps events."""

    def flush(self) -> None:
        """Pass on everything that has been read so far."""
        self._network.machine.agent.flush(number=self._number)

    def snapshot(self) -> None:
        """Take a sample now, between the regular ones, and pass on everything that has been
        read."""
        self._network.machine.agent.snapshot(number=self._number, time_ns=self._time_ns())

    def end(self) -> list[int]:
        """Take a last sample, stop, and return how much of each stream was lost."""
        machine = self._network.machine
        lost: list[int] = machine.agent.unwatch(number=self._number, time_ns=self._time_ns())
        machine.channel.forget_process(self._number)
        return lost

    def _time_ns(self) -> int:
        return self._network.now_ns - self.began_ns

    # -- called by the channel --------------------------------------------------------------------

    def output_arrived(self, kind: Kind, data: bytes) -> None:
        position = 0
        while position < len(data):
            index, time_ns, length = PIECE.unpack_from(data, position)
            position += PIECE.size
            self._on_data(index, time_ns, data[position : position + length])
            position += length

    def ended(self, result: dict[str, int]) -> None:
        """The agent never sends this: a watch is not a process."""
