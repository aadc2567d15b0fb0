"""Sample the queues of ports: every qdisc and class, and the counters of single kinds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from wanlab.netlink import framing, qdisc_dump, queue_state
from wanlab.netlink.qdisc import CLASS_ROW, ROW, QdiscCounters
from wanlab.netlink.structure import Structure
from wanlab.network import Network
from wanlab.record import Table

from .columns import Rows, Structures, columns_of
from .readings import Readings, Source, interface_numbers

STATE_KEYS = ("time_ns", "device", "handle")
"""The columns that identify a row of the tables of single kinds."""


class Queues(Readings):
    """Sample backlog, drops and marks of each qdisc at some ports, into table "qdisc".

    Counters that only one kind has are in a table of that kind, such as "qdisc_codel". Classes (HTB,
    HFSC, DRR, QFQ) are in "class" and "class_htb", ...

    flows: also sample the classes of SFQ and FQ_CoDel, which are their current flows.
    """

    def __init__(self, *ports: str, flows: bool = False) -> None:
        super().__init__()
        self._ports = ports
        self._kinds = [*queue_state.CLASSFUL, *(queue_state.WITH_FLOWS if flows else ())]
        self._devices: dict[str, dict[int, str]] = {}

    def prepare(self, network: Network) -> None:
        self._devices = interface_numbers(network, self._ports)

    def sources(self) -> list[Source]:
        return [
            ["queues", node, list(devices), self._kinds] for node, devices in self._devices.items()
        ]

    def tables(self) -> dict[str, Table]:
        tables = _Tables()
        devices = list(self._devices.values())
        for time_ns, index, part in self.readings:
            for kind, message in framing.dumps(part):
                device = devices[index].get(qdisc_dump.interface_of(message))
                if device is None:
                    continue
                if kind == qdisc_dump.RTM_NEWTCLASS:
                    if counters := qdisc_dump.read_class(message, device):
                        tables.add_class(time_ns, counters)
                else:
                    tables.add_qdisc(time_ns, qdisc_dump.read_qdisc(message, device))
        return dict(tables.made())


class _Tables:
    def __init__(self) -> None:
        self._qdiscs: Rows = []
        self._classes: Rows = []
        self._states: dict[str, Structures] = {}
        self._settings: dict[str, Rows] = {}
        self._cakes: Rows = []
        self._tins: Rows = []

    def add_qdisc(self, time_ns: int, queue: QdiscCounters) -> None:
        self._qdiscs.append((time_ns, *queue[: len(ROW)]))
        row = (time_ns, queue.device, queue.handle)
        if queue.kind == "cake" and queue.xstats:
            self._add_cake(row, queue.xstats)
        elif queue.kind == "htb":
            init = framing.attributes(queue.options).get(queue_state.HTB_INIT)
            if init is not None:
                self._add_state("qdisc_htb", queue_state.HTB, row, init)
        elif queue.kind in queue_state.QDISCS and queue.xstats:
            structure = queue_state.QDISCS[queue.kind]
            self._add_state(f"qdisc_{queue.kind}", structure, row, queue.xstats)

    def add_class(self, time_ns: int, queue: QdiscCounters) -> None:
        self._classes.append((time_ns, *queue[: len(CLASS_ROW)]))
        if queue.kind in queue_state.CLASSES and queue.xstats:
            name = f"class_{queue.kind}"
            row = (time_ns, queue.device, queue.handle)
            self._add_state(name, queue_state.CLASSES[queue.kind], row, queue.xstats)
            if queue.kind in queue_state.SETTINGS:
                settings = queue_state.class_settings(queue.kind, queue.options)
                self._settings.setdefault(name, []).append(settings)

    def _add_state(
        self,
        name: str,
        structure: Structure,
        row: tuple[object, ...],
        part: bytes,
    ) -> None:
        if name not in self._states:
            self._states[name] = Structures(structure)
        self._states[name].add(row, part)

    def _add_cake(self, row: tuple[object, ...], xstats: bytes) -> None:
        attributes = framing.attributes(xstats)
        self._cakes.append((*row, *queue_state.cake_row(attributes, queue_state.CAKE)))
        for number, tin in enumerate(queue_state.cake_tins(attributes)):
            self._tins.append((*row, number, *queue_state.cake_row(tin, queue_state.CAKE_TIN)))

    def made(self) -> Iterator[tuple[str, Table]]:
        lists: Sequence[tuple[str, Rows, tuple[str, ...]]] = (
            ("qdisc", self._qdiscs, ("time_ns", *ROW)),
            ("class", self._classes, ("time_ns", *CLASS_ROW)),
            ("qdisc_cake", self._cakes, (*STATE_KEYS, *queue_state.cake_columns(queue_state.CAKE))),
            (
                "qdisc_cake_tin",
                self._tins,
                (*STATE_KEYS, "tin", *queue_state.cake_columns(queue_state.CAKE_TIN)),
            ),
        )
        for name, rows, names in lists:
            if rows:
                yield name, Table.of(columns_of(rows, names))
        for name, states in self._states.items():
            kind = name.removeprefix("class_")
            settings = columns_of(self._settings.get(name, []), queue_state.SETTINGS.get(kind, ()))
            yield name, states.table(STATE_KEYS, settings)
