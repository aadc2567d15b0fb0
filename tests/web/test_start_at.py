"""Test starting a unit at a later step, and the seed that a lesson in the page uses."""

import re

import pytest
from web_client import RefusedCommandError, WebClient


@pytest.mark.long
@pytest.mark.machine
def test_a_unit_starts_at_a_step_with_the_earlier_ones_done(client: WebClient) -> None:
    opened = client.do("lesson", unit="3", action="start_at", step=9)
    client.until(lambda: client.state["run"]["phase"] == "running")
    # The terminals of h1 and h2, which the earlier steps have opened.
    terminals = {it["id"]: it["title"] for it in client.state["terminals"]["terminals"]}
    assert [terminals[name] for name in opened] == ["h1", "h2"]
    lesson = next(it for it in client.state["lessons"]["lessons"] if it["unit"] == "3")
    assert 8 in lesson["done"]
    assert 9 not in lesson["done"]
    assert client.state["lessons"]["open_unit"] == "3"
    with client.terminal("h1") as terminal:
        assert "delay 100ms" in terminal.command("tc qdisc show dev h1-eth0", "netem")
    client.until(lambda: client.state["branches"]["live"] is not None)
    with pytest.raises(RefusedCommandError, match="a network is running"):
        client.do("lesson", unit="3", action="start_at", step=9)
    client.stop()


def test_each_figure_of_a_lesson_is_served(client: WebClient) -> None:
    text = client.server.get("/api/lessons/6").json()["markdown"]
    names = re.findall(r"!\[[^\]]*\]\(([^)]+)\)", text)
    assert names == ["sequence.svg", "figure.svg"]
    for name in names:
        assert client.server.get(f"/api/lessons/6/{name}").text.startswith("<svg ")
    assert client.server.get("/api/lessons/6/other.svg").status_code == 400
    assert client.server.get("/api/lessons/6/..%2Ffigure.svg").status_code in (400, 404)


@pytest.mark.long
@pytest.mark.machine
def test_terminals_of_earlier_steps_are_opened_in_their_folders(client: WebClient) -> None:
    # The first steps of Exercise 4 only open terminals; Lab 14 goes to a folder in one of them.
    opened = client.do("lesson", unit="14", action="start_at", step=23)
    titles = {it["id"]: it["title"] for it in client.state["terminals"]["terminals"]}
    h1 = next(name for name in opened if titles[name] == "h1")
    with client.reopened(h1) as terminal:
        assert "1_BDP" in terminal.command("pwd; echo '<do''ne>'", "<done>")
    client.stop()


@pytest.mark.parametrize(("step", "what"), [(99, "has no step 99"), (None, "no step was named")])
def test_a_unit_does_not_start_at_a_wrong_step(
    client: WebClient, step: int | None, what: str
) -> None:
    with pytest.raises(RefusedCommandError, match=what):
        client.do("lesson", unit="3", action="start_at", step=step)
    assert client.state["lessons"]["open_unit"] is None


def sold_mbps(client: WebClient) -> str:
    """Return the promised rate in the text of Problem 1."""
    text = client.server.get("/api/lessons/prob1").json()["markdown"]
    match = re.search(r"a line of (\d+) Mbit/s", text)
    assert match is not None
    return match[1]


def test_a_lesson_has_the_numbers_of_the_seed_in_the_preferences(client: WebClient) -> None:
    numbers = set()
    for seed in range(1, 9):
        client.do("edit", preferences={"seed": seed})
        numbers.add(sold_mbps(client))
    assert len(numbers) > 1


@pytest.mark.long
@pytest.mark.machine
def test_a_check_expects_the_values_of_the_networks_seed(client: WebClient) -> None:
    client.do("lesson", unit="prob1", action="start")
    before = sold_mbps(client)
    client.do("edit", preferences={"seed": 2})
    rate = sold_mbps(client)
    assert rate != before
    client.run()
    # The student's script sets the network up. Without h2's line, transfers would wait for long.
    with client.terminal("client") as terminal:
        assert f"sold with {rate} Mbit/s" in terminal.command(
            "sudo ~/NTP_Problems/Problem1/set_env.sh", "s2 to h2."
        )
        terminal.command("ip link set s2-eth2 down; echo '<do''wn>'", "<down>")
    client.do("edit", preferences={"seed": 1})
    results = {it["what"]: it for it in client.do("lesson", unit="prob1", action="check")}
    check = results[f"the bottleneck is still {rate} Mbit/s"]
    assert check["measured"] == f"{rate} Mbit/s"
    assert check["hint"] == "this is right; its points count as soon as all measured checks pass"
