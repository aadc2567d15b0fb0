"""Sample the kernel's counters of its processors: /proc/net/softnet_stat and /proc/stat; and the work of
the nodes' processors, if they have one: /proc/net/processor.

On virtual time, the computing of the machine takes no time, so its CPU times have no meaning: a little
is counted if a program runs at a timer tick. Counts of interrupts, context switches and started
processes are exact. On the real clock, CPU times are real as well.
"""

from __future__ import annotations

import os

from wanlab.errors import WanlabError
from wanlab.network import Network
from wanlab.record import Table
from wanlab.topology.model import processor_of

from .columns import Rows, columns_of
from .readings import Readings, Source

ROOT = ""
SOFTNET = (
    "time_ns",
    "processor",
    "packets",
    "drops",
    "squeezes",
    "steered_packets",
    "backlog_packets",
)
_WORDS = (0, 1, 2, 9, 11)  # net/core/net-procfs.c, softnet_seq_show()

TIMES = ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal")
SOFTIRQS = (
    "high",
    "timer",
    "net_tx",
    "net_rx",
    "block",
    "irq_poll",
    "tasklet",
    "sched",
    "hrtimer",
    "rcu",
)


def packets_received(network: Network) -> int:
    """Return how many packets the kernel has received through all ports, as softnet_stat counts them.

    A packet counts once at each port that it arrives at. No time passes. The counters have 32 bits.
    """
    (part,) = network.read(Softnet().sources())
    return sum(int(line.split()[0], 16) for line in part.decode().splitlines())


class Softnet(Readings):
    """Sample counters of received packets of each processor, into table "softnet".

    packets; drops because the queue before the stack was full; squeezes, when one round of NAPI did not
    suffice.
    """

    def prepare(self, network: Network) -> None:
        """Every kernel has these counters."""

    def sources(self) -> list[Source]:
        return [["file", ROOT, "/proc/net/softnet_stat"]]

    def tables(self) -> dict[str, Table]:
        rows: Rows = []
        for time_ns, _, part in self.readings:
            for number, line in enumerate(part.decode().splitlines()):
                words = [int(word, 16) for word in line.split()]
                values = [words[index] if index < len(words) else 0 for index in _WORDS]
                rows.append((time_ns, f"cpu{number}", *values))
        return {"softnet": Table.of(columns_of(rows, SOFTNET))} if rows else {}


class Processors(Readings):
    """Sample the work of the nodes' processors into table "processor": what each kind of work has taken
    on each core since the network started, in ns.
    """

    def __init__(self, *nodes: str) -> None:
        super().__init__()
        self._nodes = nodes

    def prepare(self, network: Network) -> None:
        """Raise WanlabError if nodes have no processor."""
        equipped = self.nodes_with_one(network)
        missing = [name for name in self._nodes if name not in equipped]
        if missing or not equipped:
            names = ", ".join(missing) or "the nodes of this network"
            raise WanlabError(f"no processor: {names}", 'use cpu="server-2019", for example')
        self._nodes = self._nodes or equipped

    @staticmethod
    def nodes_with_one(network: Network) -> tuple[str, ...]:
        """Return the names of the nodes that have a processor."""
        nodes = network.topology.nodes
        return tuple(node.name for node in nodes if processor_of(node, network.cpu))

    def sources(self) -> list[Source]:
        return [["file", node, "/proc/net/processor"] for node in self._nodes]

    def tables(self) -> dict[str, Table]:
        rows: Rows = []
        names: list[str] = []
        for time_ns, place, part in self.readings:
            header, *lines = part.decode().splitlines()
            names = [f"{name}_ns" for name in header.split()[1:]]
            for line in lines:
                core, *values = map(int, line.split())
                rows.append((time_ns, self._nodes[place], core, *values))
        columns = ("time_ns", "node", "core", *names)
        return {"processor": Table.of(columns_of(rows, columns))} if rows else {}


class Cpu(Readings):
    """Sample CPU times into table "cpu", and counts of events into table "cpu_work"."""

    def __init__(self) -> None:
        super().__init__()
        self._ticks_per_s = os.sysconf("SC_CLK_TCK")

    def prepare(self, network: Network) -> None:
        """Every kernel has these counters."""

    def sources(self) -> list[Source]:
        return [["file", ROOT, "/proc/stat"]]

    def tables(self) -> dict[str, Table]:
        times: Rows = []
        work: Rows = []
        for time_ns, _, part in self.readings:
            counted: dict[str, list[int]] = {}
            for line in part.decode().splitlines():
                name, *words = line.split()
                numbers = [int(word) for word in words]
                counted[name] = numbers
                if name.startswith("cpu") and name != "cpu":
                    seconds = [number / self._ticks_per_s for number in numbers[: len(TIMES)]]
                    times.append((time_ns, name, *seconds))
            work.append(
                (
                    time_ns,
                    counted["ctxt"][0],
                    counted["intr"][0],
                    counted["processes"][0],
                    counted["procs_running"][0],
                    *counted["softirq"][1 : 1 + len(SOFTIRQS)],
                )
            )
        if not work:
            return {}
        names = ("time_ns", "switches", "interrupts", "starts", "runnable")
        return {
            "cpu": Table.of(
                columns_of(times, ("time_ns", "processor", *(f"{n}_s" for n in TIMES)))
            ),
            "cpu_work": Table.of(columns_of(work, (*names, *(f"softirqs_{n}" for n in SOFTIRQS)))),
        }
