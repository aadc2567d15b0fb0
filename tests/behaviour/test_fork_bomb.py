"""A fork bomb reaches the limit of its network, not that of the computer, and the network goes on."""

from __future__ import annotations

import signal
from collections.abc import Callable

import pytest

from wanlab import Network, shapes
from wanlab.errors import CommandError
from wanlab.machine.embedded import max_processes

pytestmark = pytest.mark.machine

MEMORY_BYTES = 128 << 20
START_ALL = """
import os, signal
for started in range(10_000):
    try:
        if os.fork() == 0:
            signal.pause()
    except OSError as error:
        print(started, error.strerror, flush=True)
        signal.pause()
"""


def test_a_fork_bomb_reaches_the_limit_of_its_network(start: Callable[..., Network]) -> None:
    net = start(shapes.single(2), memory=MEMORY_BYTES)
    said = bytearray()
    bomb = net["h1"].start(["python3", "-c", START_ALL], on_output=said.extend)
    net.run_for("1s")
    number, _, reason = said.decode().partition(" ")
    assert reason == "Resource temporarily unavailable\n"
    assert max_processes(MEMORY_BYTES) - 50 <= int(number) <= max_processes(MEMORY_BYTES)
    with pytest.raises(CommandError, match="Resource temporarily unavailable"):
        net["h2"].run("true")
    bomb.signal(signal.SIGKILL)
    net.run_for("1s")
    assert not bomb.is_running
