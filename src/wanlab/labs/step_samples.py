"""Samples taken while a step runs, and the part of them that the step's record keeps.

A queue is sampled where a metric of the step needs it. A step's `record` names all sources of a
record that the unit wants to keep.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TypeAlias

from wanlab import Flows, Network, Queues, Record, Sampling, iperf3, ping
from wanlab.errors import WanlabError
from wanlab.measure import iperf3_text
from wanlab.measure.metrics import StepOutput, last_ping, sampled_port
from wanlab.record import Table

from .sources import IPERF3, PING, QUEUE, SAMPLED, TCP, RecordSource, parse_source
from .unit import Recording, Step

EVERY = "10ms"

Tables: TypeAlias = dict[str, Table]
QueueTables: TypeAlias = dict[str, Table]
"""The table "qdisc" of each port."""


@dataclass(frozen=True)
class StepRecord:
    """A record of a step, and how to draw it."""

    name: str
    """Its folder among the results."""
    title: str
    record: Record
    limit_bytes: int | None = None
    """The queue's limit."""
    is_requested: bool = False
    """Whether the unit asks for the record itself, rather than only for a number computed from it."""


class StepSampling:
    """Samples from the beginning of a step to its end."""

    def __init__(self, network: Network, step: Step, sources: Sequence[RecordSource]) -> None:
        self.step = step
        self.ports = [source.argument for source in sources if source.kind == QUEUE]
        hosts = [source.argument for source in sources if source.kind == TCP]
        samplers: list[Queues | Flows] = [Queues(*self.ports)] if self.ports else []
        samplers += [Flows(*hosts)] if hosts else []
        self._sampling = Sampling(network, samplers, every=EVERY)
        self._sampling.begin()
        self._final: Tables | None = None

    def end(self) -> None:
        """Stop sampling."""
        self._sampling.end()
        self._final = self._sampling.tables()

    def tables(self) -> Tables:
        """Return the samples so far, or until the end."""
        return dict(self._sampling.tables() if self._final is None else self._final)

    def queues(self) -> QueueTables:
        """Return the table "qdisc" of each port."""
        table = self.tables().get("qdisc")
        if table is None:
            return {}
        if len(self.ports) == 1:
            return {self.ports[0]: table}
        return {port: table.where(device=port) for port in self.ports}


class StepRecords:
    """The measurements of the steps of one run."""

    def __init__(self) -> None:
        self.records: list[StepRecord] = []
        self._running: dict[int, StepSampling] = {}
        self._ended: dict[int, StepSampling] = {}

    def begin(self, network: Network, step: Step, later: Iterable[Step] = ()) -> None:
        """Start sampling the sources that the step needs, if there are any."""
        if sources := sampled_sources(step, later):
            self._running[id(step)] = StepSampling(network, step, sources)

    def queues_so_far(self, step: Step) -> QueueTables:
        """Return the samples of a step that is still running."""
        sampling = self._running.get(id(step))
        return sampling.queues() if sampling is not None else {}

    def end(self, step: Step, earlier: Iterable[Step]) -> QueueTables:
        """Stop sampling; return the samples of queues.

        For a step that ends the command of an `earlier` step, these are the earlier step's samples.
        """
        sampling = self._running.pop(id(step), None)
        if sampling is not None:
            sampling.end()
            self._ended[id(step)] = sampling
            return sampling.queues()
        if name := step.stops or step.ends:
            for other in reversed(list(earlier)):
                if other.starts == name:
                    step = other
                    break
        sampling = self._ended.get(id(step))
        return sampling.queues() if sampling is not None else {}

    def keep(
        self, network: Network, step: Step, step_output: StepOutput, commands: Sequence[str]
    ) -> None:
        """Keep the record of a step that has ended, with the commands that led to it."""
        sampling = self._ended.get(id(step))
        tables = sampling.tables() if sampling is not None else {}
        raw: dict[str, bytes] = {}
        if step.record is not None:
            read_tables, raw = read_sources(step.record, step_output)
            tables |= read_tables
        if tables:
            provenance = network.provenance(commands=commands, parameters={"step": step.n})
            self._add(step, Record(provenance, tables, raw))

    def end_all(self, network: Network) -> None:
        """Keep the samples of steps that have not ended."""
        for key, sampling in list(self._running.items()):
            del self._running[key]
            with suppress(WanlabError):
                sampling.end()
            if tables := sampling.tables():
                provenance = network.provenance(
                    parameters={"step": sampling.step.n, "interrupted": True}
                )
                self._add(sampling.step, Record(provenance, tables), "-interrupted")

    def _add(self, step: Step, record: Record, suffix: str = "") -> None:
        name = f"step-{step.n}"
        if step.record is None:
            self.records.append(StepRecord(f"{name}{suffix}", name, record))
            return
        recording = step.record
        self.records.append(
            StepRecord(
                f"{recording.name}{suffix}",
                recording.title,
                record,
                recording.limit_bytes,
                is_requested=True,
            )
        )


def sampled_sources(step: Step, later: Iterable[Step]) -> list[RecordSource]:
    """Return the sources to sample from the beginning of a step on.

    For a step that leaves a command running, these include the sources of the step that ends it.
    """
    steps = [step]
    if step.starts:
        steps += [other for other in later if step.starts in (other.stops, other.ends)][:1]
    ports = [sampled_port(expected.metric) for other in steps for expected in other.expect]
    sources = [RecordSource(QUEUE, port) for port in ports if port]
    if step.record is not None:
        sources += [s for s in map(parse_source, step.record.sources) if s.kind in SAMPLED]
    return list(dict.fromkeys(sources))


def read_sources(recording: Recording, step_output: StepOutput) -> tuple[Tables, dict[str, bytes]]:
    """Return tables and raw outputs of the sources that are read rather than sampled."""
    tables: Tables = {}
    raw: dict[str, bytes] = {}
    for kind, argument in map(parse_source, recording.sources):
        if kind == IPERF3 and argument:
            data = step_output.read_file(argument)
            raw[argument.rpartition("/")[2]] = data
            tables["iperf3"] = iperf3.parse(data).table()
        elif kind == IPERF3:
            raw["iperf3.txt"] = step_output.output.encode()
            tables["iperf3"] = _intervals(step_output.output)
        elif kind == PING:
            text = last_ping(step_output.output)
            raw["ping.txt"] = text.encode()
            tables["ping"] = ping.parse(text).table()
    return tables, raw


def _intervals(text: str) -> Table:
    """Return the intervals that iperf3 printed, in the form of its JSON."""
    return Table.from_rows(
        [
            {
                "start_s": line.start_s,
                "end_s": line.end_s,
                "stream": int(line.stream),
                "bytes": line.bytes,
                "bits_per_second": line.bits_per_second,
                "retransmits": line.retransmits,
                "snd_cwnd_bytes": line.cwnd_bytes,
            }
            for line in iperf3_text.parse(text)
            if not line.role and line.stream != "SUM"
        ],
        {"bits_per_second": "bit/s"},
    )
