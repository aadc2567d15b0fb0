"""Test the timeline in the browser: going back, branching, two branches in one chart."""

from __future__ import annotations

import re
from typing import Any

import pytest
from axe import findings
from playwright.sync_api import expect
from served import Server
from student import LIMIT_MS, Student

expect.set_options(timeout=LIMIT_MS)
pytestmark = [pytest.mark.machine, pytest.mark.costs(8)]
BOTTLENECK = """\
nodes: [{host: h1, x: 100, y: 100}, {host: h2, x: 500, y: 100}]
links: [{link: [h1, h2], rate: 2Mbps, delay: 5ms, queue: {kind: fifo, limit: 60KB}}]
"""
FLOOD = (
    "for i in {1..30}; do for j in {1..14}; do printf %01400d 0 > /dev/udp/10.0.0.2/9; done; "
    "sleep 0.05; done; echo o''ver"
)
"""Sends at one and a half times the rate of the link."""


def begins(student: Student, server: Server) -> Any:
    """Run a network, ping in it, and change its link."""
    (server.folder / "bottleneck.yaml").write_text(BOTTLENECK)
    student.opens("bottleneck.yaml")
    student.runs()
    student.chooses_pace("as fast as possible")
    terminal = student.opens_terminal("h1")
    student.types(terminal, "ping -c 4 h2")
    student.reads(terminal, "4 received")
    return terminal


def timeline(student: Student) -> Any:
    return student.page.get_by_role("region", name="Timeline")


def handle(student: Student) -> Any:
    return student.page.get_by_role("slider", name="Instant")


@pytest.mark.long
def test_dragged_back_terminals_charts_and_canvas_show_that_instant(
    student: Student, server: Server
) -> None:
    terminal = begins(student, server)
    student.stands_still()
    student.sets_link("h1", "h2", "Delay", "80ms")
    expect(handle(student)).to_have_attribute("aria-valuetext", re.compile("now, .*delay 80ms"))
    student.types(terminal, "ping -c 3 h2; false")
    student.reads(terminal, re.compile("3 received.*", re.DOTALL))
    student.stands_still()
    line, slider = timeline(student), handle(student)
    expect(slider).to_have_attribute("aria-valuetext", re.compile(r"now, .*ping -c 3 h2; false"))
    student.picture("session")

    # Go to the first quarter with the mouse.
    frame = line.locator(".timeline-track").bounding_box()
    end_s = float(slider.get_attribute("aria-valuenow"))
    x = frame["x"] + 12 + (frame["width"] - 24) * 1.7 / end_s
    student.page.mouse.move(frame["x"] + frame["width"] - 12, frame["y"] + 20)
    student.page.mouse.down()
    student.page.mouse.move(x, frame["y"] + 20, steps=5)
    student.page.mouse.up()
    past = terminal.locator(".terminal-past .xterm-rows")
    expect(past).to_contain_text("icmp_seq=2")
    expect(past).not_to_contain_text("icmp_seq=3")
    expect(terminal.locator(".terminal-instant")).to_contain_text("As it was at 1.")
    expect(student.canvas).to_contain_text("5ms")
    expect(student.canvas).not_to_contain_text("80ms")
    student.picture("an earlier instant")
    assert findings(student) == []

    # Go from event to event with the keyboard.
    slider.focus()
    student.presses("Control+ArrowRight")
    expect(slider).to_have_attribute("aria-valuetext", re.compile("h1-h2: delay 80ms"))
    expect(student.canvas).to_contain_text("80ms")
    expect(past).to_contain_text("4 received")
    student.presses("ArrowLeft")
    expect(student.canvas).not_to_contain_text("80ms")
    student.presses("End")
    expect(slider).to_have_attribute("aria-valuetext", re.compile("^now"))
    expect(terminal.locator(".terminal-past")).to_have_count(0)
    student.reads(terminal, "3 received")

    # Add a marker and check its position on the line.
    line.get_by_role("button", name="Mark").click()
    dialog = student.page.get_by_role("dialog", name="Mark this instant")
    dialog.wait_for()
    assert findings(student, "dialog[open]") == []
    dialog.get_by_label("Text").fill("slow from here")
    dialog.get_by_role("button", name="OK").click()
    expect(slider).to_have_attribute("aria-valuetext", re.compile("last: slow from here"))

    # A server ended by Ctrl-C is not a failure, whatever its status.
    failed = line.locator(".timeline-command.is-failed")
    expect(failed).to_have_count(1)
    student.chooses_pace("real time")
    student.types(terminal, "iperf3 -s")
    student.reads(terminal, "listening on 5201")
    student.presses("Control+C")
    expect(slider).to_have_attribute("aria-valuetext", re.compile(r"iperf3 -s \(Ctrl-C\)"))
    expect(failed).to_have_count(1)


def test_a_terminal_that_was_hidden_shows_its_last_lines_of_an_earlier_instant(
    student: Student, server: Server
) -> None:
    terminal = begins(student, server)
    student.types(terminal, "seq 1 60")
    student.types(terminal, "echo $((6 * 7)) la''st")
    student.reads(terminal, "42 last")
    student.types(terminal, "true")
    student.stands_still()
    student.shows("Charts")
    handle(student).focus()
    student.presses("Control+ArrowLeft")
    expect(handle(student)).to_have_attribute("aria-valuetext", re.compile("last: h1: true"))
    student.shows("Terminals")
    past = terminal.locator(".terminal-past .xterm-rows")
    expect(past).to_contain_text("42 last")


def test_charts_and_the_timeline_mark_the_same_instant(student: Student, server: Server) -> None:
    begins(student, server)
    student.stands_still()
    student.shows("Charts")
    over = student.page.get_by_role("figure", name="Throughput").locator(".u-over")
    over.hover()
    mark = student.page.locator(".timeline-hover")
    expect(mark).to_be_visible()
    over.click()
    expect(handle(student)).to_have_attribute("aria-valuetext", re.compile(r"^\d+\.\d+ s"))
    timeline(student).locator(".timeline-track").hover()
    expect(mark).to_have_count(0)
    cursor = student.page.get_by_role("figure", name="Queue").locator(".u-cursor-x")
    expect(cursor).not_to_have_css("transform", re.compile(r"-10"))


def test_an_exported_run_replays_without_a_server(student: Student, server: Server) -> None:
    begins(student, server)
    student.stands_still()
    student.page.get_by_role("menubar").get_by_role("menuitem", name="File", exact=True).click()
    menu = student.page.get_by_role("menu", name="File")
    menu.get_by_role("menuitem", name="Export").click()
    with student.page.expect_download() as downloading:
        student.page.get_by_role("menuitem", name="Replay of the run (HTML)").click()
    file = server.folder.parent / "run.html"
    downloading.value.save_as(file)
    server.end()
    page = student.page.context.new_page()
    page.goto(file.as_uri())
    screen = page.locator("#screen")
    expect(screen).to_contain_text("4 received")
    expect(page.locator("#canvas .name")).to_have_text(["h1", "h2"])
    expect(page.locator("figure")).not_to_have_count(0)
    page.get_by_label("Instant").fill("1.7")
    expect(screen).to_contain_text("icmp_seq=1")
    expect(screen).not_to_contain_text("4 received")
    if student._pictures is not None:
        page.screenshot(path=str(student._pictures / "replay.png"))
    page.get_by_role("button", name="Play").click()
    expect(screen).to_contain_text("4 received")
    page.close()
    student.console_errors.clear()  # Chromium's messages about the missing server


@pytest.mark.long
def test_a_branch_continues_with_another_queue_and_both_are_in_one_chart(
    student: Student, server: Server
) -> None:
    terminal = begins(student, server)
    student.types(terminal, FLOOD)
    student.reads(terminal, "over")
    student.stands_still()
    line, slider = timeline(student), handle(student)

    def looks_at_the_start_of_the_flood() -> None:
        student.presses("Home")
        student.presses("Control+ArrowRight")
        student.presses("Control+ArrowRight")
        expect(slider).to_have_attribute("aria-valuetext", re.compile("last: h1: for i in"))

    slider.focus()
    looks_at_the_start_of_the_flood()
    expect(student.canvas).not_to_contain_text("Mbit/s")
    student.presses("PageUp")  # the middle of the flood, some 0.5 s later
    expect(student.canvas).to_contain_text("Mbit/s")
    expect(student.canvas.locator(".glass title")).to_contain_text(
        re.compile(r"Queue of h1-eth0: [\d.]+ kB of 60 kB")
    )
    student.picture("a queue")
    looks_at_the_start_of_the_flood()
    expect(student.canvas.locator(".glass")).to_have_count(0)
    line.get_by_role("button", name=re.compile(r"Continue from here about \d+ s")).click()
    line.get_by_role("progressbar").wait_for()
    student.picture("replaying")
    chip = line.get_by_role("button", name=re.compile("^branch 2 runs"))
    expect(chip).to_have_attribute("aria-pressed", "true")
    clock = student.page.get_by_role("group", name="Clock")
    clock.get_by_text("paused").wait_for()
    expect(slider).to_have_attribute("aria-valuetext", re.compile("^now, .*for i in"))
    expect(terminal.locator(".xterm-rows")).not_to_contain_text("over")

    student.sets_link("h1", "h2", "Queue", "fq_codel")
    clock.get_by_role("button", name="Resume").click()
    student.reads(terminal, "over")
    student.stands_still()
    line.get_by_role("button", name="Actions for branch 2").click()
    menu = student.page.get_by_role("menu", name="Branch branch 2")
    menu.get_by_role("menuitem", name="Rename").click()
    dialog = student.page.get_by_role("dialog", name="Rename branch 2")
    dialog.wait_for()
    assert findings(student, "dialog[open]") == []
    dialog.get_by_label("Name").fill("FQ_CoDel")
    dialog.get_by_role("button", name="OK").click()
    expect(line.get_by_role("button", name=re.compile("^FQ_CoDel runs"))).to_have_attribute(
        "title", re.compile(r"left original at .*changed: h1-h2: queue fq_codel")
    )

    student.shows("Charts")
    student.page.get_by_label("Compare with branch").select_option(label="original")
    chart = student.page.get_by_role("figure", name="Queue")
    rows = chart.locator(".plot-name")
    expect(rows.filter(has_text="h1-eth0")).to_have_count(2)
    expect(rows.filter(has_text="h1-eth0 · original")).to_have_count(1)
    student.picture("two branches in one chart")
    assert findings(student) == []

    # The other branch has its old terminal and link.
    line.get_by_role("button", name=re.compile("^original")).click()
    expect(student.canvas).not_to_contain_text("fq_codel")
    student.shows("Terminals")
    past = terminal.locator(".terminal-past .xterm-rows")
    expect(past).to_contain_text(re.compile("4 received.*over", re.DOTALL))
    line.get_by_role("button", name="Back to now").click()
    expect(student.canvas).to_contain_text("fq_codel")


def test_on_the_real_clock_the_time_line_says_why_it_cannot_branch(
    student: Student, server: Server
) -> None:
    (server.folder / "bottleneck.yaml").write_text(BOTTLENECK)
    student.opens("bottleneck.yaml")
    student.page.get_by_role("group", name="Clock").get_by_label("Clock").select_option("real")
    student.runs()
    line = timeline(student)
    expect(line.get_by_role("note")).to_contain_text("on the real clock a session cannot go back")
    expect(line.get_by_role("button", name="Continue from here")).to_have_count(0)


def test_what_if_repeats_the_run_with_another_queue_and_shows_both(
    student: Student, server: Server
) -> None:
    terminal = begins(student, server)
    student.types(terminal, FLOOD)
    student.reads(terminal, "over")
    student.stands_still()
    student.opens_link_menu("h1", "h2")
    student.page.get_by_role("menuitem", name="What if").click()
    dialog = student.page.get_by_role("dialog", name="What if h1–h2 were different?")  # noqa: RUF001
    expect(dialog).to_contain_text("Now: fifo 60KB")
    dialog.get_by_label("Property").select_option(label="Queue size (bytes)")
    dialog.get_by_label("Value").fill("two")
    expect(dialog.get_by_role("button", name="Repeat with this value")).to_be_disabled()
    dialog.get_by_label("Value").fill("2MB")
    expect(dialog).to_contain_text("happens again with this value, in a new branch, in about")
    student.picture("what if")
    assert findings(student, "dialog[open]") == []
    dialog.get_by_role("button", name="Repeat with this value").click()
    line = timeline(student)
    chip = line.get_by_role("button", name=re.compile("^queue fifo 2MB runs"))
    expect(chip).to_have_attribute("aria-pressed", "true")
    student.page.get_by_text("queue fifo 2MB: repeated").wait_for()
    table = student.page.get_by_role("region", name="Numbers of both branches")
    drops = table.get_by_role("row", name=re.compile("^drops h1-eth0"))
    expect(drops).to_contain_text(re.compile(r"0 packets.*[1-9]\d* packets"))
    highest = table.get_by_role("row", name=re.compile("^queue h1-eth0, highest"))
    expect(highest).to_contain_text("kB")
    rows = student.page.get_by_role("figure", name="Queue").locator(".plot-name")
    expect(rows.filter(has_text="h1-eth0 · original")).to_have_count(1)
    student.picture("both runs")
    assert findings(student) == []
    expect(student.canvas).to_contain_text("fifo 2MB")
    expect(student.page.get_by_role("group", name="Clock")).to_contain_text("paused")
    student.shows("Terminals")
    student.reads(terminal, re.compile("4 received.*over", re.DOTALL))
