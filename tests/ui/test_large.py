"""Test a network too large for DOM elements: it is drawn on a canvas but works like a small one."""

from __future__ import annotations

import math
import re
from typing import Any

import pytest
from pencil import Pencil
from playwright.sync_api import expect
from student import LIMIT_MS, Student

import wanlab

expect.set_options(timeout=LIMIT_MS)

COLUMNS, ROWS = 24, 15
COUNT = COLUMNS * ROWS


def place(number: int) -> tuple[int, int]:
    """Return the position of h1, h2, ..., which are in rows."""
    return 200 * ((number - 1) % COLUMNS), 150 * ((number - 1) // COLUMNS)


@pytest.fixture
def pencil(student: Student, server: Any) -> Pencil:
    nodes = [f"{{host: h{n}, x: {place(n)[0]}, y: {place(n)[1]}}}" for n in range(1, COUNT + 1)]
    links = [f"{{link: [h{n}, h{n + 1}]}}" for n in range(1, COUNT)]
    opens(student, server, nodes, links)
    return Pencil(student)


def opens(student: Student, server: Any, nodes: list[str], links: list[str]) -> None:
    text = f"nodes: [{', '.join(nodes)}]\nlinks: [{', '.join(links)}]"
    (server.folder / "large.yaml").write_text(text)
    page = student.page
    page.keyboard.press("Control+o")
    dialog = page.get_by_role("dialog", name="Open")
    dialog.get_by_role("button", name="large.yaml").click()
    dialog.get_by_role("button", name="Open", exact=True).click()
    is_drawn(page, len(nodes))


def is_drawn(page: Any, count: int) -> None:
    """Wait until `count` nodes are drawn on the canvas and nothing moves."""
    page.wait_for_function(
        """count => {
            const { transform } = document.querySelector('.react-flow__viewport').style;
            const isStill = window.shownBefore === transform;
            window.shownBefore = transform;
            return isStill && document.querySelector('.far-layer')?.dataset.nodes === String(count);
        }""",
        arg=count,
    )


def test_a_large_network_is_drawn_fitted_with_few_elements(pencil: Pencil) -> None:
    assert pencil.page.locator(".react-flow__node").count() < 10
    assert pencil.page.locator(".react-flow__edge").count() == 0
    corners = [pencil.point_of(*place(n)) for n in (1, COUNT)]
    frame = pencil.page.get_by_role("application", name="Canvas").bounding_box()
    assert frame is not None
    for x, y in corners:
        assert frame["x"] < x < frame["x"] + frame["width"]
        assert frame["y"] < y < frame["y"] + frame["height"]
    pencil.student.picture("all")
    pencil.page.keyboard.press("Control+0")
    expect(pencil.page.locator(".react-flow__node").nth(8)).to_be_attached()
    expect(pencil.page.locator(".react-flow__edge").nth(5)).to_be_attached()
    assert pencil.page.locator(".react-flow__node").count() < 100
    pencil.student.picture("near")


def test_1000_nodes_are_drawn_and_looked_at_from_near(student: Student, server: Any) -> None:
    nodes, links = [], []
    for number in range(40):
        x, y = 700 * (number % 8), 600 * (number // 8)
        nodes.append(f"{{switch: s{number + 1}, x: {x}, y: {y}, stp: true}}")
        if number:
            links.append(f"{{link: [s{number}, s{number + 1}]}}")
        for index in range(24):
            angle = 2 * math.pi * index / 24
            name = f"h{24 * number + index + 1}"
            at_x, at_y = x + 270 * math.cos(angle), y + 220 * math.sin(angle)
            nodes.append(f"{{host: {name}, x: {at_x:.0f}, y: {at_y:.0f}}}")
            links.append(f"{{link: [{name}, s{number + 1}], rate: 10Mbps}}")
    assert len(nodes) == 1000
    opens(student, server, nodes, links)
    student.picture("1000 nodes")
    pencil, page = Pencil(student), student.page
    page.mouse.click(*pencil.point_of(700, 600))
    expect(page.get_by_role("heading", name="s10", exact=True)).to_be_visible()
    student.picture("a switch selected")
    page.keyboard.press("Control+0")
    expect(page.locator(".react-flow__edge").nth(5)).to_be_attached()
    assert page.locator(".react-flow__node").count() < 100
    student.picture("1000 nodes from near")


@pytest.mark.long
def test_nodes_of_a_large_network_are_selected_moved_and_linked(
    pencil: Pencil, server: Any
) -> None:
    page = pencil.page
    at = {n: pencil.point_of(*place(n)) for n in (30, 31, 55, 100, 130, 200)}
    page.mouse.click(*at[30])
    expect(page.get_by_role("heading", name="h30", exact=True)).to_be_visible()
    page.mouse.click(*at[55], button="right")
    expect(page.get_by_role("menu", name="Node")).to_be_visible()
    expect(page.get_by_role("heading", name="h55", exact=True)).to_be_visible()
    page.keyboard.press("Escape")

    # Select h30, h31, h54 and h55 with a rectangle, then drag all four by one of them.
    (x1, y1), (x2, y2) = pencil.point_of(900, 100), pencil.point_of(1300, 380)
    pencil.drags((x1, y1), (x2, y2))
    expect(page.get_by_role("heading", name=re.compile(r"^6 elements"))).to_be_visible()
    page.mouse.move(*at[30])
    page.mouse.down()
    page.mouse.move(at[30][0] + 4, at[30][1])
    page.mouse.move(at[30][0] + 43, at[30][1] + 20, steps=4)
    pencil.student.picture("four dragged")
    page.mouse.up()

    page.get_by_role("toolbar", name="Tools").get_by_role("button", name="Link").click()
    pencil.drags(at[100], at[200])
    page.keyboard.press("Escape")
    page.mouse.click(*at[130])
    page.keyboard.press("Delete")
    is_drawn(page, COUNT - 1)

    page.keyboard.press("Control+s")
    expect(page.get_by_role("status").filter(has_text="Saved large.yaml")).to_be_visible()
    saved = wanlab.load(server.folder / "large.yaml")
    places = {node.name: (node.x, node.y) for node in saved.nodes}
    assert "h130" not in places
    dx, dy = (places["h30"][axis] - place(30)[axis] for axis in (0, 1))
    assert dx > 100
    assert dy > 50
    for number in range(1, COUNT + 1):
        x, y = place(number)
        is_moved = number in {30, 31, 54, 55}
        if number != 130:
            assert places[f"h{number}"] == ((x + dx, y + dy) if is_moved else (x, y))
    assert ("h100", "h200") in [(link.a.node, link.b.node) for link in saved.links]


def test_tab_goes_through_a_large_network_zoomed_out_and_zoomed_in(pencil: Pencil) -> None:
    page = pencil.page
    page.mouse.click(*pencil.point_of(*place(24)))
    pencil.node("host h24").focus()
    page.keyboard.press("Tab")
    expect(pencil.node("host h25")).to_be_focused()
    expect(page.get_by_role("heading", name="h25", exact=True)).to_be_visible()
    page.keyboard.press("Shift+Tab")
    expect(pencil.node("host h24")).to_be_focused()
    page.keyboard.press("Control+0")
    expect(page.locator(".react-flow__edge").first).to_be_attached()
    # Go to a node outside the window.
    shown = page.locator(".react-flow__node").evaluate_all(
        "nodes => nodes.map((node) => Number(node.ariaLabel.slice('host h'.length)))"
    )
    number = next(one for one in shown if one + 1 not in shown)
    pencil.node(f"host h{number}").focus()
    page.keyboard.press("Tab")
    expect(pencil.node(f"host h{number + 1}")).to_be_focused()
    expect(pencil.node(f"host h{number + 1}")).to_be_in_viewport()


def test_texts_of_many_links_are_hidden_while_their_switch_is_dragged(
    student: Student, server: Any
) -> None:
    hosts = [f"{{host: h{n}, x: {100 * n}, y: {500 * (n % 2)}}}" for n in range(1, 15)]
    links = [f"{{link: [h{n}, s1], rate: 10Mbps}}" for n in range(1, 15)]
    text = (
        f"nodes: [{{switch: s1, x: 750, y: 250}}, {', '.join(hosts)}]\nlinks: [{', '.join(links)}]"
    )
    (server.folder / "hub.yaml").write_text(text)
    student.opens("hub.yaml")
    page, texts = student.page, student.canvas.locator(".line-text")
    # Each link has its rate and the names of both its interfaces.
    count = 3 * len(links)
    expect(texts).to_have_count(count)
    x, y = student.middle_of("s1")
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + 20, y + 10, steps=4)
    expect(texts).to_have_count(0)
    page.mouse.up()
    expect(texts).to_have_count(count)
