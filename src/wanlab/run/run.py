"""One execution of an experiment: the argument of its function, and the record that it leaves.

with run.network(topology) as net:               booted with the run's seed
    ...
    run.sample(Queues("s1-eth2"), until=flow)    keeps the tables in the record
run.metric("goodput", 95.3, "Mbit/s")            one number with its unit
run.keep("iperf3.json", flow.output_bytes)       raw output, or a table
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
from wanlab.input_file import read_input
from wanlab.measure import Sampling
from wanlab.measure.metrics import Metric
from wanlab.measure.readings import Sampler
from wanlab.network import (
    NO_CHOICE,
    MachineChoice,
    Network,
    Process,
    computing_real_s,
    computing_warnings,
)
from wanlab.record import Provenance, Record, Table
from wanlab.shared_folder import SharedFolder, file_error
from wanlab.topology import Topology
from wanlab.units import parse_rate, parse_size, parse_time

from .design import Parameters, Value

GUEST_FOLDER = "/run/experiment"
"""Where programs find the run's folder: the same in every run, so that no result depends on its name."""
KERNEL = "kernel"
"""Every experiment has this parameter: the name or folder of the kernel that the run boots. The function
need not have it. If it is not set, the run boots the default kernel."""
CPU = "cpu"
"""Every experiment has this parameter, too: the processor of hosts and routers. If it is set and the
function does not have it, it replaces the processor that the function names."""
COMMON_PARAMETERS = (KERNEL, CPU)
METRICS = "metrics"
MIN_BUFFER_BYTES = 3028
MAX_KEPT_BYTES = 256 << 20
"""Of one file of a run that is kept in its record."""
"""Two Ethernet frames of 1514 bytes."""
_BDP = re.compile(r"\s*(\d+(?:\.\d+)?)\s*(?:bdp|BDP)\s*")
_NAME = re.compile(r"[a-z][a-z0-9_]*")


class Run:
    """The argument of an experiment's function. It has one network, and leaves one record."""

    def __init__(
        self,
        experiment: str,
        parameters: Parameters,
        seed: int,
        folder: Path,
        *,
        files: Sequence[str] = (),
        choice: MachineChoice = NO_CHOICE,
        cpu: Mapping[str, object] | None = None,
        replaces_cpu: bool = False,
    ) -> None:
        self.experiment = experiment
        self.parameters: dict[str, Value] = dict(parameters)
        self.seed = seed
        self.folder = folder
        """The working directory of programs in the network. At first it holds the files that the
        experiment names. It is deleted at the end, so use `keep` for output that matters."""
        self.random = random.Random(seed)
        """For random choices of the experiment itself."""
        self.metrics: dict[str, Metric] = {}
        self._files = tuple(files)
        self._choice = choice
        self._cpu = cpu
        self._replaces_cpu = replaces_cpu
        self._tables: dict[str, Table] = {}
        self._raw: dict[str, bytes] = {}
        self._samplings: list[Sampling] = []
        self._network: Network | None = None
        self._provenance: Provenance | None = None
        self.computing_real_s: dict[str, float] = {}
        """For how many seconds of real time the programs of each node have computed."""
        self.computing_warnings: tuple[str, ...] = ()

    # -- for the experiment's function ------------------------------------------------------------

    @contextmanager
    def network(self, topology: Topology, **options: Any) -> Iterator[Network]:
        """Run a network. The options are those of `Network`, except its seed and its folders.

        It boots the kernel that the run's parameter `kernel` names, if it has one, otherwise the one
        that the user has chosen. Likewise, its nodes have the processor that the parameter `cpu` names.

        Raises WanlabError for a second network.
        """
        if self._network is not None:
            raise WanlabError("a run has only one network", "split it into two experiments")
        if fixed := {"seed", "folder", "guest_folder"} & set(options):
            raise WanlabError(
                f"the run itself chooses {', '.join(sorted(fixed))}",
                "leave it out of run.network(...)",
            )
        chosen = {
            "kernel": str(self.parameters.get(KERNEL, "")) or self._choice.kernel,
            "traps": self._choice.traps,
            "cpu": self._cpu or None,
            **options,
        }
        if self._replaces_cpu:
            chosen["cpu"] = self._cpu
        network = Network(
            topology, seed=self.seed, folder=self.folder, guest_folder=GUEST_FOLDER, **chosen
        )
        with network as net:
            self._network = net
            yield net
            for sampling in self._samplings:
                self._add_tables(sampling.tables())
            self._provenance = net.provenance(parameters=self.parameters)
            self.computing_real_s = computing_real_s(net)
            self.computing_warnings = tuple(computing_warnings(self.computing_real_s, net.now_ns))

    def sample(
        self,
        *samplers: Sampler,
        every: str | int = "10ms",
        until: Process | Sequence[Process] | str | int,
    ) -> Mapping[str, Table]:
        """Let time pass and sample, until processes have ended or for a duration; keep the tables."""
        sampling = Sampling(self._live(), samplers, every=every)
        sampling.run(until)
        tables = sampling.tables()
        self._add_tables(tables)
        return tables

    @contextmanager
    def sampling(self, *samplers: Sampler, every: str | int = "10ms") -> Iterator[Sampling]:
        """Sample while the block lets time pass, and keep the tables."""
        with Sampling(self._live(), samplers, every=every) as sampling:
            self._samplings.append(sampling)
            yield sampling

    def metric(
        self,
        name: str,
        value: float,
        unit: str = "",
        *,
        least: float | None = None,
        most: float | None = None,
    ) -> None:
        """Set a metric; the table of a sweep has a column for each.

        `value` is finite, or NaN if it could not be measured. `least` and `most` are the bounds of
        possible values, such as the rate of the link. Figures clip confidence bands there.
        """
        if not _NAME.fullmatch(name):
            raise WanlabError(
                f"{name!r} cannot be the name of a metric",
                "use lower-case letters, digits and _, as in goodput_mean",
            )
        if name in self.parameters or name in ("run", "seed"):
            raise WanlabError(
                f"{name!r} is a parameter, so it cannot be a metric too", "rename one"
            )
        if name in self.metrics:
            raise WanlabError(f"the metric {name!r} is set twice", "rename one")
        try:
            number = float(value)
        except (TypeError, ValueError):
            number = math.inf
        if math.isinf(number):
            raise WanlabError(f"the metric {name} must be a finite number, not {value!r}")
        self.metrics[name] = Metric(number, unit, least, most)

    def keep(self, name: str, content: Table | bytes | str | Path) -> None:
        """Put a table, raw output, or a file of the run's folder (a Path) into the record."""
        if isinstance(content, Table):
            self._add_tables({name: content})
            return
        if isinstance(content, Path):
            content = self._content_of(self.folder / content)
        if name in self._raw:
            raise WanlabError(f"{name} is kept twice", "rename one")
        self._raw[name] = content.encode() if isinstance(content, str) else content

    def _content_of(self, path: Path) -> bytes:
        """Read a file. In the run's folder, a program may have put a link or a FIFO in its place."""
        if not path.is_relative_to(self.folder):
            return read_input(path, max_bytes=MAX_KEPT_BYTES)
        shared = SharedFolder(self.folder)
        try:
            return shared.read(str(path.relative_to(self.folder)), MAX_KEPT_BYTES)
        except OSError as error:
            raise file_error("keep", path.name, error) from None

    def file(self, name: str) -> Path:
        """Return the path of a file that the experiment names in `files`: a topology, a trace, a script.

        Programs in the network find it by its name in their working directory.
        """
        if name not in self._files:
            raise WanlabError(
                f"the experiment has no file {name!r}",
                f'name it in the decorator: @experiment(files=["{name}"])',
            )
        return self.folder / name

    def buffer_bytes(
        self,
        size: str | int,
        *,
        rate: str | int,
        rtt: str | int,
        least: int = MIN_BUFFER_BYTES,
    ) -> int:
        """Return a buffer size in bytes: "2bdp" is twice the product of rate and RTT.

        A size in BDP becomes at least `least` bytes. A size such as "64KB" is returned unchanged.
        """
        match = _BDP.fullmatch(size) if isinstance(size, str) else None
        if match is None:
            try:
                return parse_size(size)
            except WanlabError as error:
                raise WanlabError(
                    error.what, f'{error.hint}; or as bandwidth-delay products: "2bdp"'
                ) from None
        bits = Fraction(match[1]) * parse_rate(rate) * parse_time(rtt) / 10**9
        return max(round(bits / 8), least)

    # -- the record ------------------------------------------------------------------------------

    @property
    def warnings(self) -> tuple[str, ...]:
        return self._provenance.warnings if self._provenance else ()

    def record(self) -> Record:
        """Return the record of the run; the metrics are one of its tables.

        Raises WanlabError if the experiment has not run a network.
        """
        if self._provenance is None:
            raise WanlabError(
                f"{self.experiment} has run no network", "with run.network(topology) as net: ..."
            )
        settings = {**self._provenance.settings, "experiment": self.experiment}
        provenance = replace(self._provenance, settings=settings)
        return Record(provenance, {**self._tables, METRICS: self._metrics_table()}, self._raw)

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
            raise WanlabError(
                "there is no network yet", "sample inside `with run.network(...) as net:`"
            )
        return self._network


def check_parameters(defaults: Parameters, chosen: Parameters, experiment: str) -> dict[str, Value]:
    """Return all parameters with their values; strings are converted to the types of the defaults.

    Raises WanlabError for a parameter without a default and for a value of another type.
    """
    for name in chosen:
        if name not in defaults:
            raise WanlabError(
                f"{experiment} has no parameter {name!r}", did_you_mean(name, defaults)
            )
    return {
        name: _converted(name, chosen.get(name, default), default)
        for name, default in defaults.items()
    }


def _converted(name: str, value: Value, default: Value) -> Value:
    """Return the value with the type of the default."""
    if isinstance(default, bool):
        words = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
        if isinstance(value, bool):
            return value
        if str(value).lower() in words:
            return words[str(value).lower()]
    elif isinstance(default, str):
        return str(value)
    elif not isinstance(value, bool):
        # `--set seconds=2.5` is allowed where the default is 2.
        whole = isinstance(default, int) and not isinstance(value, float)
        for number in (int, float) if whole else (float,):
            with contextlib.suppress(ValueError, OverflowError):
                converted = number(value)
                if math.isfinite(converted):
                    return converted
    article = "an" if isinstance(default, int) and not isinstance(default, bool) else "a"
    raise WanlabError(
        f"{name}={value}: {name} must be {article} {type(default).__name__}",
        f"its default is {default}",
    )
