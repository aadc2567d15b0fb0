"""The options of a test's markers."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

import pytest

from wanlab import Network, Topology, load, shapes
from wanlab.errors import WanlabError, did_you_mean

FILE_SUFFIXES = (".mn", ".json", ".yaml", ".yml")
SCOPES = ("function", "module")
PLUGIN_OPTIONS = frozenset({"seeds", "kernel", "scope", "limit", "capture", "every"})
NETWORK_OPTIONS = tuple(inspect.signature(Network).parameters)[1:]

KeywordOptions = dict[str, Any]
"""Options by their names, each checked by the function that takes them."""


@dataclass(frozen=True, kw_only=True)
class MarkerOptions:
    """All `wanlab` markers of a test; if two set the same option, the one nearest to the test wins."""

    seeds: int = 0
    """The number of seeds with which the test is run; `pytest_generate_tests` reads it."""
    kernel: str = ""
    """The name or the folder of the kernel; "": the default one."""
    scope: str = "function"
    limit: str | int = "600s"
    """The network time that a test may take."""
    capture: bool | str | Sequence[str] = True
    """The ports whose packets are kept if the test fails; True: those of hosts and routers."""
    every: str | int | None = "100ms"
    """The interval at which queues, ports and flows are sampled; None: never."""
    network: KeywordOptions = field(default_factory=dict)
    """The other options of `Network`."""
    node: pytest.Item | pytest.Collector

    @classmethod
    def of(cls, node: pytest.Item | pytest.Collector) -> MarkerOptions:
        """Collect the options of a test, or of a module. Fails the test if there are unknown ones."""
        options: KeywordOptions = {}
        for marker in reversed(list(node.iter_markers("wanlab"))):
            if marker.args:
                hint = 'use keywords only, as in wire="mtu"'
                _refuse(f"@pytest.mark.wanlab({marker.args[0]!r})", hint)
            options.update(marker.kwargs)
        plugin_options = {name: options.pop(name) for name in PLUGIN_OPTIONS & options.keys()}
        for name in options.keys() - set(NETWORK_OPTIONS):
            hint = did_you_mean(name, sorted({*PLUGIN_OPTIONS, *NETWORK_OPTIONS}))
            _refuse(f'@pytest.mark.wanlab has no option "{name}"', hint)
        if (scope := plugin_options.get("scope", "function")) not in SCOPES:
            _refuse(f'@pytest.mark.wanlab(scope="{scope}")', f"scopes are {', '.join(SCOPES)}")
        return cls(**plugin_options, network=options, node=node)

    def topology(self, from_fixture: Topology | None) -> Topology:
        """Return the topology of the nearest `topology` marker, otherwise that of the fixture."""
        marker = self.node.get_closest_marker("topology")
        if marker is None:
            if from_fixture is None:
                _refuse(
                    f"{self.node.name} has no topology for its network",
                    "mark it: @pytest.mark.topology(shapes.minimal()); or define a fixture `topology`",
                )
            return from_fixture
        if len(marker.args) != 1 or marker.kwargs:
            hint = "a Topology, a file, or a shape"
            _refuse("@pytest.mark.topology takes exactly one argument", hint)
        try:
            return _read_topology(marker.args[0], self.node)
        except WanlabError as error:
            raise pytest.fail.Exception(str(error), pytrace=False) from None


def _read_topology(argument: object, node: pytest.Item | pytest.Collector) -> Topology:
    """Return a topology, or read a shape, or a file beside the test or in pytest's root folder."""
    if isinstance(argument, Topology):
        return argument
    if not isinstance(argument, str | Path):
        _refuse(f"@pytest.mark.topology({argument!r})", "it takes a Topology, a file, or a shape")
    if isinstance(argument, str) and not argument.endswith(FILE_SUFFIXES):
        return shapes.from_text(argument)
    beside_test = node.path.parent / argument
    return load(beside_test if beside_test.exists() else node.config.rootpath / argument)


def _refuse(what: str, hint: str) -> NoReturn:
    pytest.fail(f"{what} ({hint})", pytrace=False)
