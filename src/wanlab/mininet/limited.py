"""Hosts, and hosts with Mininet's CPU limits.

A share of the CPU is the speed of the host's processor, if it has one (cpu="server-2019", or `--cpu`).
Otherwise computation takes no time, so a CPU limit would change nothing. Limits are accepted and
reported once as having no effect. On the real clock no limit is set either.
"""

from __future__ import annotations

from typing import Any, ClassVar

from wanlab.errors import WanlabError
from wanlab.topology import processor_of

from .hosts import NODE_PARAMETERS, Node, own_processor
from .live_network import live_network
from .log import info
from .parameters import Params, once

_reported: set[str] = set()


class Host(Node):
    """An end system."""

    def config(self, **params: Any) -> Params:  # type: ignore[override]
        results = super().config(**params)
        cpu, cores = params.get("cpu"), params.get("cores")
        has_share = cpu is not None and own_processor(cpu) is None
        if type(self) is Host and (has_share or cores is not None):
            report_cpu_limits()
        return results


def report_cpu_limits() -> None:
    """Report once that CPU limits have no effect."""
    once(
        _reported,
        "cpu",
        info,
        "(cpu limits have no effect: on virtual time computation takes no time without --cpu) ",
    )


class CPULimitedHost(Host):
    """A host with Mininet's CPU parameters."""

    parameters: ClassVar[set[str]] = {*NODE_PARAMETERS, "rt"}
    inited = True

    def __init__(self, name: str, sched: str = "cfs", **kwargs: Any) -> None:
        if sched not in ("cfs", "rt", "host", "none"):
            raise WanlabError(f"{name}: there is no scheduler {sched}", "use cfs")
        self.period_us: int = kwargs.get("period_us", 100_000)
        self.sched = sched
        self.cgroup = f"/sys/fs/cgroup/{name}"
        super().__init__(name, **kwargs)

    @classmethod
    def init(cls) -> None:
        """Do nothing: there is nothing to prepare."""

    def setCPUFrac(self, f: float | None, sched: str | None = None) -> None:
        """Give this host a share of its processor; -1 is no limit."""
        if f is None or f < 0:
            return
        live_network().create_pending()
        network = live_network().network
        if processor_of(network.topology.node(self.name), network.cpu) is None:
            report_cpu_limits()
        else:
            network.set_cpu_share(self.name, f)

    def setCPUs(self, cores: object, mems: int = 0) -> None:
        """Accept the cores that it may use."""
        if cores is not None:
            report_cpu_limits()

    def config(  # type: ignore[override]
        self, cpu: object = -1, cores: object = None, **params: Any
    ) -> Params:
        results = super().config(**params)
        self.setParam(results, "setCPUFrac", cpu=cpu if own_processor(cpu) is None else None)
        self.setParam(
            results, "setCPUs", cores=cores if not isinstance(cores, list) else str(cores)
        )
        return results
