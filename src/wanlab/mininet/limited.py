"""Hosts, and what becomes of their limits on computing.

On virtual time computing takes no time, so a share of the processor changes nothing; that is said
once. On the real clock no limit is set either.
"""

from __future__ import annotations

from typing import Any, ClassVar

from wanlab.errors import WanlabError

from .hosts import NODE_PARAMETERS, Node
from .log import info
from .parameters import once

_said: set[str] = set()


class Host(Node):
    """An end system."""

    def config(self, **params: Any) -> dict[str, Any]:  # type: ignore[override]
        results = super().config(**params)
        if type(self) is Host and any(params.get(name) is not None for name in ("cpu", "cores")):
            tell_about_cpu()
        return results


def tell_about_cpu() -> None:
    """Once."""
    once(
        _said,
        "cpu",
        info,
        "(cpu limits are not set: on virtual time computing takes no time) ",
    )


class CPULimitedHost(Host):
    """Takes Mininet's CPU parameters. A limit on computing would change nothing where computing takes
    no time."""

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
        """Nothing has to be prepared."""

    def setCPUFrac(self, f: float | None, sched: str | None = None) -> None:
        """A share of all cores; -1 is no limit."""
        if f is None or f < 0:
            return
        tell_about_cpu()

    def setCPUs(self, cores: Any, mems: int = 0) -> None:
        """The cores that it may use."""
        if cores is not None:
            tell_about_cpu()

    def config(  # type: ignore[override]
        self, cpu: float = -1, cores: Any = None, **params: Any
    ) -> dict[str, Any]:
        results = super().config(**params)
        self.setParam(results, "setCPUFrac", cpu=cpu)
        self.setParam(
            results, "setCPUs", cores=cores if not isinstance(cores, list) else str(cores)
        )
        return results
