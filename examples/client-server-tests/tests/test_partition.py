"""A network that is partitioned and healed, and a server that dies and restarts."""

from __future__ import annotations

import pytest

from wanlab import Network, Process, shapes

ONCE_EACH = "".join(f"{number}\n" for number in range(1, 101))


def test_a_short_partition_is_lived_through(network: Network, server: Process, ask) -> None:
    network.after("500ms", network.set_link_up, "s1", "h2", False)
    network.after("3500ms", network.set_link_up, "s1", "h2", True)
    done = ask("add", "visits", 1, 100)
    assert done.output == ONCE_EACH
    assert 7 < done.seconds < 9  # 4 s of round trips, 3 s of partition, and the client's pauses


def test_a_client_gives_up_after_ten_seconds_and_says_so(
    network: Network, server: Process, ask
) -> None:
    network.set_link_up("s1", "h2", False)
    done = ask("get", "colour", check=False)
    assert done.status == 3
    assert done.stderr.startswith("unavailable: 10.0.0.2: ")
    assert 10.0 <= done.seconds < 11.0


@pytest.mark.parametrize("cut_ms", [85, 95, 115])
def test_an_answer_that_was_lost_does_not_mean_that_a_request_is_done_twice(
    network: Network, server: Process, ask, cut_ms: int
) -> None:
    """Cut the link while the request travels, is at the server, or is answered."""
    network.after(cut_ms * 1_000_000, network.set_link_up, "h1", "s1", False)
    network.after("2s", network.set_link_up, "h1", "s1", True)
    assert ask("add", "visits", 1, 3).output == "1\n2\n3\n"


def test_a_server_that_comes_back_is_found_again(
    network: Network, server: Process, start_server, begin
) -> None:
    client = begin("add", "visits", 1, 100)
    network.run_for("1s")
    server.signal(9)
    network.run_for("2s")
    seen = len(client.output.splitlines())
    start_server()
    done = client.finish()
    # The new server has an empty memory, so it counts from 1 again.
    lines = done.output.splitlines()
    assert lines[:seen] == [str(number) for number in range(1, seen + 1)]
    assert lines[seen:] == [str(number) for number in range(1, 101 - seen)]
    assert 0 < seen < 100


@pytest.mark.topology(shapes.minimal(delay="10ms", loss="2%"))
def test_clients_that_fight_for_a_bad_network_all_get_through(
    network: Network, server: Process, begin, ask
) -> None:
    clients = [begin("add", "visits", 1, 50) for _ in range(4)]
    network.after("1s", network.set_link, "s1", "h2", loss="100%")
    network.after("4s", network.set_link, "s1", "h2", loss="2%")
    for client in clients:
        client.finish()
    assert ask("get", "visits").output == "200\n"
