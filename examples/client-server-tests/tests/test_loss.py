"""Packets that are lost, late, duplicated or out of order."""

from __future__ import annotations

import pytest

from wanlab import Network, Process, shapes
from wanlab.network import Finished

ONCE_EACH = "".join(f"{number}\n" for number in range(1, 101))


def test_a_value_that_was_put_can_be_got(server: Process, ask) -> None:
    assert ask("put", "colour", "green").output == "5\n"
    assert ask("get", "colour").output == "green\n"


@pytest.mark.topology(shapes.minimal(delay="50ms"))
def test_a_request_takes_one_round_trip_and_the_connection_another(
    network: Network, server: Process, ask
) -> None:
    network["h1"].run("ping -c 1 10.0.0.2")  # afterwards, both hosts know each other's MAC address
    assert round(ask("get", "colour").seconds, 2) == 0.20 + 0.20
    assert round(ask("add", "visits", 1, 10).seconds, 2) == 0.20 + 10 * 0.20


@pytest.mark.topology(shapes.minimal(delay="10ms", loss="5%"))
@pytest.mark.wanlab(seeds=2)
def test_every_request_is_done_once_though_packets_are_lost(server: Process, ask) -> None:
    assert ask("add", "visits", 1, 100).output == ONCE_EACH


@pytest.mark.topology(
    shapes.minimal(delay="10ms", jitter="8ms", reorder="20%", duplicate="10%", rate="10Mbps")
)
def test_a_long_value_arrives_whole_though_packets_change_places(server: Process, begin) -> None:
    text = " ".join(map(str, range(40_000)))
    client = begin("put", "numbers", "-", stdin=True)
    client.write(text)
    client.end_input()
    assert client.finish().output == f"{len(text)}\n"
    assert begin("get", "numbers").finish().output == f"{text}\n"


@pytest.mark.topology(shapes.minimal(delay="10ms", rate="1Mbps"))
def test_a_slow_link_is_not_taken_for_a_dead_one(server: Process, begin) -> None:
    client = begin("put", "picture", "-", stdin=True)
    client.write("x" * 2_000_000)
    client.end_input()
    done: Finished = client.finish()
    assert done.output == "2000000\n"
    assert done.stderr == "connections: 1\n"
    assert 16 < done.seconds < 18  # 2 MB and headers at 1 Mbit/s
