"""One execution of an experiment: what its function is given, and the record that it leaves.

with run.network(topology) as net:          the seed is the run's, programs share run.folder
    ...
    run.sample(Queues("s1-eth2"), until=flow)    tables go into the record
run.metric("goodput", 95.3, "Mbit/s")            one number with its unit
run.keep("iperf3.json", flow.output_bytes)       a raw output, or a table
"""

from __future__ import annotations

import contextlib
import math
import random
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

from wanlab.errors import WanlabError, did_you_mean
from wanlab.measure import Sampling
from wanlab.measure.metrics import Metric
from wanlab.measure.readings import Sampler
from wanlab.network import Network, Process
from wanlab.record import Provenance, Record, Table
from wanlab.topology import Topology
from wanlab.units import parse_rate, parse_size, parse_time

from .design import Parameters, Value

GUEST_FOLDER = "/run/experiment"
"""Where programs find the run's folder: the same in every run, so that its name changes nothing."""
METRICS = "metrics"
_BDP = re.compile(r"\s*(\d+(?:\.\d+)?)\s*(?:bdp|BDP)\s*")
_NAME = re.compile(r"[a-z][a-z0-9_]*")


class Run:
    """Given to the experiment's function. It has one network, and what it keeps becomes one record."""

    def __init__(
        self,
        experiment: str,
        parameters: Parameters,
        seed: int,
        folder: Path,
        *,
        files: Sequence[str] = (),
    ) -> None:
        self.experiment = experiment
        self.parameters: dict[str, Value] = dict(parameters)
        self.seed = seed
        self.folder = folder
        """Its own: programs in the network start in it. At first it has the files that the experiment
        names; what is in it is thrown away at the end, unless `keep` has taken it."""
        self.random = random.Random(seed)
        """For what the experiment draws by itself."""
        self.metrics: dict[str, Metric] = {}
        self._files = tuple(files)
        self._tables: dict[str, Table] = {}
        self._raw: dict[str, bytes] = {}
        self._samplings: list[Sampling] = []
        self._network: Network | None = None
        self._origin: Provenance | None = None

    # -- what the function does -------------------------------------------------------------------

    @contextmanager
    def network(self, topology: Topology, **options: Any) -> Iterator[Network]:
        """The run's network, live. Options are those of `Network` but seed and folder."""
        if self._network is not None:
            raise WanlabError("a run has one network", "make two experiments of it")
        if odd := {"seed", "folder", "guest_folder"} & set(options):
            raise WanlabError(
                f"{', '.join(sorted(odd))}: the run chooses it", "leave it out of run.network(...)"
            )
        seed = None if options.get("machine") == "native" else self.seed
        made = Network(
            topology, seed=seed, folder=self.folder, guest_folder=GUEST_FOLDER, **options
        )
        with made as net:
            self._network = net
            yield net
            for sampling in self._samplings:
                self._add_tables(sampling.tables())
            self._origin = net.provenance(parameters=self.parameters)

    def sample(
        self,
        *samplers: Sampler,
        every: str | int = "10ms",
        until: Process | Sequence[Process] | str | int,
    ) -> Mapping[str, Table]:
        """Lets time pass and samples, until processes have ended or for a duration; keeps the tables."""
        sampling = Sampling(self._live(), samplers, every=every)
        sampling.run(until)
        tables = sampling.tables()
        self._add_tables(tables)
        return tables

    @contextmanager
    def sampling(self, *samplers: Sampler, every: str | int = "10ms") -> Iterator[Sampling]:
        """Samples while the block lets time pass; the tables are kept."""
        with Sampling(self._live(), samplers, every=every) as sampling:
            self._samplings.append(sampling)
            yield sampling

    def metric(self, name: str, value: float, unit: str = "") -> None:
        """Notes a number: the results of a sweep have a column for each."""
        if not _NAME.fullmatch(name):
            raise WanlabError(
                f"{name!r} cannot be the name of a metric", "small letters, digits and _: goodput"
            )
        if name in self.parameters or name in ("run", "seed"):
            raise WanlabError(f"{name!r} is a parameter, and cannot be a metric", "rename one")
        if name in self.metrics:
            raise WanlabError(f"the metric {name!r} is given twice", "rename one")
        try:
            number = float(value)
        except (TypeError, ValueError):
            number = math.inf
        if math.isinf(number):
            raise WanlabError(f"the metric {name} cannot be {value!r}", "it is one finite number")
        self.metrics[name] = Metric(number, unit)

    def keep(self, name: str, thing: Table | bytes | str | Path) -> None:
        """Puts a table, a raw output, or a file of the run's folder (a Path) into the record."""
        if isinstance(thing, Table):
            self._add_tables({name: thing})
            return
        if isinstance(thing, Path):
            path = self.folder / thing
            try:
                thing = path.read_bytes()
            except OSError as error:
                raise WanlabError(f"cannot keep {path.name}: {error.strerror}") from None
        if name in self._raw:
            raise WanlabError(f"{name} is kept twice", "rename one")
        self._raw[name] = thing.encode() if isinstance(thing, str) else thing

    def file(self, name: str) -> Path:
        """A file that stands beside the experiment and that it names in `files`: a topology, a trace, a
        script. Programs find it by its name, where they start."""
        if name not in self._files:
            raise WanlabError(
                f"the experiment has no file {name!r}",
                f'name it, so that it counts and travels: @experiment(files=["{name}"])',
            )
        return self.folder / name

    def buffer_bytes(
        self, size: str | int, *, rate: str | int, rtt: str | int, least: int = 3028
    ) -> int:
        """Bytes of "2bdp", so many products of rate and RTT, or of "64KB". A buffer holds two packets at
        least."""
        match = _BDP.fullmatch(size) if isinstance(size, str) else None
        if match is None:
            return parse_size(size)
        bits = Fraction(match[1]) * parse_rate(rate) * parse_time(rtt) / 10**9
        return max(round(bits / 8), least)

    # -- what becomes of it -----------------------------------------------------------------------

    @property
    def warnings(self) -> tuple[str, ...]:
        return self._origin.warnings if self._origin else ()

    def record(self) -> Record:
        """What was measured, with its origin; the metrics are a table of it."""
        if self._origin is None:
            raise WanlabError(
                f"{self.experiment} has made no network", "with run.network(topology) as net: ..."
            )
        settings = {**self._origin.settings, "experiment": self.experiment}
        origin = replace(self._origin, settings=settings)
        return Record(origin, {**self._tables, METRICS: self._metrics_table()}, self._raw)

    def _metrics_table(self) -> Table:
        return Table.of(
            {
                "name": list(self.metrics),
                "value": [metric.value for metric in self.metrics.values()],
                "unit": [metric.unit for metric in self.metrics.values()],
            },
            {"unit": ""},
        )

    def _add_tables(self, tables: Mapping[str, Table]) -> None:
        for name, table in tables.items():
            if name in self._tables or name == METRICS:
                raise WanlabError(
                    f"the table {name!r} is kept twice", "rename one, or sample once for all"
                )
            self._tables[name] = table

    def _live(self) -> Network:
        if self._network is None:
            raise WanlabError("there is no network yet", "inside `with run.network(...) as net:`")
        return self._network


def check_parameters(known: Parameters, given: Parameters, experiment: str) -> dict[str, Value]:
    """All parameters with their values; texts become what the defaults are."""
    for name in given:
        if name not in known:
            raise WanlabError(f"{experiment} has no parameter {name!r}", did_you_mean(name, known))
    return {name: _like(name, given.get(name, value), value) for name, value in known.items()}


def _like(name: str, value: Value, default: Value) -> Value:
    """A value of the same type as the default."""
    if isinstance(default, bool):
        words = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
        if isinstance(value, bool):
            return value
        if str(value).lower() in words:
            return words[str(value).lower()]
    elif isinstance(default, str):
        return str(value)
    elif not isinstance(value, bool):
        # As numbers are written: `--set seconds=2.5` may stand where the default is 2.
        whole = isinstance(default, int) and not isinstance(value, float)
        for number in (int, float) if whole else (float,):
            with contextlib.suppress(ValueError):
                return number(value)
    kind = type(default).__name__
    raise WanlabError(
        f"{name}={value} is not of the kind that {name} is", f"it is a {kind}, as {default}"
    )
