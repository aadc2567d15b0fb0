"""Test which steps of a lesson count as done, from terminal output."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from wanlab.labs import catalog
from wanlab.labs.unit import GUI, MININET, Step
from wanlab.web.lessons.canvas_steps import can_be_done
from wanlab.web.lessons.step_progress import CommandSteps
from wanlab.web.terminals.shell_marks import ShellMarks, TypedCommand


def mark(text: str) -> bytes:
    return f"\x1b]633;{text}\a".encode()


def test_marks_name_the_command_its_output_and_its_status() -> None:
    marks = ShellMarks()
    output = b"h1:~# ls\r\n" + mark("E;   12  ls -l") + b"one\r\n" + mark("D;2") + b"h1:~# "
    seen = [
        (command.line, command.status, command.output)
        for byte in output
        for command in marks.read(bytes([byte]))
    ]
    assert seen == [("ls -l", None, b""), ("ls -l", 2, b"one\r\n")]
    assert marks.running is None


def test_a_prompt_of_mininet_is_noticed_until_the_shell_returns() -> None:
    marks = ShellMarks()
    (started,) = marks.read(mark("E; 1  sudo mn") + b"*** Starting CLI:\r\n")
    (opened,) = marks.read(mark("D;mininet") + b"mininet> ")
    assert opened is started
    assert (opened.opened_prompt, opened.status, marks.at_mininet) == (True, 0, True)
    (typed,) = marks.read(mark("E;nodes"))
    assert (typed.line, typed.at_mininet) == ("nodes", True)
    list(marks.read(mark("D;mininet") + b"mininet> " + mark("E;exit")))
    (ended,) = marks.read(mark("D;0"))
    assert (ended.line, ended.status, marks.at_mininet) == ("exit", 0, False)


def ended(
    line: str, status: int = 0, output: str = "", *, at_mininet: bool = False
) -> TypedCommand:
    return TypedCommand(line, at_mininet, output.encode(), status)


PING = Step(1, "", ("h1",), ("ping -c 1 h2",))
DELAY = Step(2, "", ("client",), ("sudo tc qdisc add dev s1-eth1 root netem delay 20ms",))
AGAIN = Step(3, "", ("h1",), ("ping -c 1 h2",))
SERVER = Step(4, "", ("h2",), ("iperf3 -s",), starts="server")
END = Step(5, "", ("h2",), stops="server")
BOTH = Step(6, "", ("h1", "h2"), ("ifconfig",), says=("RX packets",))
WAITING = Step(7, "", ("h1",), ("iperf3 -c h2",), waits_for_enter=True)
ENTER = Step(8, "", ("h1",), enter=(7,))
STEPS = (PING, DELAY, AGAIN, SERVER, END, BOTH, WAITING, ENTER)


def test_a_command_that_fails_does_no_step() -> None:
    steps = CommandSteps(STEPS)
    assert steps.note_ended("h1", ended("ping -c 1 h2", 1), ()) == []
    assert steps.note_ended("h2", ended("ping -c 1 h2"), ()) == []
    assert steps.note_ended("h1", ended("ping  -c 1   h2"), ()) == [1]


def test_a_repeated_command_does_the_later_step_only_after_the_steps_between() -> None:
    steps = CommandSteps(STEPS)
    assert steps.note_ended("h1", ended("ping -c 1 h2"), {1}) == []
    assert steps.note_ended(
        "client", ended("tc qdisc add dev s1-eth1 root netem delay 20ms"), {1}
    ) == [2]
    assert steps.note_ended("h1", ended("ping -c 1 h2"), {1, 2}) == [3]


def test_a_server_is_started_while_it_runs_and_ended_with_ctrl_c() -> None:
    steps = CommandSteps(STEPS)
    running = TypedCommand("iperf3 -s", False)
    assert steps.note_running("h2", running, ()) == [4]
    assert steps.note_ended("h2", ended("iperf3 -s", 1), {4}) == [5]
    assert steps.note_ended("h2", ended("iperf3 -s", 127), ()) == []


def test_a_step_in_two_terminals_needs_both_with_their_expected_output() -> None:
    steps = CommandSteps(STEPS)
    assert steps.note_ended("h1", ended("ifconfig", output="RX packets 0"), ()) == []
    assert steps.note_ended("h2", ended("ifconfig", output="no such device"), ()) == []
    assert steps.note_ended("h2", ended("ifconfig", output="RX  packets 0"), ()) == [6]


def test_enter_completes_the_step_with_the_line_and_the_step_with_enter() -> None:
    steps = CommandSteps(STEPS)
    assert steps.note_begun("h1", TypedCommand("iperf3 -c h2", False), ()) == [7, 8]


class Typist:
    """Performs the commands of a unit in order with their expected output, and notes marked steps."""

    def __init__(self, steps: Sequence[Step]) -> None:
        self.done: set[int] = set()
        self._steps = {step.n: step for step in steps}
        self._progress = CommandSteps(steps)
        self._started: dict[str, Step] = {}

    def perform(self, step: Step) -> None:
        if step.where == (GUI,):
            self.done.add(step.n)
        elif step.enter:
            typed = [self._steps[number] for number in step.enter]
            for one in typed:
                self._each(one, self._progress.note_begun, None)
            for one in typed:
                self._each(one, self._progress.note_ended, step)
        elif step.stops or step.ends:
            self._each(self._started.pop(step.stops or step.ends), self._progress.note_ended, step)
        elif step.starts:
            self._started[step.starts] = step
            self._each(step, self._progress.note_begun, None)
            self._each(step, self._progress.note_running, None)
        elif not step.waits_for_enter:
            self._each(step, self._progress.note_ended, step)

    def _each(self, step: Step, note: Callable[..., list[int]], end: Step | None) -> None:
        output = "\n".join([*step.says, *(end.says if end else ())])
        status = 130 if step.for_ns or step.starts else step.status or 0
        for line in step.commands:
            for place in step.where:
                status_now = status if line == step.commands[-1] else 0
                command = ended(line, status_now, output, at_mininet=place == MININET)
                self.done.update(note(place, command, self.done))


@pytest.mark.parametrize("name", tuple(catalog.names()))
def test_every_step_of_every_unit_is_marked_when_its_command_has_ended(name: str) -> None:
    steps = catalog.find(name).steps
    typist = Typist(steps)
    for step in filter(can_be_done, steps):
        typist.perform(step)
        assert step.n in typist.done or step.waits_for_enter, step.title
    assert typist.done == {step.n for step in steps if can_be_done(step)}


def test_an_unknown_command_of_mininet_does_no_step() -> None:
    unit = catalog.find("1")
    steps = CommandSteps(unit.steps)
    unknown = "*** Unknown command: h1 ifconfig"
    line = ended("h1 ifconfig", output=unknown, at_mininet=True)
    assert steps.note_ended("mininet", line, ()) == []
    nodes = ended("nodes", output="available nodes are: \r\nh1 h2 s1\r\n", at_mininet=True)
    assert steps.note_ended("mininet", nodes, ()) == [4]


def test_a_server_that_runs_on_or_ends_is_not_the_server_of_a_later_step() -> None:
    flow = Step(2, "", ("h1",), ("iperf3 -c h2",))
    first, again = (Step(n, "", ("h2",), ("iperf3 -s",), starts="server") for n in (1, 4))
    steps = CommandSteps((first, flow, Step(3, "", ("h2",), stops="server"), again))
    server = TypedCommand("iperf3 -s", False)
    assert steps.note_begun("h2", server, ()) == []
    assert steps.note_running("h2", server, ()) == [1]
    assert steps.note_ended("h1", ended("iperf3 -c h2"), (1,)) == [2]
    assert steps.note_running("h2", server, (1, 2)) == []
    server.status = 130
    assert steps.note_ended("h2", server, (1, 2)) == [3]
    restarted = TypedCommand("iperf3 -s", False)
    assert steps.note_begun("h2", restarted, (1, 2, 3)) == []
    assert steps.note_running("h2", restarted, (1, 2, 3)) == [4]
