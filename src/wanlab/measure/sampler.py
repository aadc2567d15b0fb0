"""Sample counters at regular instants of the network's clock, and follow events in between.

On virtual time the network stands still while it is read, so a sample shows one instant and does not
disturb the network. Raw data is kept during the run and parsed afterwards.

    sampling = Sampling(net, [Queues("s1-eth2"), Flows("h1")], every="10ms")
    sampling.run(until=flow)
    tables = sampling.tables()          # "qdisc", "tcp"

or, with anything that lets time pass:

    with Sampling(net, [Sojourns("s1-eth2")]) as sampling:
        net["h1"].run("ping -c 10 h2")
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress

from wanlab.errors import WanlabError
from wanlab.network import Network, Process
from wanlab.network.counter_watch import CounterWatch
from wanlab.record import Table
from wanlab.units import format_time, parse_time

from .columns import together
from .readings import Beginning, Reading, Sampler

DRAIN_NS = 20_000_000
"""How often events and packets are fetched; in between the kernel keeps them in rings."""
PROGRESS_NS = 100_000_000
MIN_EVERY_NS = 10_000
"""The agent's timer cannot fire much more often."""


class Sampling:
    """Reads all samplers at the same instants.

    The times in the tables count from the creation of this object.
    """

    def __init__(
        self, network: Network, samplers: Sequence[Sampler], *, every: str | int = "10ms"
    ) -> None:
        self._network = network
        self._samplers = list(samplers)
        self._every_ns = parse_time(every)
        if self._every_ns < MIN_EVERY_NS:
            raise WanlabError(
                f"the sampling interval cannot be {format_time(self._every_ns)}",
                f"at least {format_time(MIN_EVERY_NS)}, as in every='10ms'",
            )
        for sampler in self._samplers:
            sampler.prepare(network)
        sources = [list(sampler.sources()) for sampler in self._samplers]
        streams = [list(sampler.streams()) for sampler in self._samplers]
        self._sources = [source for group in sources for source in group]
        self._streams = [stream for group in streams for stream in group]
        # The sampler and index behind each source and stream, in the order of the agent.
        self._owners = [
            (number, index) for number, group in enumerate(sources) for index in range(len(group))
        ] + [
            (number, len(sources[number]) + index)
            for number, group in enumerate(streams)
            for index in range(len(group))
        ]
        self._counts = [len(group) for group in streams]
        self.began_ns = network.now_ns
        self._watch: CounterWatch | None = None
        self._offset_ns = 0

    # -- begin and end ----------------------------------------------------------------------------

    def __enter__(self) -> Sampling:
        self.begin()
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            self.end()
            return
        with suppress(WanlabError):  # the machine may be gone; the first error is the one to report
            self.end()

    def begin(self) -> None:
        """Begin now; the first sample shows this instant."""
        assert self._watch is None, "it has begun already"
        self._watch = CounterWatch(
            self._network,
            self._sources,
            self._streams,
            self._take,
            every_ns=self._every_ns,
            drain_ns=min(self._every_ns, DRAIN_NS),
        )
        self._offset_ns = self._watch.began_ns - self.began_ns
        streams = iter(self._watch.streams)
        for sampler, count in zip(self._samplers, self._counts, strict=True):
            of_sampler = [next(streams) for _ in range(count)]
            sampler.began(Beginning(self._offset_ns, self._watch.clock_began_ns, of_sampler))

    def end(self) -> None:
        """End now; the last sample shows this instant. If the machine was lost, readings are kept."""
        assert self._watch is not None, "it has not begun"
        watch, self._watch = self._watch, None
        try:
            lost = watch.end()
        except WanlabError:
            self._end_samplers([0] * sum(self._counts))
            raise
        self._end_samplers(lost)

    def _end_samplers(self, losses: Sequence[int]) -> None:
        lost = iter(losses)
        for sampler, count in zip(self._samplers, self._counts, strict=True):
            warnings = sampler.ended([next(lost) for _ in range(count)])
            self._network.add_warnings(warnings)

    def run(
        self,
        until: Process | Sequence[Process] | str | int,
        *,
        progress: Callable[[int], None] | None = None,
    ) -> None:
        """Let time pass and sample, until processes have ended or for a duration."""
        network, end_ns = self._network, None
        if isinstance(until, str | int):
            end_ns = network.now_ns + parse_time(until)
        else:
            processes = [until] if isinstance(until, Process) else list(until)

        def is_over() -> bool:
            if end_ns is not None:
                return network.now_ns >= end_ns
            return not any(process.is_running for process in processes)

        is_ours = self._watch is None
        if is_ours:
            self.begin()
        try:
            while not is_over():
                limits = [end_ns - network.now_ns] if end_ns is not None else []
                if progress is not None:
                    progress(network.now_ns - self.began_ns)
                    limits.append(max(PROGRESS_NS, self._every_ns))
                network.run_until_condition(is_over, min(limits, default=None))
            if progress is not None:
                progress(network.now_ns - self.began_ns)
        finally:
            if is_ours:
                self.end()

    def flush(self) -> None:
        """Pass all readings so far to the samplers, to use them while sampling continues."""
        if self._watch is not None:
            self._watch.flush()

    def sample(self) -> None:
        """Take one sample now."""
        if self._watch is not None:
            self._watch.snapshot()
            return
        time_ns = self._network.now_ns - self.began_ns
        parts = self._network.read([list(source) for source in self._sources])
        for (number, index), part in zip(self._owners, parts, strict=False):
            self._samplers[number].take(Reading(time_ns, index, part))

    def tables(self) -> dict[str, Table]:
        """Return the readings as tables. A sampler that read nothing has no table."""
        tables: dict[str, Table] = {}
        for sampler in self._samplers:
            for name, table in sampler.tables().items():
                tables[name] = together(tables[name], table) if name in tables else table
        return tables

    def _take(self, position: int, time_ns: int, data: bytes) -> None:
        number, index = self._owners[position]
        self._samplers[number].take(Reading(self._offset_ns + time_ns, index, data))


def sample(
    network: Network,
    *samplers: Sampler,
    every: str | int = "10ms",
    until: Process | Sequence[Process] | str | int,
    progress: Callable[[int], None] | None = None,
) -> dict[str, Table]:
    """Sample until processes have ended, or for a duration; return the tables."""
    sampling = Sampling(network, samplers, every=every)
    sampling.run(until, progress=progress)
    return sampling.tables()
