"""The queues of ports: every qdisc and class of their trees, and what single kinds know besides."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from wanlab.network import Network
from wanlab.record import Table

from . import netlink, netlink_qdisc, queue_state
from .columns import Rows, Structure, Structures, columns_of
from .netlink_qdisc import Queue
from .readings import Readings, Source, interface_numbers

OF_ALL = ("time_ns", "device", *Queue._fields[1:11])  # from its kind to its backlog
OF_ONE = ("time_ns", "device", "handle")


class Queues(Readings):
    """Of each qdisc at some ports: backlog, drops, marks. Table "qdisc"; what a kind counts beyond that
    is in a table of its own, "qdisc_codel" for one. Classes (HTB, HFSC, DRR, QFQ) are in "class" and
    "class_htb", ...

    flows   also the classes of SFQ and FQ_CoDel, which are the flows that they hold at the moment.
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
        for time_ns, place, part in self.readings:
            for kind, message in netlink.dumps(part):
                is_class = kind == netlink_qdisc.RTM_NEWTCLASS
                read = netlink_qdisc.read_class if is_class else netlink_qdisc.read
                queue = read(message)
                if queue is None or queue.interface not in devices[place]:
                    continue
                add = tables.add_class if is_class else tables.add_qdisc
                add(time_ns, devices[place][queue.interface], queue)
        return dict(tables.made())


class _Tables:
    def __init__(self) -> None:
        self._qdiscs: Rows = []
        self._classes: Rows = []
        self._states: dict[str, Structures] = {}
        self._settings: dict[str, Rows] = {}
        self._cakes: Rows = []
        self._tins: Rows = []

    def add_qdisc(self, time_ns: int, device: str, queue: Queue) -> None:
        marks = netlink_qdisc.marks(queue)
        self._qdiscs.append((time_ns, device, *queue[1:11], marks))
        row = (time_ns, device, queue.handle)
        if queue.kind == "cake" and queue.xstats:
            self._add_cake(row, queue.xstats)
        elif queue.kind == "htb":
            init = netlink.attributes(queue.options).get(queue_state.HTB_INIT)
            if init is not None:
                self._add_state("qdisc_htb", queue_state.HTB, row, init)
        elif queue.kind in queue_state.QDISCS and queue.xstats:
            structure = queue_state.QDISCS[queue.kind]
            self._add_state(f"qdisc_{queue.kind}", structure, row, queue.xstats)

    def add_class(self, time_ns: int, device: str, queue: Queue) -> None:
        self._classes.append((time_ns, device, *queue[1:11]))
        if queue.kind in queue_state.CLASSES and queue.xstats:
            name = f"class_{queue.kind}"
            row = (time_ns, device, queue.handle)
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
        attributes = netlink.attributes(xstats)
        self._cakes.append((*row, *queue_state.cake_row(attributes, queue_state.CAKE)))
        for number, tin in enumerate(queue_state.cake_tins(attributes)):
            self._tins.append((*row, number, *queue_state.cake_row(tin, queue_state.CAKE_TIN)))

    def made(self) -> Iterator[tuple[str, Table]]:
        lists: Sequence[tuple[str, Rows, tuple[str, ...]]] = (
            ("qdisc", self._qdiscs, (*OF_ALL, "marks")),
            ("class", self._classes, OF_ALL),
            ("qdisc_cake", self._cakes, (*OF_ONE, *queue_state.cake_columns(queue_state.CAKE))),
            (
                "qdisc_cake_tin",
                self._tins,
                (*OF_ONE, "tin", *queue_state.cake_columns(queue_state.CAKE_TIN)),
            ),
        )
        for name, rows, names in lists:
            if rows:
                yield name, Table.of(columns_of(rows, names))
        for name, states in self._states.items():
            kind = name.removeprefix("class_")
            settings = columns_of(self._settings.get(name, []), queue_state.SETTINGS.get(kind, ()))
            yield name, states.table(OF_ONE, settings)
