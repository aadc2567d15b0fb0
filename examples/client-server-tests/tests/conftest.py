"""Fixtures: the network that most tests use, a server on one side and clients on the other."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from wanlab import Network, Process, Topology, shapes
from wanlab.network import Finished

PROJECT = Path(__file__).parents[1]
ENVIRONMENT = {"PYTHONPATH": str(PROJECT)}

Ask = Callable[..., Finished]
StartServer = Callable[[], Process]


@pytest.fixture
def topology() -> Topology:
    """Return a topology with the clients' host h1, the switch s1 and the server's host h2."""
    return shapes.minimal(rate="10Mbps", delay="10ms")


@pytest.fixture
def start_server(network: Network) -> StartServer:
    def start() -> Process:
        process = network["h2"].start(
            [sys.executable, "-m", "keyvalue.server"], environment=ENVIRONMENT
        )
        assert next(process.lines()) == "listening on 7000"
        return process

    return start


@pytest.fixture
def server(start_server: StartServer) -> Process:
    return start_server()


@pytest.fixture
def begin(network: Network) -> Callable[..., Process]:
    """Return a function that starts a client. Time passes only when a test waits for the client."""

    def start_client(*words: Any, stdin: bool = False) -> Process:
        command = [sys.executable, "-m", "keyvalue.client", "10.0.0.2", *map(str, words)]
        return network["h1"].start(command, environment=ENVIRONMENT, stdin=stdin)

    return start_client


@pytest.fixture
def ask(begin: Callable[..., Process]) -> Ask:
    """Return a function that runs a client and waits until it exits."""

    def run_client(*words: Any, check: bool = True) -> Finished:
        return begin(*words).finish(check=check)

    return run_client
