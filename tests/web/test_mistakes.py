"""Test hints: typical mistakes in typed commands are recognised, experiments are left alone."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from wanlab.labs.unit import Step
from wanlab.web.lessons.mistakes import Attempt, hint_for
from wanlab.web.terminals.shell_marks import TypedCommand

PING = Step(1, "", ("h1",), ("ping -c 1 10.0.0.2",))
DELAY = Step(2, "", ("client",), ("sudo tc qdisc add dev s1-eth2 root netem delay 20ms",))
SERVER = Step(3, "", ("h2",), ("iperf3 -s",), starts="server")
FLOW = Step(4, "", ("h1",), ("iperf3 -c 10.0.0.2 -t 2.5",))
NODES = Step(5, "", ("mininet",), ("nodes",), says=("h1 h2 s1",))
STEPS = (PING, DELAY, SERVER, FLOW, NODES)


def hint(
    place: str, line: str, status: int = 0, output: str = "", done: Sequence[int] = ()
) -> tuple[int, str] | None:
    command = TypedCommand(line, place == "mininet", output.encode(), status)
    found = hint_for(Attempt(place, command), STEPS, done)
    return None if found is None else (found.step, found.text)


TC = "tc qdisc add dev s1-eth2 root netem delay"


@pytest.mark.parametrize(
    ("place", "line", "expected"),
    [
        ("client", f"{TC} 20", (2, "the unit is missing: `20ms`")),
        ("client", f"sudo {TC} 20 ms", (2, "write `20ms` without a space")),
        ("client", f"{TC} 20s", (2, "the unit is another one: `20ms`, not `20s`")),
        (
            "client",
            "tc qdisc add dev s1-eth1 root netem delay 20ms",
            (2, "the interface is `s1-eth2`; you typed `s1-eth1`"),
        ),
        (
            "client",
            "tc qdisc add dev s1-eth2 netem delay 20ms",
            (2, "`root` is missing after `s1-eth2`"),
        ),
        ("h1", f"{TC} 20ms", (2, "type this in the terminal of the client, not in that of h1")),
        ("h1", "ping -c 1 10,0,0,2", (1, "write `10.0.0.2` with a point, not a comma")),
        ("h1", "png -c 1 10.0.0.2", (1, "the step has `ping` where you typed `png`")),
        ("h1", "iperf3 -c 10.0.0.2", (4, "`-t 2.5` is missing after `10.0.0.2`")),
        ("h1", "iperf3 -c 10.0.0.2 -t 2.5 -R", (4, "leave out `-R`")),
    ],
)
def test_a_typed_line_is_compared_with_the_step(
    place: str, line: str, expected: tuple[int, str]
) -> None:
    assert hint(place, line, 1) == expected


def test_a_client_without_a_server_names_the_step_of_the_server() -> None:
    said = "iperf3: error - unable to connect to server: Connection refused"
    found = hint("h1", "iperf3 -c 10.0.0.2 -t 2.5", 1, said)
    assert found == (
        4,
        "no server answers at that address: do step 3 first; `iperf3 -s` has to run there",
    )


def test_a_step_that_is_done_gets_no_hint() -> None:
    assert hint("h1", "ping -c 1 10,0,0,2", 1, done=(1,)) is None


@pytest.mark.parametrize(
    ("output", "words"),
    [
        ("Error: Exclusivity flag on, cannot modify.", "`change`"),
        ('Cannot find device "s1-eth2"', "no such interface"),
    ],
)
def test_what_tc_says_is_explained(output: str, words: str) -> None:
    found = hint("client", f"{TC} 20ms", 2, output)
    assert found is not None
    assert words in found[1]


def test_the_output_that_a_step_waits_for_is_named() -> None:
    assert hint("mininet", "nodes", 0, "h1 s1") == (5, "the output should show `h1 h2 s1`")


@pytest.mark.parametrize(
    "line", ["ls", "ip addr", "tc -s qdisc", "tc qdisc show dev s1-eth2", "cat notes.txt", ""]
)
def test_an_experiment_gets_no_hint(line: str) -> None:
    assert hint("client", line) is None


def test_without_steps_there_is_no_hint() -> None:
    assert hint_for(Attempt("h1", TypedCommand("ping", False, b"", 1)), (), ()) is None
