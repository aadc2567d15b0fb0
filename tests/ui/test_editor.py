"""Test drawing a network in the browser with pointer and keyboard, problems, and files."""

from __future__ import annotations

import re
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from axe import findings
from pencil import Pencil
from playwright.sync_api import expect
from student import LIMIT_MS, Student
from web_client import wait_until

import wanlab
from wanlab.topology import Queue

expect.set_options(timeout=LIMIT_MS)


@pytest.fixture
def pencil(student: Student) -> Pencil:
    return Pencil(student)


def draw_two_hosts(pencil: Pencil) -> None:
    pencil.places("Host", (150, 100), (150, 250))
    pencil.places("Switch", (400, 170))
    pencil.joins("host h1", "switch s1")
    pencil.joins("host h2", "switch s1")
    pencil.links(2)


def test_a_drawing_is_saved_in_miniedits_format(pencil: Pencil, server: Any) -> None:
    draw_two_hosts(pencil)
    expect(pencil.node("host h1")).to_contain_text("10.0.0.1/8")
    pencil.node("host h1").click()
    pencil.fills("IP address", "10.0.0.11/8")
    expect(pencil.node("host h1")).to_contain_text("10.0.0.11/8")
    pencil.student.picture("drawn")

    pencil.page.keyboard.press("Escape")
    pencil.page.get_by_role("application", name="Canvas").press("Control+s")
    dialog = pencil.page.get_by_role("dialog", name="Save as")
    dialog.get_by_label("Name").fill("two")
    dialog.get_by_role("button", name="Save").click()
    expect(pencil.page.get_by_role("status").filter(has_text="Saved two.mn")).to_be_visible()

    saved = wanlab.load(server.folder / "two.mn")
    assert [(node.name, node.x, node.y) for node in saved.nodes] == [
        ("h1", 150, 100),
        ("h2", 150, 250),
        ("s1", 400, 170),
    ]
    assert saved.hosts[0].ip == "10.0.0.11/8"
    assert [(link.a.node, link.b.node) for link in saved.links] == [("h1", "s1"), ("h2", "s1")]


def test_a_network_is_drawn_with_the_keyboard_alone(pencil: Pencil) -> None:
    page = pencil.page
    page.get_by_role("application", name="Canvas").focus()
    for key in ("h", "Enter", "s", "Enter", "Escape"):
        page.keyboard.press(key)
    expect(pencil.node("switch s1")).to_be_focused()
    page.keyboard.press("l")
    # From the last node, Tab leads to the first one and does not leave the canvas.
    for key, focused in (("Tab", "host h1"), ("Shift+Tab", "switch s1"), ("Tab", "host h1")):
        page.keyboard.press(key)
        expect(pencil.node(focused)).to_be_focused()
    page.keyboard.press("Enter")
    pencil.links(1)

    pencil.node("host h1").focus()
    before = pencil.centre("host h1")
    page.keyboard.press("Tab")
    page.keyboard.press("Shift+Tab")
    expect(page.get_by_role("heading", name="h1", exact=True)).to_be_visible()
    for _ in range(3):
        page.keyboard.press("ArrowLeft")
    pencil.stands("host h1", before[0] - 30, before[1])

    page.keyboard.press("Shift+F10")
    menu = page.get_by_role("menu", name="Node")
    expect(menu.get_by_role("menuitem").first).to_be_focused()
    page.keyboard.press("ArrowDown")
    expect(menu.get_by_role("menuitem", name="Link to…")).to_be_focused()
    page.keyboard.press("Escape")
    expect(menu).to_have_count(0)

    page.keyboard.press("Enter")
    expect(pencil.field("Name")).to_be_focused()
    page.keyboard.type("client")
    page.keyboard.press("Enter")
    expect(pencil.node("host client")).to_be_visible()

    pencil.node("host client").focus()
    page.keyboard.press("Delete")
    pencil.links(0)
    pencil.has_nodes("s1")


def test_a_mistake_is_shown_while_typing_and_reached_from_the_problem_list(pencil: Pencil) -> None:
    draw_two_hosts(pencil)
    pencil.node("host h2").click()
    pencil.field("IP address").press_sequentially("10.0.0.300")
    expect(
        pencil.page.get_by_text("not an IP address: write for example 10.0.0.1/8")
    ).to_be_visible()
    pencil.page.keyboard.press("Enter")
    expect(pencil.node("host h2").locator(".badge")).to_be_visible()

    pencil.node("switch s1").click()
    pencil.student.shows("Problems")
    pencil.page.get_by_role("list", name="Problems").get_by_role("button").click()
    expect(pencil.field("IP address")).to_be_focused()
    expect(pencil.field("IP address")).to_have_value("10.0.0.300")
    pencil.student.picture("problem")
    pencil.fills("IP address", "10.0.0.3")
    expect(pencil.page.get_by_text("No problems")).to_be_visible()
    expect(pencil.node("host h2").locator(".badge")).to_have_count(0)


def test_a_link_has_properties_for_each_direction(pencil: Pencil, server: Any) -> None:
    draw_two_hosts(pencil)
    pencil.node("host h1").click()
    pencil.page.get_by_role("region", name="Links").get_by_role("button").click()
    expect(pencil.page.get_by_role("heading", name="h1\N{EN DASH}s1")).to_be_visible()
    pencil.fills("Rate", "10Mbps")
    pencil.page.get_by_role("radio", name="h1 → s1").click()
    pencil.fills("Delay", "20ms")
    pencil.field("Queue").select_option("fq_codel")
    texts = pencil.page.locator(".line-text")
    expect(texts.filter(has_text="→ 10Mbps · 20ms · fq_codel")).to_have_count(1)
    pencil.page.get_by_role("radio", name="both ways").click()
    expect(pencil.field("Delay")).to_have_attribute("placeholder", "20ms / none")

    with pencil.page.expect_download() as download:
        pencil.chooses("File", "Export", "YAML")
    path = server.folder / "exported.yaml"
    download.value.save_as(path)
    link = wanlab.load(path).links[0]
    assert (link.a.conditions.rate_bps, link.b.conditions.rate_bps) == (10_000_000, 10_000_000)
    assert (link.a.conditions.delay_ns, link.b.conditions.delay_ns) == (20_000_000, 0)
    assert link.a.conditions.queue == Queue("fq_codel")
    assert link.b.conditions.queue is None


def test_a_drag_is_one_undo_step_and_snaps_to_other_nodes(
    pencil: Pencil, come: Callable[[], Student]
) -> None:
    draw_two_hosts(pencil)
    x, y = pencil.centre("host h2")
    pencil.drags((x, y), (x + 103, y + 60))
    pencil.stands("host h2", x + 103, y + 60)
    # Drag it back, to 3 pixels beside the column of h1.
    pencil.drags((x + 103, y + 60), (x + 3, y + 90))
    pencil.stands("host h2", x, y + 90)
    other = Pencil(come())
    expect(other.node("host h2")).to_be_visible()

    undo = pencil.page.get_by_role("button", name="Undo")
    expect(undo).to_have_attribute("title", "Undo: Move h2 (Ctrl+Z)")
    undo.click()
    undo.click()
    expect(undo).to_have_attribute("title", "Undo: Link h2 and s1 (Ctrl+Z)")
    pencil.stands("host h2", x, y)
    for _ in range(5):
        undo.click()
    expect(pencil.page.locator(".device-name")).to_have_count(0)
    expect(other.page.locator(".device-name")).to_have_count(0)
    pencil.page.keyboard.press("Control+y")
    expect(other.node("host h1")).to_be_visible()


def test_the_selection_is_copied_aligned_and_deleted(pencil: Pencil) -> None:
    draw_two_hosts(pencil)
    x, y = pencil.centre("host h1")
    pencil.drags((x - 70, y - 50), (x + 330, y + 250))
    expect(pencil.page.get_by_role("heading", name=re.compile("elements"))).to_be_visible()
    pencil.node("host h1").click()
    expect(pencil.page.get_by_role("heading", name="h1", exact=True)).to_be_visible()
    pencil.drags((x - 70, y - 50), (x + 330, y + 250))
    pencil.page.keyboard.press("Control+c")
    pencil.page.keyboard.press("Control+v")
    pencil.links(4)
    pencil.has_nodes("h1", "h2", "h3", "h4", "s1", "s2")

    pencil.chooses("Edit", "Align", "Top")
    for name, column in (("host h3", 0), ("host h4", 0), ("switch s2", 250)):
        pencil.stands(name, x + column + 40, y + 40)
    pencil.page.get_by_role("application", name="Canvas").press("Delete")
    pencil.links(2)
    pencil.page.keyboard.press("Control+a")
    pencil.page.keyboard.press("Delete")
    expect(pencil.page.get_by_text("The canvas is empty")).to_be_visible()


def test_the_ip_base_changes_the_addresses_on_the_canvas(pencil: Pencil) -> None:
    draw_two_hosts(pencil)
    pencil.chooses("Edit", "Preferences…")
    dialog = pencil.page.get_by_role("dialog", name="Preferences")
    dialog.get_by_label("IP base").fill("15.0.0.0/8")
    dialog.get_by_role("button", name="Done").click()
    expect(pencil.node("host h2")).to_contain_text("15.0.0.2/8")


def test_opening_a_file_asks_about_unsaved_changes(pencil: Pencil, server: Any) -> None:
    course = Path(wanlab.__file__).parent / "labs" / "units"
    for unit in ("lab01", "lab14"):
        text = (course / unit / "topology.mn").read_text(encoding="utf-8")
        (server.folder / f"{unit}.mn").write_text(text, encoding="utf-8")
    pencil.places("Host", (150, 100))
    pencil.page.keyboard.press("Control+o")
    dialog = pencil.page.get_by_role("dialog", name="Open")
    dialog.get_by_role("button", name="lab14.mn").click()
    dialog.get_by_role("button", name="Open", exact=True).click()
    question = pencil.page.get_by_role("dialog", name="Save the changes?")
    question.get_by_role("button", name="Discard").click()
    expect(pencil.page.get_by_text("lab14.mn", exact=True)).to_be_visible()
    pencil.has_nodes(*(node.name for node in wanlab.load(server.folder / "lab14.mn").nodes))

    pencil.student.shows("Files")
    pencil.page.get_by_role("list", name="Files of the working folder").get_by_role(
        "button", name="lab01.mn"
    ).click()
    expect(pencil.page.locator(".device-name")).to_have_count(
        len(wanlab.load(server.folder / "lab01.mn").nodes)
    )


def test_a_file_of_the_computer_is_opened_by_dropping_or_choosing_it(
    pencil: Pencil, tmp_path: Path
) -> None:
    course = Path(wanlab.__file__).parent / "labs" / "units"
    page = pencil.page
    text = (course / "lab14" / "topology.mn").read_text(encoding="utf-8")
    data = page.evaluate_handle(
        "(text) => { const data = new DataTransfer();"
        " data.items.add(new File([text], 'lab14.mn')); return data; }",
        text,
    )
    for event in ("dragover", "drop"):
        page.dispatch_event(".canvas-area", event, {"dataTransfer": data})
    pencil.has_nodes(*(node.name for node in wanlab.load(course / "lab14" / "topology.mn").nodes))
    other = tmp_path / "other.mn"
    other.write_text((course / "lab05" / "topology.mn").read_text(encoding="utf-8"))
    page.keyboard.press("Control+o")
    with page.expect_file_chooser() as chooser:
        page.get_by_role("dialog", name="Open").get_by_role("button", name="computer").click()
    chooser.value.set_files(other)
    pencil.has_nodes("h1", "h2", "s1", "s2")


def test_starting_a_lesson_asks_about_unsaved_changes_as_opening_a_file_does(
    pencil: Pencil, server: Any
) -> None:
    pencil.places("Host", (150, 100))
    pencil.page.keyboard.press("Control+s")
    saving = pencil.page.get_by_role("dialog", name="Save as")
    saving.get_by_label("Name").fill("mine.yaml")
    saving.get_by_role("button", name="Save").click()
    saving.wait_for(state="hidden")
    pencil.places("Host", (300, 100))
    pencil.student.reads_lesson("Lab 5:")
    start = pencil.page.get_by_role("button", name="Start", exact=True)
    question = pencil.page.get_by_role("dialog", name="Save the changes?")
    start.click()
    expect(question).to_contain_text("mine.yaml has unsaved changes.")
    question.get_by_role("button", name="Cancel").click()
    pencil.has_nodes("h1", "h2")
    start.click()
    question.get_by_role("button", name="Save").click()
    pencil.has_nodes("h1", "h2", "s1", "s2")
    assert [node.name for node in wanlab.load(server.folder / "mine.yaml").nodes] == ["h1", "h2"]


def test_an_opened_file_fits_the_window_and_keys_work_after_a_menu(
    pencil: Pencil, server: Any
) -> None:
    hosts = ", ".join(f"{{host: h{number}}}" for number in range(1, 25))
    links = ", ".join(f"{{link: [h{number}, s1]}}" for number in range(1, 25))
    for name in ("one", "two"):
        text = f"nodes: [{{switch: s1}}, {hosts}]\nlinks: [{links}]"
        (server.folder / f"{name}.yaml").write_text(text)
    page = pencil.page
    for name in ("one", "two"):
        pencil.student.opens(f"{name}.yaml")
        page.wait_for_function(
            """() => {
                const box = document.querySelector('.canvas').getBoundingClientRect();
                const frames = [...document.querySelectorAll('.react-flow__node')].map(
                    (node) => node.getBoundingClientRect());
                return frames.length === 25 && frames.every((frame) =>
                    frame.left >= box.left && frame.right <= box.right &&
                    frame.top >= box.top && frame.bottom <= box.bottom);
            }"""
        )
        pencil.chooses("View", "Actual size")
        page.wait_for_function(
            "() => document.querySelector('.react-flow__viewport').style.transform.endsWith('(1)')"
        )
    page.keyboard.press("Control+a")
    expect(page.get_by_role("heading", name="49 elements")).to_be_visible()
    pencil.chooses("View", "Fit to window")
    pencil.node("host h1").click()
    expect(page.get_by_role("heading", name="h1", exact=True)).to_be_visible()
    pencil.chooses("Edit", "Duplicate")
    page.keyboard.press("Delete")
    pencil.has_nodes("s1", *(f"h{number}" for number in range(1, 25)))
    page.keyboard.press("Control+z")
    pencil.has_nodes("s1", *(f"h{number}" for number in range(1, 26)))


def test_save_as_begins_in_the_folder_of_the_open_file(pencil: Pencil, server: Any) -> None:
    (server.folder / "mine").mkdir()
    for name in ("one.yaml", "two.yaml"):
        (server.folder / "mine" / name).write_text("nodes: [{host: h1}]")
    pencil.student.opens("mine/one.yaml")
    pencil.chooses("File", "Save as…")
    dialog = pencil.page.get_by_role("dialog", name="Save as")
    dialog.get_by_role("button", name="two.yaml").click()
    expect(dialog.get_by_label("Name")).to_have_value("two.yaml")
    dialog.get_by_role("button", name="working folder").click()
    expect(dialog.get_by_role("button", name="mine")).to_be_visible()
    dialog.get_by_role("button", name="Save").click()
    expect(pencil.page.get_by_role("status").filter(has_text="Saved two.yaml")).to_be_visible()


def test_an_upload_asks_before_it_replaces_a_file(
    pencil: Pencil, server: Any, tmp_path: Path
) -> None:
    page, there = pencil.page, server.folder / "notes.txt"
    there.write_text("mine")
    (tmp_path / "notes.txt").write_text("another's")
    (tmp_path / "new.txt").write_text("new")
    pencil.student.shows("Files")
    question = page.get_by_role("dialog", name="Replace the file?")
    for answer in ("Cancel", "Replace"):
        with page.expect_file_chooser() as chooser:
            page.get_by_role("button", name="Upload").click()
        chooser.value.set_files([tmp_path / "notes.txt", tmp_path / "new.txt"])
        expect(question).to_contain_text("notes.txt already exists.")
        assert findings(pencil.student, "dialog[open]") == []
        assert there.read_text() == "mine"
        assert not (server.folder / "new.txt").exists()
        question.get_by_role("button", name=answer).click()
        expect(question).to_have_count(0)
    expect(page.get_by_role("status").filter(has_text="Uploaded new.txt")).to_be_visible()
    assert there.read_text() == "another's"
    assert (server.folder / "new.txt").read_text() == "new"


def test_only_an_open_vswitch_can_be_linked_to_a_controller(pencil: Pencil) -> None:
    pencil.places("Router", (150, 100))
    pencil.places("Open vSwitch", (400, 100))
    pencil.places("Controller", (400, 250))
    pencil.joins("router r1", "controller c0")
    expect(pencil.page.get_by_text("r1 cannot be linked to controller c0")).to_be_visible()
    pencil.joins("switch s1", "controller c0")
    pencil.joins("router r1", "switch s1")
    pencil.links(2)
    pencil.node("router r1").click()
    pencil.field("Address of r1-eth0").fill("10.0.1.254/24")
    pencil.page.keyboard.press("Enter")
    expect(pencil.page.locator(".line-text").filter(has_text="10.0.1.254/24")).to_have_count(1)


@pytest.mark.long
def test_unsaved_work_of_a_killed_server_is_restored(
    pencil: Pencil, server: Any, come: Callable[[], Student]
) -> None:
    pencil.places("Host", (150, 100))
    pencil.has_nodes("h1")
    wait_until(lambda: list(server.folder.glob(".wanlab/draft*")) != [])
    pencil.page.close()
    server.end(signal.SIGKILL)
    server.start()
    other = Pencil(come())
    other.page.get_by_role("alert").get_by_role("button", name="Restore").click()
    expect(other.node("host h1")).to_be_visible()
    expect(other.page.get_by_role("button", name="Restore")).to_have_count(0)
