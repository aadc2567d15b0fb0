"""Record a run, and compare records. A record is a folder in `records/`."""

from __future__ import annotations

import contextlib
import os
import re
import stat
from collections.abc import Callable
from pathlib import Path

import msgspec

from wanlab import Flows, Network, Ports, Queues, Record, Sampling
from wanlab.errors import WanlabError
from wanlab.json_text import decode_json
from wanlab.shared_folder import SharedFolder

from ..folder import WorkingFolder
from ..protocol.messages import ComparedColumn, Comparison, RecordInfo, RecordsPush

FOLDER = "records"
INDEX = "provenance.json"
INTERVAL = "20ms"
MAX_POINTS = 500
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._ -]{0,60}")


class _Parameters(msgspec.Struct):
    seconds: float | None = None
    drawing: str = ""


class _Provenance(msgspec.Struct):
    parameters: _Parameters = msgspec.field(default_factory=_Parameters)


class _Index(msgspec.Struct):
    """The parts of a record's index that browsers show."""

    provenance: _Provenance = msgspec.field(default_factory=_Provenance)


INDEX_DECODER = msgspec.json.Decoder(_Index)


class Recorder:
    """Samples all ports, queues and TCP flows of a network. Lives in the network's thread."""

    def __init__(self, network: Network, document_name: str) -> None:
        self._document_name = document_name
        ports = [str(port.name) for link in network.topology.links for port in link.ports]
        hosts = [host.name for host in network.topology.hosts if not host.in_root]
        samplers: list[Flows | Ports | Queues] = [Ports(*ports), Queues(*ports)] if ports else []
        samplers += [Flows(*hosts)] if hosts else []
        if not samplers:
            raise WanlabError("there is nothing to record: the network has no links")
        self._began_ns = network.now_ns
        self._commands_before = len(network.commands)
        self._sampling = Sampling(network, samplers, every=INTERVAL)
        self._sampling.begin()

    def end(self, network: Network) -> Record:
        """Stop sampling and return the record."""
        self._sampling.end()
        commands = network.commands[self._commands_before :]
        seconds = (network.now_ns - self._began_ns) / 1e9
        origin = network.provenance(
            commands=commands, parameters={"seconds": seconds, "drawing": self._document_name}
        )
        return Record(origin, self._sampling.tables(), {})


class Records:
    """The records in the working folder, and the one that is being made."""

    def __init__(self, folder: WorkingFolder, push: Callable[[RecordsPush], None]) -> None:
        self._folder = folder
        self._push = push
        self.recording: str | None = None
        self._recorder: Recorder | None = None

    def snapshot(self) -> RecordsPush:
        """Return the records as browsers list them."""
        return RecordsPush(records=tuple(self._infos()), recording=self.recording)

    def _infos(self) -> list[RecordInfo]:
        folder = self._folder.shared.subfolder(FOLDER)
        try:
            entries = folder.entries()
        except OSError:
            return []
        return [
            _info(folder.subfolder(name), status)
            for name, status in entries
            if NAME.fullmatch(name) and folder.has_file(f"{name}/{INDEX}")
        ]

    def _record(self, name: str) -> SharedFolder:
        if not NAME.fullmatch(name):
            raise WanlabError(
                f'"{name}" cannot be the name of a record',
                "begin with a letter or digit; then . _ - and spaces may follow, up to 61 characters",
            )
        return self._folder.shared.subfolder(f"{FOLDER}/{name}")

    def _is_used(self, name: str) -> bool:
        return self._record(name).parent.exists(name)

    def begin(self, name: str) -> str:
        """Return the name for a new record; without one, the first free "run-N"."""
        if self.recording is not None:
            raise WanlabError(f"the record {self.recording} is already being made", "stop it first")
        numbers = range(1, 10_000)
        name = name.strip() or next(free for n in numbers if not self._is_used(free := f"run-{n}"))
        if self._is_used(name):
            raise WanlabError(f"a record named {name} already exists", "choose another name")
        return name

    def set_recorder(self, name: str, recorder: Recorder) -> None:
        """Note that a record is being made."""
        self.recording, self._recorder = name, recorder
        self._push(self.snapshot())

    @property
    def recorder(self) -> Recorder:
        """The recorder. WanlabError if nothing is being recorded."""
        if self._recorder is None:
            raise WanlabError("nothing is being recorded")
        return self._recorder

    def keep(self, made: Record) -> str:
        """Write the record that was made, and return its name."""
        from wanlab import record

        assert self.recording is not None
        name = self.recording
        record.write(made, self._record(name).path, working_folder=self._folder.path)
        return name

    def end(self) -> None:
        """Note that no record is being made."""
        self.recording, self._recorder = None, None
        self._push(self.snapshot())

    def delete(self, name: str) -> None:
        """Delete a record."""
        folder = self._record(name)
        if not folder.has_file(INDEX):
            raise WanlabError(f"there is no record named {name}")
        folder.parent.remove_tree(name)
        self._push(self.snapshot())

    def _checked(self, name: str) -> Path:
        """Return the path of a record. UnsafeFileError if a part of it is a link, or a FIFO."""
        folder = self._record(name)
        if not folder.has_folder():
            raise WanlabError(f"there is no record named {name}")
        for part, status in folder.walk():
            if not stat.S_ISDIR(status.st_mode):
                folder.check(part)
        return folder.path

    def compare(self, names: tuple[str, ...]) -> Comparison:
        """Return the usual quantities of records, a panel each, with all curves of all records."""
        from wanlab import plot, record

        runs = {name: record.read(self._checked(name)) for name in dict.fromkeys(names)}
        if not runs:
            return Comparison({})
        panels: dict[str, tuple[ComparedColumn, ...]] = {}
        for panel in plot.quantities.panels(runs):
            columns = []
            for line in panel.lines:
                times, values = plot.decimate(line.times_s, line.values, MAX_POINTS)
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


def _info(folder: SharedFolder, status: os.stat_result) -> RecordInfo:
    index = _Index()
    with contextlib.suppress(OSError, WanlabError):
        index = decode_json(folder.read(INDEX), INDEX_DECODER)
    parameters = index.provenance.parameters
    return RecordInfo(
        folder.path.name,
        status.st_mtime,
        float(parameters.seconds or 0),
        parameters.drawing,
    )
