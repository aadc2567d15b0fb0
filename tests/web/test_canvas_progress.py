"""Test which steps of a lesson count as done, from actions and drawings on the canvas."""

from __future__ import annotations

from collections.abc import Iterable

from wanlab.labs import catalog
from wanlab.web.lessons.canvas_progress import CanvasAction, CanvasSteps
from wanlab.web.protocol.model import Document, DrawnLink, DrawnNode


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
    actions: Iterable[tuple[CanvasAction | None, Document]], done: set[int]
) -> list[list[int]]:
    steps = CanvasSteps(catalog.find("1").steps)
    marked = []
    for action, document in actions:
        new = steps.note([action] if action else [], document, done)
        done |= set(new)
        marked.append(new)
    return marked


def test_canvas_steps_are_done_by_hand_one_after_another() -> None:
    with_ip = lab1("10.0.0.1/8")
    marked = canvas_steps_of_lab1(
        [
            (CanvasAction("terminal", "client"), Document()),
            (CanvasAction("new"), Document()),
            (None, lab1(is_linked=False)),
            (None, lab1()),
            (None, with_ip),
            (CanvasAction("run"), with_ip),
            (CanvasAction("terminal", "h1"), with_ip),
            (CanvasAction("terminal", "h2"), with_ip),
            (CanvasAction("stop"), with_ip),
            (None, lab1()),
            (CanvasAction("save", "lab01/lab_topologies/other.mn"), lab1()),
        ],
        set(),
    )
    assert marked == [[1], [10], [], [11], [12], [13], [], [14], [18], [19], []]


def test_a_run_before_the_drawing_is_not_the_run_of_the_drawing() -> None:
    with_ip = lab1("10.0.0.1/8")
    marked = canvas_steps_of_lab1(
        [
            (CanvasAction("run"), Document()),
            (CanvasAction("terminal", "client"), Document()),
            (CanvasAction("new"), Document()),
            (CanvasAction("stop"), Document()),
            (None, lab1()),
            (None, with_ip),
            (CanvasAction("run"), with_ip),
        ],
        set(),
    )
    assert marked == [[], [1], [10], [], [11], [12], [13]]


def test_a_run_before_a_file_is_opened_is_not_the_run_of_that_file() -> None:
    until_saved = set(range(1, 27))
    marked = canvas_steps_of_lab1(
        [
            (CanvasAction("run"), lab1()),
            (CanvasAction("open", "lab01/lab_topologies/lab1.mn"), lab1()),
            (CanvasAction("run"), lab1()),
        ],
        until_saved,
    )
    assert marked == [[], [27], [28]]
