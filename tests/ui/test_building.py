"""Test building networks in the browser: generators, presets of links, pictures."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from axe import findings
from playwright.sync_api import expect
from served import Server
from student import LIMIT_MS, Student

expect.set_options(timeout=LIMIT_MS)
HIDE = """(state) => {
    Object.defineProperty(document, "visibilityState", { value: state, configurable: true });
    document.dispatchEvent(new Event("visibilitychange"));
}"""
ROWS = """new Set([...document.querySelectorAll('.tile')].map(
    (tile) => Math.round(tile.getBoundingClientRect().top))).size"""


def test_a_network_is_generated_and_downloaded_as_a_picture(student: Student) -> None:
    student.page.get_by_role("button", name="Generate a network").click()
    dialog = student.page.get_by_role("dialog", name="Generate a network")
    dialog.get_by_label("Shape").select_option(label="Ring")
    dialog.get_by_role("spinbutton", name="Switches").fill("3")
    dialog.get_by_label("Conditions of the links").select_option(label="DSL (16 Mbit/s, 10 ms)")
    student.picture("generate")
    dialog.get_by_role("button", name="Draw").click()
    dialog.wait_for(state="hidden")
    student.canvas.locator(".device-name").nth(5).wait_for()
    student.has_nodes("h1", "h2", "h3", "s1", "s2", "s3")
    expect(student.canvas.locator(".line-text").filter(has_text="16Mbps")).to_have_count(6)
    for form, beginning in (("PNG", b"\x89PNG\r\n\x1a\n"), ("PDF", b"%PDF-1.4")):
        with student.page.expect_download() as download:
            student.page.get_by_role("menubar").get_by_role("menuitem", name="File").click()
            student.page.get_by_role("menuitem", name="Export").click()
            student.page.get_by_role("menuitem", name=f"Picture ({form})").click()
        assert Path(download.value.path()).read_bytes()[:8] == beginning

    student.opens_link_menu("h1", "s1")
    student.page.get_by_role("menuitem", name="Set conditions").click()
    student.page.get_by_role("menuitem", name="Geostationary satellite").click()
    label = student.canvas.locator(".line-text").filter(has_text="270ms")
    expect(label).to_contain_text("loss 0.1%")

    student.chooses("File", "Generate")
    dialog.get_by_label("Shape").select_option(label="Fat tree")
    dialog.get_by_role("button", name="Draw").click()
    question = student.page.get_by_role("dialog", name="Save the changes?")
    question.get_by_role("button", name="Discard").click()
    student.canvas.locator(".device-name").nth(35).wait_for()
    student.picture("fat tree")

    for layout in ("Force-directed", "In a grid"):
        student.page.get_by_role("menubar").get_by_role("menuitem", name="Edit").click()
        student.page.get_by_role("menuitem", name="Arrange", exact=True).click()
        student.page.get_by_role("menuitem", name=layout).click()
        student.picture(layout)
    student.page.wait_for_function(f"() => {ROWS} === 6")
    student.presses("Control+z")
    student.page.wait_for_function(f"() => {ROWS} > 6")


def test_the_empty_canvas_offers_labs_and_example_networks(student: Student) -> None:
    empty = student.page.locator(".canvas-empty")
    student.picture("empty canvas")
    empty.get_by_role("button", name="Start a lab").click()
    student.page.get_by_role("heading", name="Labs", exact=True).wait_for()
    empty.get_by_role("button", name="A bottleneck").click()
    student.has_nodes("h1", "h2", "h3", "h4", "s1", "s2")


def instant(student: Student) -> str:
    """Return the instant of the recording that the empty canvas shows."""
    student.draws_again()
    return str(student.page.locator(".recorded-run canvas").get_attribute("data-instant"))


def moves(student: Student) -> None:
    shown = student.page.locator(".recorded-run canvas")
    expect(shown).not_to_have_attribute("data-instant", instant(student))


def rests(student: Student) -> None:
    before = instant(student)
    assert [instant(student) for _ in range(10)] == [before] * 10


def test_the_empty_canvas_plays_a_recorded_run_only_while_it_is_seen(student: Student) -> None:
    page = student.page
    page.set_viewport_size({"width": 1280, "height": 800})
    shown = page.get_by_role("img", name="A recorded run")
    moves(student)
    student.picture("light")
    assert findings(student, ".canvas-empty") == []
    # In a background tab.
    page.evaluate(HIDE, "hidden")
    rests(student)
    page.evaluate(HIDE, "visible")
    moves(student)
    page.get_by_role("button", name="Pause", exact=True).click()
    expect(shown).to_be_visible()
    rests(student)
    page.get_by_role("button", name="Dark theme").click()
    student.picture("dark")
    assert findings(student, ".canvas-empty") == []
    page.get_by_role("button", name="Play", exact=True).click()
    moves(student)
    # Where a tool is about to place a node, nothing moves; without room there is no recording.
    page.get_by_role("toolbar", name="Tools").get_by_role("button", name="Host").click()
    expect(page.get_by_role("button", name="Pause", exact=True)).to_be_hidden()
    rests(student)
    page.keyboard.press("Escape")
    page.set_viewport_size({"width": 1280, "height": 500})
    expect(shown).to_be_hidden()
    page.set_viewport_size({"width": 1280, "height": 800})
    page.emulate_media(reduced_motion="reduce")
    page.reload()
    student.is_connected()
    expect(page.get_by_role("button", name="Play", exact=True)).to_be_visible()
    rests(student)


@pytest.mark.machine
def test_try_this_runs_the_recorded_network(student: Student) -> None:
    student.page.set_viewport_size({"width": 1280, "height": 800})
    student.page.get_by_role("button", name="Try this").click()
    student.has_nodes("h1", "h2", "h3", "h4", "s1", "s2")
    student.reads(student.terminal_of("h2"), "iperf3 -c h4 -t 10")
    student.picture("try this")
    student.chooses_pace("as fast as possible")
    for sender in ("h1", "h2"):
        student.reads(student.terminal_of(sender), "iperf Done.")


def test_a_topology_of_containerlab_is_imported(student: Student, server: Server) -> None:
    (server.folder / "lab.clab.yml").write_text(LAB)
    student.chooses("File", "Open…")
    opening = student.page.get_by_role("dialog", name="Open")
    opening.get_by_text("lab.clab.yml").dblclick()
    dialog = student.page.get_by_role("dialog", name="Imported from containerlab")
    notes = dialog.get_by_role("listitem")
    expect(notes.filter(has_text="nokia_srlinux")).to_contain_text("spine, leaf")
    assert findings(student, "dialog[open]") == []
    student.picture("imported")
    dialog.get_by_role("button", name="Done").click()
    dialog.wait_for(state="hidden")
    student.has_nodes("spine", "leaf", "client")


LAB = """
name: clos
topology:
  kinds:
    nokia_srlinux: {image: ghcr.io/nokia/srlinux, type: ixr-d3l}
  nodes:
    spine: {kind: nokia_srlinux}
    leaf: {kind: nokia_srlinux, startup-config: leaf.cfg}
    client:
      kind: linux
      image: alpine:3
      exec: [ip address add 10.0.0.25/31 dev eth1, ethtool -K eth1 tx off]
  links:
    - endpoints: ["spine:e1-1", "leaf:e1-49"]
    - endpoints: ["client:eth1", "leaf:e1-1"]
"""


def test_frames_are_drawn_moved_and_exported(student: Student) -> None:
    student.draws("Host", 0.4, 0.4)
    box = student.canvas.bounding_box()
    student.page.get_by_role("toolbar", name="Tools").get_by_role("button", name="Frame").click()
    student.canvas.click(position={"x": box["width"] * 0.4, "y": box["height"] * 0.4 + 60})
    properties = student.page.get_by_label("Properties")
    properties.get_by_label("Text").fill("Office")
    properties.get_by_label("Text").press("Tab")
    properties.get_by_label("Colour").select_option(label="Blue")
    frame = student.canvas.locator(".react-flow__node-frame")
    expect(frame.locator(".frame-blue")).to_contain_text("Office")
    before, host = frame.bounding_box(), student.thing("h1").bounding_box()
    student.page.mouse.move(before["x"] + 30, before["y"] + 15)
    student.page.mouse.down()
    student.page.mouse.move(before["x"] + 130, before["y"] + 35, steps=4)
    student.page.mouse.up()
    expect(student.page.get_by_role("button", name="Undo")).to_have_attribute(
        "title", re.compile("Move frame")
    )
    moved = frame.bounding_box()
    assert moved["x"] > before["x"] + 50
    assert student.thing("h1").bounding_box() == host
    corner = frame.locator(".react-flow__resize-control.handle.bottom.right")
    corner.hover()
    student.page.mouse.down()
    student.page.mouse.move(moved["x"] + 400, moved["y"] + 230, steps=4)
    student.page.mouse.up()
    expect(student.page.get_by_role("button", name="Undo")).to_have_attribute(
        "title", re.compile("Resize frame")
    )
    assert frame.bounding_box()["width"] > moved["width"] + 50
    student.picture("frame")


def test_a_figure_of_the_gallery_is_chosen(student: Student) -> None:
    student.chooses("Help", "Gallery of published figures")
    figures = student.page.get_by_role("list", name="Figures").get_by_role("button")
    figures.nth(2).wait_for(timeout=LIMIT_MS)
    title = figures.nth(2).locator("strong").inner_text()
    figures.nth(2).click()
    chosen = student.page.get_by_role("article", name=title)
    expect(chosen.get_by_role("button", name="Run")).to_be_enabled()
