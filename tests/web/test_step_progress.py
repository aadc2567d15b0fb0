"""Test which steps of a lesson count as done, from terminal output and from the canvas."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import pytest

from wanlab.labs import catalog
from wanlab.labs.unit import GUI, MININET, Step
from wanlab.web.canvas_steps import can_be_done
from wanlab.web.model import Document, DrawnLink, DrawnNode
from wanlab.web.shell_marks import ShellMarks, TypedCommand
from wanlab.web.step_progress import CanvasSteps, CommandSteps


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
    assert steps.ended("h1", ended("ping -c 1 h2", 1), ()) == []
    assert steps.ended("h2", ended("ping -c 1 h2"), ()) == []
    assert steps.ended("h1", ended("ping  -c 1   h2"), ()) == [1]


def test_a_repeated_command_does_the_later_step_only_after_the_steps_between() -> None:
    steps = CommandSteps(STEPS)
    assert steps.ended("h1", ended("ping -c 1 h2"), {1}) == []
    assert steps.ended("client", ended("tc qdisc add dev s1-eth1 root netem delay 20ms"), {1}) == [
        2
    ]
    assert steps.ended("h1", ended("ping -c 1 h2"), {1, 2}) == [3]


def test_a_server_is_started_while_it_runs_and_ended_with_ctrl_c() -> None:
    steps = CommandSteps(STEPS)
    running = TypedCommand("iperf3 -s", False)
    assert steps.runs("h2", running, ()) == [4]
    assert steps.ended("h2", ended("iperf3 -s", 1), {4}) == [5]
    assert steps.ended("h2", ended("iperf3 -s", 127), ()) == []


def test_a_step_in_two_terminals_needs_both_with_their_expected_output() -> None:
    steps = CommandSteps(STEPS)
    assert steps.ended("h1", ended("ifconfig", output="RX packets 0"), ()) == []
    assert steps.ended("h2", ended("ifconfig", output="no such device"), ()) == []
    assert steps.ended("h2", ended("ifconfig", output="RX  packets 0"), ()) == [6]


def test_enter_completes_the_step_with_the_line_and_the_step_with_enter() -> None:
    steps = CommandSteps(STEPS)
    assert steps.begun("h1", TypedCommand("iperf3 -c h2", False), ()) == [7, 8]


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
                self._each(one, self._progress.begun, None)
            for one in typed:
                self._each(one, self._progress.ended, step)
        elif step.stops or step.ends:
            self._each(self._started.pop(step.stops or step.ends), self._progress.ended, step)
        elif step.starts:
            self._started[step.starts] = step
            self._each(step, self._progress.begun, None)
            self._each(step, self._progress.runs, None)
        elif not step.waits_for_enter:
            self._each(step, self._progress.ended, step)

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
    assert steps.ended("mininet", line, ()) == []
    nodes = ended("nodes", output="available nodes are: \r\nh1 h2 s1\r\n", at_mininet=True)
    assert steps.ended("mininet", nodes, ()) == [4]


def lab1(ip: str = "", *, is_linked: bool = True) -> Document:
    options: dict[str, object] = {"ip": ip} if ip else {}
    nodes = (
        DrawnNode("a", "host", "h1", options=options),
        DrawnNode("b", "host", "h2", options={"ip": "10.0.0.2/8"} if ip else {}),
        DrawnNode("s", "switch", "s1"),
    )
    links = (DrawnLink("1", "a", "s"), DrawnLink("2", "s", "b")) if is_linked else ()
    return Document(nodes, links)


def canvas_steps_of_lab1(
    actions: Iterable[tuple[tuple[str, str], Document]], done: set[int]
) -> list[list[int]]:
    steps = CanvasSteps(catalog.find("1").steps)
    marked = []
    for event, document in actions:
        new = steps.note([event] if event[0] else [], document, done)
        done |= set(new)
        marked.append(new)
    return marked


def test_canvas_steps_are_done_by_hand_one_after_another() -> None:
    nothing = ("", "")
    with_ip = lab1("10.0.0.1/8")
    marked = canvas_steps_of_lab1(
        [
            (("terminal", "client"), Document()),
            (("new", ""), Document()),
            (nothing, lab1(is_linked=False)),
            (nothing, lab1()),
            (nothing, with_ip),
            (("run", ""), with_ip),
            (("terminal", "h1"), with_ip),
            (("terminal", "h2"), with_ip),
            (("stop", ""), with_ip),
            (nothing, lab1()),
            (("save", "lab01/lab_topologies/other.mn"), lab1()),
        ],
        set(),
    )
    assert marked == [[1], [10], [], [11], [12], [13], [], [14], [18], [19], []]
