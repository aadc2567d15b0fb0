"""Recording a run, and laying records side by side. A record is a folder of `records/`."""

from __future__ import annotations

import contextlib
import json
import re
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from wanlab import Flows, Network, Ports, Queues, Record, Sampling
from wanlab.errors import WanlabError

from .folder import WorkingFolder
from .protocol import ComparedColumn, Comparison, RecordInfo, RecordsPush

FOLDER = "records"
INDEX = "provenance.json"
EVERY = "20ms"
PIXELS = 500
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._ -]{0,60}")


class Recorder:
    """Keeps what all ports, queues and TCP flows of a network do. In the network's thread."""

    def __init__(self, network: Network, drawing: str) -> None:
        self._drawing = drawing
        ports = [str(port.name) for link in network.topology.links for port in link.ports]
        hosts = [host.name for host in network.topology.hosts if not host.in_root]
        samplers: list[Any] = [Ports(*ports), Queues(*ports)] if ports else []
        samplers += [Flows(*hosts)] if hosts else []
        if not samplers:
            raise WanlabError("there is nothing to record: the network has no links")
        self._began_ns = network.now_ns
        self._commands_before = len(network.commands)
        self._sampling = Sampling(network, samplers, every=EVERY)
        self._sampling.begin()

    def end(self, network: Network) -> Record:
        """What was recorded."""
        self._sampling.end()
        commands = network.commands[self._commands_before :]
        seconds = (network.now_ns - self._began_ns) / 1e9
        origin = network.provenance(
            commands=commands, parameters={"seconds": seconds, "drawing": self._drawing}
        )
        return Record(origin, self._sampling.tables(), {})


class Records:
    """Those that there are."""

    def __init__(self, folder: WorkingFolder, tell: Callable[[RecordsPush], None]) -> None:
        self._folder = folder
        self._tell = tell
        self.recording: str | None = None
        self._recorder: Recorder | None = None

    def told(self) -> RecordsPush:
        return RecordsPush(records=tuple(self._infos()), recording=self.recording)

    def _infos(self) -> list[RecordInfo]:
        place = self._folder.place / FOLDER
        found = []
        for one in sorted(place.iterdir()) if place.is_dir() else ():
            if (one / INDEX).is_file() and NAME.fullmatch(one.name):
                found.append(_info(one))
        return found

    def _place(self, name: str) -> Path:
        if not NAME.fullmatch(name):
            raise WanlabError(f'"{name}" cannot be a record\'s name', "letters and digits serve")
        return self._folder.resolve(f"{FOLDER}/{name}")

    def begin(self, name: str) -> str:
        """The name of a record that is to be made."""
        if self.recording is not None:
            raise WanlabError(f"{self.recording} is being recorded already")
        numbers = range(1, 10_000)
        name = name.strip() or next(
            one for n in numbers if not self._place(one := f"run-{n}").exists()
        )
        if self._place(name).exists():
            raise WanlabError(f"there is a record {name}", "choose another name")
        return name

    def has_begun(self, name: str, recorder: Recorder) -> None:
        self.recording, self._recorder = name, recorder
        self._tell(self.told())

    @property
    def recorder(self) -> Recorder:
        if self._recorder is None:
            raise WanlabError("nothing is being recorded")
        return self._recorder

    def keep(self, made: Record) -> str:
        """Writes what was recorded."""
        from wanlab import record

        assert self.recording is not None
        name = self.recording
        record.write(made, self._place(name))
        return name

    def has_ended(self) -> None:
        self.recording, self._recorder = None, None
        self._tell(self.told())

    def drop(self, name: str) -> None:
        place = self._place(name)
        if not (place / INDEX).is_file():
            raise WanlabError(f"there is no record {name}")
        shutil.rmtree(place)
        self._tell(self.told())

    def compare(self, names: tuple[str, ...]) -> Comparison:
        """The usual quantities of records, with a line for each of their curves."""
        from wanlab import plot, record

        runs = {name: record.read(self._place(name)) for name in dict.fromkeys(names)}
        if not runs:
            return Comparison({})
        panels: dict[str, tuple[ComparedColumn, ...]] = {}
        for panel in plot.quantities.panels(runs):
            columns = []
            for line in panel.lines:
                times, values = plot.decimate(line.times_s, line.values, PIXELS)
                owner = next((name for name in runs if line.label.startswith(name)), "")
                owner = owner or next(iter(runs))
                columns.append(
                    ComparedColumn(
                        owner,
                        line.label or panel.title,
                        panel.unit,
                        tuple(times.round(6).tolist()),
                        tuple(None if v != v else v for v in values.tolist()),
                    )
                )
            panels[panel.title] = tuple(columns)
        return Comparison(panels)


def _info(place: Path) -> RecordInfo:
    about: dict[str, Any] = {}
    with contextlib.suppress(OSError, ValueError):
        about = json.loads((place / INDEX).read_text(encoding="utf-8"))
    origin = about.get("provenance", {})
    parameters = origin.get("parameters", {})
    try:
        made_at_s = place.stat().st_mtime
    except OSError:
        made_at_s = time.time()
    return RecordInfo(
        place.name,
        made_at_s,
        float(parameters.get("seconds") or 0),
        str(parameters.get("drawing", "")),
    )
