"""Errors say what is wrong, then what to do."""

import pickle

import pytest

from wanlab.errors import (
    CommandError,
    MachineError,
    PeerError,
    Problem,
    RecordError,
    RequirementError,
    TopologyError,
    WanlabError,
    did_you_mean,
)


def test_an_error_shows_what_is_wrong_and_the_hint_in_parentheses() -> None:
    assert str(WanlabError("no kernel", "run ./dev kernel")) == "no kernel (run ./dev kernel)"
    assert str(WanlabError("no kernel")) == "no kernel"


def test_every_error_is_a_wanlab_error() -> None:
    for error in (RequirementError, MachineError, CommandError, PeerError, RecordError):
        caught = error("it broke", "mend it")
        assert (caught.what, caught.hint) == ("it broke", "mend it")
        assert isinstance(caught, WanlabError)


def test_a_topology_error_with_one_problem_is_one_line() -> None:
    error = TopologyError([Problem("link h1-s1", "a rate of 0", "leave it out")], "lab.mn")
    assert str(error) == "lab.mn: link h1-s1: a rate of 0 (leave it out)"


def test_a_topology_error_lists_all_of_its_problems() -> None:
    problems = [Problem("line 3", "no name"), Problem("", "no links", "add one")]
    error = TopologyError(problems)
    assert error.problems == tuple(problems)
    assert str(error) == "2 problems\n  line 3: no name\n  no links (add one)"


def test_a_machine_error_shows_the_end_of_the_console() -> None:
    console = "\n".join(f"line {i}" for i in range(100))
    shown = str(MachineError("the kernel died", "report it", console)).splitlines()
    assert shown[:2] == ["the kernel died (report it)", "last lines of the console:"]
    assert shown[2] == "  line 80"
    assert shown[-1] == "  line 99"


def test_a_command_error_shows_status_and_output() -> None:
    error = CommandError("tc failed", status=2, output="Error: no such qdisc\n")
    assert str(error) == (
        "tc failed [exit status 2]\nlast lines of its output:\n  Error: no such qdisc"
    )


@pytest.mark.parametrize(
    "error",
    [
        WanlabError("what", "hint"),
        TopologyError([Problem("here", "what")], "file"),
        MachineError("what", "hint", "console"),
        CommandError("what", "hint", status=1, output="output"),
    ],
)
def test_errors_can_be_sent_to_another_process(error: WanlabError) -> None:
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is type(error)
    assert str(copy) == str(error)
    assert vars(copy) == vars(error)


def test_a_typing_error_gets_a_suggestion() -> None:
    assert did_you_mean("fq_codell", ["fifo", "fq_codel"]) == "did you mean fq_codel?"
    assert did_you_mean("xyz", ["fifo", "red"]) == "choose from: fifo, red"
    assert did_you_mean("xyz", []) == "there are none"
    assert did_you_mean("xyz", map(str, range(30))).endswith("18, 19, ...")
