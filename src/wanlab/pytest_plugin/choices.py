"""What the markers of a test ask for."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

import pytest

from wanlab import Network, Topology, load, shapes
from wanlab.errors import WanlabError, did_you_mean

FILE_SUFFIXES = (".mn", ".json", ".yaml", ".yml")
SCOPES = ("function", "module")
NETWORK_WORDS = tuple(inspect.signature(Network).parameters)[1:]


@dataclass(frozen=True, kw_only=True)
class Choices:
    """All of a test's `wanlab` markers together; where two say the same, the one nearest to the test."""

    seeds: int = 0
    """With how many the test is run; read by `pytest_generate_tests`."""
    kernel: str = ""
    """Folder of the kernel's image; "": the usual one."""
    scope: str = "function"
    limit: str | int = "600s"
    """How much of the network's time a test may let pass."""
    capture: bool | str | Sequence[str] = True
    """Ports whose packets are kept of a test that fails; True: those of hosts and routers."""
    every: str | int | None = "100ms"
    """How often queues, ports and flows are looked at; None: never."""
    network: Mapping[str, Any] = field(default_factory=dict)
    """What else `Network` is told."""
    node: pytest.Item | pytest.Collector

    @classmethod
    def of(cls, node: pytest.Item | pytest.Collector) -> Choices:
        words: dict[str, Any] = {}
        for marker in reversed(list(node.iter_markers("wanlab"))):
            if marker.args:
                _refuse(f"@pytest.mark.wanlab({marker.args[0]!r})", 'words only, as in wire="mtu"')
            words.update(marker.kwargs)
        own = {name: words.pop(name) for name in OWN_WORDS & words.keys()}
        for word in words.keys() - set(NETWORK_WORDS):
            hint = did_you_mean(word, sorted({*OWN_WORDS, *NETWORK_WORDS}))
            _refuse(f'"{word}" is not known of @pytest.mark.wanlab', hint)
        if (scope := own.get("scope", "function")) not in SCOPES:
            _refuse(f'@pytest.mark.wanlab(scope="{scope}")', f"known here: {', '.join(SCOPES)}")
        return cls(**own, network=words, node=node)

    def topology(self, by_fixture: Topology | None) -> Topology:
        """What the nearest `topology` marker says, otherwise what the fixture of that name returns."""
        marker = self.node.get_closest_marker("topology")
        if marker is None:
            if by_fixture is None:
                _refuse(
                    f"{self.node.name} does not say of what its network is made",
                    "mark it: @pytest.mark.topology(shapes.minimal()); or define a fixture `topology`",
                )
            return by_fixture
        if len(marker.args) != 1 or marker.kwargs:
            _refuse("@pytest.mark.topology takes one thing", "a Topology, a file, or a shape")
        try:
            return _read(marker.args[0], self.node)
        except WanlabError as error:
            raise pytest.fail.Exception(str(error), pytrace=False) from None


OWN_WORDS = frozenset({"seeds", "kernel", "scope", "limit", "capture", "every"})


def _read(told: Any, node: pytest.Item | pytest.Collector) -> Topology:
    if isinstance(told, Topology):
        return told
    if not isinstance(told, str | Path):
        _refuse(f"@pytest.mark.topology({told!r})", "it takes a Topology, a file, or a shape")
    if isinstance(told, str) and not told.endswith(FILE_SUFFIXES):
        return shapes.from_text(told)
    beside = node.path.parent / told
    return load(beside if beside.exists() else node.config.rootpath / told)


def _refuse(what: str, hint: str) -> NoReturn:
    pytest.fail(f"{what} ({hint})", pytrace=False)
