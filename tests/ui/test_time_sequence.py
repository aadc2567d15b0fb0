"""Test the time-sequence graph of a flow in the browser: from a chart, and with its zoom."""

from __future__ import annotations

import re
from typing import Any

import pytest
from axe import findings
from playwright.sync_api import expect
from served import Server
from student import LIMIT_MS, Student

expect.set_options(timeout=LIMIT_MS)
pytestmark = pytest.mark.machine
BOTTLENECK = """\
nodes: [{host: h1, x: 100, y: 100}, {switch: s1, x: 300, y: 100}, {host: h2, x: 500, y: 100}]
links:
  - {link: [h1, s1]}
  - {link: [s1, h2], rate: 5Mbps, delay: 10ms, queue: {kind: fifo, limit: 30KB}}
"""


def graph(student: Student) -> Any:
    return student.page.get_by_role("application", name=re.compile("^Time–sequence graph of"))  # noqa: RUF001


def test_a_flow_is_drawn_down_to_one_loss(student: Student, server: Server) -> None:
    (server.folder / "bottleneck.yaml").write_text(BOTTLENECK)
    student.opens("bottleneck.yaml")
    student.runs()
    student.chooses_pace("as fast as possible")
    server_terminal = student.opens_terminal("h2")
    student.types(server_terminal, "iperf3 -s -1 -D; sleep 0.1; echo read''y")
    student.reads(server_terminal, "ready")
    terminal = student.opens_terminal("h1")
    student.types(terminal, "iperf3 -c h2 -t 3; echo o''ver")
    student.reads(terminal, "over")
    student.stands_still()

    # The whole run is repeated for the graph, because nothing was captured.
    student.shows("Charts")
    student.page.get_by_role("button", name="cwnd", exact=True).click()
    chart = student.page.get_by_role("figure", name="cwnd")
    expect(chart.locator(".plot-row")).not_to_have_count(0)
    chart.get_by_role("button", name="Time–sequence graph of a flow").click()  # noqa: RUF001
    menu = student.page.get_by_role("menu", name="Time–sequence graph")  # noqa: RUF001
    menu.get_by_role("menuitem", name=re.compile("h1 → h2")).click()
    student.page.get_by_role("menuitem", name="Of the whole run").click()
    expect(graph(student)).to_be_visible()
    frame = graph(student)
    expect(frame).to_have_attribute("aria-label", re.compile(r"h1(:\d+)? → h2:5201"))
    pane = student.page.locator(".sequence:visible")
    counts = pane.get_by_text(
        re.compile(r"^[\d,]+ segments, [1-9][\d,]* lost, [1-9][\d,]* sent again")
    )
    expect(counts).to_be_visible()
    expect(counts).not_to_contain_text("unknown")
    expect(pane.locator(".sequence-legend")).to_contain_text("receive window")
    expect(pane.locator(".sequence-legend")).to_contain_text("SACK")
    student.makes_terminals_large()
    student.picture("a whole flow")
    assert findings(student) == []

    # Keys go to the losses; the note says what became of each.
    note = pane.locator(".sequence-note")
    frame.focus()
    student.presses("n")
    expect(note).to_contain_text(re.compile(r"^Loss 1 of \d+ at [\d.]+ s: .*sent again .* later"))
    student.picture("one loss")
    student.presses("n")
    expect(note).to_contain_text(re.compile(r"^Loss 2 of"))
    student.presses("p")
    expect(note).to_contain_text(re.compile(r"^Loss 1 of"))
    # The pointer names what is near it, the mouse zooms in and a double-click shows all.
    box = frame.bounding_box()
    middle = (box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    everything = pane.get_by_role("button", name="Show all")
    student.presses("Home")
    expect(everything).to_be_disabled()
    student.page.mouse.move(*middle)
    student.page.mouse.wheel(0, -300)
    expect(everything).to_be_enabled()
    student.page.mouse.dblclick(*middle)
    expect(everything).to_be_disabled()
    student.page.mouse.move(middle[0] - 80, middle[1] - 40)
    student.page.mouse.down()
    student.page.mouse.move(middle[0] + 80, middle[1] + 40, steps=4)
    student.page.mouse.up()
    expect(everything).to_be_enabled()
    # The list has the same packets.
    pane.get_by_role("button", name="Packet list").click()
    rows = student.page.get_by_role("region", name=re.compile(r"^Packets of .*h1-eth0\.pcapng"))
    expect(rows).to_contain_text("5201")
    student.page.get_by_role("button", name="Time–sequence graph", exact=True).click()  # noqa: RUF001
    expect(graph(student)).to_be_visible()
