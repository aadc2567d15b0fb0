"""Test charts beside terminals: panes that split, float and survive a reload."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import expect
from student import LIMIT_MS, Student

pytestmark = pytest.mark.machine
expect.set_options(timeout=LIMIT_MS)
THREE_HOSTS = """\
nodes:
  - {host: h1, x: 100, y: 80}
  - {host: h2, x: 100, y: 300}
  - {host: h3, x: 600, y: 180}
  - {switch: s1, x: 350, y: 180}
links:
  - {link: [h1, s1], rate: 10Mbps}
  - {link: [h2, s1], rate: 10Mbps}
  - {link: [s1, h3], rate: 10Mbps}
"""


@pytest.mark.long
def test_a_chart_of_several_ports_and_flows_stands_beside_terminals(
    student: Student, server: Any
) -> None:
    (server.folder / "three.yaml").write_text(THREE_HOSTS)
    page = student.page
    student.opens("three.yaml")
    student.runs()
    h3 = student.opens_terminal("h3")
    student.types(h3, "iperf3 -s -D; iperf3 -s -p 5202 -D; echo $((6 * 7)) ready")
    student.reads(h3, "42 ready")
    student.selects_link("s1", "h3")
    page.get_by_role("button", name="+ Chart").click()
    page.get_by_role("button", name="Split right").click()
    chart = page.get_by_role("toolbar", name="Chart", exact=True).locator("..")
    expect(chart).to_be_visible()
    expect(page.locator(".terminal-place")).to_be_visible()
    student.makes_terminals_large()

    chart.get_by_role("button", name="cwnd").click()
    chart.get_by_title("Choose ports and flows").click()
    choice = chart.get_by_role("group", name="Ports and flows")
    for port in ("h1-eth0", "h2-eth0"):
        choice.get_by_label(port, exact=True).check()
    choice.get_by_label("h3-eth0", exact=True).uncheck()
    choice.get_by_role("button", name="Done").click()
    h1 = student.opens_terminal("h1")
    page.get_by_role("button", name="Split right").click()
    student.types(h1, "iperf3 -c 10.0.0.3 -t 4 > h1.txt & sleep 5")
    curve = chart.get_by_role("figure", name="Throughput").locator(".plot-row")
    expect(curve).to_have_count(3)
    assert [row.split("\n")[0] for row in curve.all_inner_texts()] == [
        "h1-eth0",
        "h2-eth0",
        "s1-eth3",
    ]
    flows = chart.get_by_role("figure", name="cwnd").locator(".plot-row")
    expect(flows.filter(has_text="h1 → h3:5201").first).to_be_visible()
    student.picture("terminal and chart")

    page.get_by_role("tab", name=re.compile("h1-eth0|of 3 ports")).click()
    page.get_by_role("button", name="Float").click()
    floating = page.get_by_role("region", name="Floating pane")
    expect(floating.get_by_role("figure", name="Throughput")).to_be_visible()
    grip = floating.get_by_role("button", name="Move the pane")
    before = floating.bounding_box()
    grip.focus()
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    page.wait_for_function(
        "x => document.querySelector('.pane-floating').getBoundingClientRect().x === x",
        arg=before["x"] + 60,
    )
    student.shows("Lessons")
    student.picture("floating")

    page.reload()
    student.is_connected()
    expect(floating.get_by_role("figure", name="Throughput")).to_be_visible()
    expect(floating.locator(".plot-row").filter(has_text="h2-eth0").first).to_be_visible()
    assert floating.bounding_box()["x"] == before["x"] + 60
    expect(page.locator(".pane-column")).to_have_count(2)
    floating.get_by_role("button", name="Dock").click()
    expect(page.locator(".pane-column")).to_have_count(3)
    expect(page.get_by_role("region", name="Floating pane")).to_have_count(0)
    student.picture("docked after a reload")


@pytest.mark.long
def test_plot_q_opens_the_chart_of_the_queue_beside_its_terminal(
    student: Student, server: Any
) -> None:
    (server.folder / "three.yaml").write_text(THREE_HOSTS)
    page = student.page
    student.opens("three.yaml")
    student.runs()
    client = student.opens_terminal("client")
    student.types(client, "sudo plot_q.sh s1-eth3")
    chart = page.get_by_role("tab", name="Queue s1-eth3")
    expect(chart).to_have_attribute("aria-selected", "true")
    expect(page.locator(".pane-column")).to_have_count(2)
    expect(page.get_by_role("figure", name="Queue")).to_be_visible()
    student.reads(client, "queue of s1-eth3 (tbf")
    student.picture("plot_q and its chart")
    # The focus has stayed in the terminal.
    student.presses("s")
    student.reads(client, "written: queue_s1-eth3.pdf queue_s1-eth3.dat")
    # A second time it is the same chart.
    student.types(client, "sudo plot_q.sh -t 0.5 s1-eth3")
    student.reads(client, "queue_s1-eth3_2.pdf")
    expect(chart).to_have_count(1)


WHERE = """(name) => {
    const texts = document.createTreeWalker(document.querySelector(".xterm-rows"), NodeFilter.SHOW_TEXT);
    let last = null;
    while (texts.nextNode()) {
        const at = texts.currentNode.data.indexOf(name);
        if (at < 0) continue;
        last = document.createRange();
        last.setStart(texts.currentNode, at);
        last.setEnd(texts.currentNode, at + name.length);
    }
    const { x, y, width, height } = last.getBoundingClientRect();
    return [x + width / 2, y + height / 2];
}"""


def test_a_click_on_a_files_name_opens_it_in_the_terminal_in_use_only(
    student: Student, server: Any
) -> None:
    (server.folder / "three.yaml").write_text(THREE_HOSTS)
    page = student.page
    student.opens("three.yaml")
    student.runs()
    h1 = student.opens_terminal("h1")
    student.types(h1, "echo fine > notes.txt; echo no''tes.txt is here")
    student.reads(h1, "notes.txt is here")
    student.canvas.focus()
    page.mouse.move(*page.evaluate(WHERE, "notes.txt"), steps=3)
    h1.locator(".xterm-cursor-pointer").wait_for()
    page.mouse.down()
    page.mouse.up()
    expect(h1.locator("textarea")).to_be_focused()
    page.keyboard.type("echo $((6 * 7)) typed")
    student.presses("Enter")
    student.reads(h1, "42 typed")
    file = page.get_by_role("tab", name="notes.txt")
    expect(file).to_have_count(0)

    page.mouse.move(0, 0)
    page.mouse.move(*page.evaluate(WHERE, "notes.txt is here"), steps=3)
    page.mouse.move(*page.evaluate(WHERE, "notes.txt"), steps=3)
    h1.locator(".xterm-cursor-pointer").wait_for()
    page.mouse.down()
    page.mouse.up()
    # The file covers the terminal: what is typed now does nothing, above all not on the canvas.
    expect(file).to_be_focused()
    expect(page.locator(".file-text")).to_have_text("fine\n")
    student.presses("s")
    tools = page.get_by_role("toolbar", name="Tools")
    expect(tools.get_by_role("button", name="Select")).to_have_attribute("aria-pressed", "true")


def test_f6_goes_from_pane_to_pane(student: Student, server: Any) -> None:
    (server.folder / "three.yaml").write_text(THREE_HOSTS)
    page = student.page
    student.opens("three.yaml")
    student.runs()
    for host in ("h1", "h2"):
        student.opens_terminal(host)
    page.get_by_role("button", name="Split below").click()
    expect(page.locator(".pane-column")).to_have_count(1)
    expect(page.locator(".pane")).to_have_count(2)
    for host in ("h1", "h2"):
        expect(page.get_by_role("group", name=f"Terminal {host}")).to_be_visible()
    student.canvas.focus()
    page.keyboard.press("F6")  # to the timeline
    for host in ("h1", "h2"):
        page.keyboard.press("F6")
        terminal = page.get_by_role("group", name=f"Terminal {host}")
        expect(terminal.locator("textarea")).to_be_focused()
    page.keyboard.press("F6")
    expect(page.get_by_role("tab", name="Properties")).to_be_focused()
    page.keyboard.press("Shift+F6")
    expect(page.get_by_role("group", name="Terminal h2").locator("textarea")).to_be_focused()


@pytest.mark.long
def test_a_line_is_typed_into_several_terminals_at_the_same_instant(
    student: Student, server: Any
) -> None:
    (server.folder / "three.yaml").write_text(THREE_HOSTS)
    page = student.page
    student.opens("three.yaml")
    student.runs()
    hosts = [student.opens_terminal(host) for host in ("h1", "h2", "h3")]
    student.types(hosts[2], "echo apart")
    page.get_by_role("button", name="Tile").click()
    page.get_by_role("button", name="Type in several").click()
    together = page.get_by_role("form", name="Type into several terminals")
    line = together.get_by_label("Line for all chosen terminals")
    expect(line).to_be_focused()
    together.get_by_label("h3", exact=True).uncheck()
    line.focus()
    page.keyboard.type("echo at $EPOCHREALTIME")
    page.keyboard.press("Enter")
    first, second = (
        re.findall(r"at (\d+\.\d{6})", student.reads(terminal, re.compile(r"at \d")))
        for terminal in hosts[:2]
    )
    assert len(first) == 1
    assert first == second
    assert "EPOCH" not in hosts[2].inner_text()
    student.picture("the same instant")

    expect(line).to_have_value("")
    # One Enter starts the waiting line of each terminal.
    for terminal, word in zip(hosts[:2], ("one", "two"), strict=True):
        terminal.locator(".xterm-screen").click()
        page.keyboard.type(f"echo {word} $EPOCHREALTIME")
    line.focus()
    page.keyboard.press("Enter")
    texts = [student.reads(terminal, re.compile(r"(one|two) \d")) for terminal in hosts[:2]]
    begun = [re.findall(r"(?:one|two) (\d+\.\d{6})", text) for text in texts]
    assert len(begun[0]) == 1
    assert begun[0] == begun[1]
    assert begun[0] > first
