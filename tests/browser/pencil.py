"""Perform actions on the canvas; points are relative to its upper left corner."""

from __future__ import annotations

from typing import Any

from playwright.sync_api import expect
from student import Student

Point = tuple[float, float]
GRIP = 4


class Pencil:
    """Draws in the window of a student."""

    def __init__(self, student: Student) -> None:
        self.student = student
        self.page = student.page

    # -- reading the canvas -----------------------------------------------------------------------

    def node(self, name: str) -> Any:
        """Return a node by its accessible name: "host h1"."""
        return self.page.get_by_role("group", name=name, exact=True)

    def has_nodes(self, *names: str) -> None:
        self.student.has_nodes(*names)

    def stands(self, name: str, x: float, y: float) -> None:
        """Wait until the centre of a node is at a point."""
        self.page.wait_for_function(
            """([name, x, y]) => {
                const box = document.querySelector(`[aria-label="${name}"]`).getBoundingClientRect();
                const at = [box.x + box.width / 2, box.y + box.height / 2];
                return Math.abs(at[0] - x) < 0.5 && Math.abs(at[1] - y) < 0.5;
            }""",
            arg=[name, x, y],
        )

    def links(self, count: int) -> None:
        """Wait until there are `count` links."""
        expect(self.page.locator(".react-flow__edge")).to_have_count(count)

    def centre(self, name: str) -> Point:
        box = self.node(name).bounding_box()
        assert box is not None
        return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2

    def point_of(self, x: float, y: float) -> Point:
        """Return the position in the window of a point of the document."""
        return tuple(
            self.page.evaluate(
                """([x, y]) => {
                    const box = document.querySelector(".canvas").getBoundingClientRect();
                    const shown = document.querySelector(".react-flow__viewport");
                    const { a: zoom, e, f } = new DOMMatrix(getComputedStyle(shown).transform);
                    return [box.x + x * zoom + e, box.y + y * zoom + f];
                }""",
                [x, y],
            )
        )

    def field(self, title: str) -> Any:
        """Return a field of the properties."""
        return self.page.get_by_label("Properties").get_by_label(title, exact=True)

    # -- actions ----------------------------------------------------------------------------------

    def takes(self, tool: str) -> None:
        self.page.get_by_role("toolbar", name="Tools").get_by_role(
            "button", name=tool, exact=True
        ).click()

    def clicks(self, x: float, y: float) -> None:
        self.page.mouse.click(*self._at((x, y)))

    def places(self, tool: str, *points: Point) -> None:
        self.takes(tool)
        for point in points:
            self.clicks(*point)
        self.page.keyboard.press("Escape")

    def drags(self, start: Point, end: Point) -> None:
        """Drag from one point of the window to another.

        An element moves only after a few pixels, so that a shaky click does not move it.
        """
        self.page.mouse.move(*start)
        self.page.mouse.down()
        self.page.mouse.move(start[0] + GRIP, start[1])
        self.page.mouse.move(end[0] + GRIP, end[1], steps=4)
        self.page.mouse.up()

    def joins(self, a: str, b: str) -> None:
        self.takes("Link")
        self.drags(self.centre(a), self.centre(b))
        self.page.keyboard.press("Escape")

    def fills(self, title: str, text: str) -> None:
        self.field(title).fill(text)
        self.page.keyboard.press("Enter")

    def chooses(self, *titles: str) -> None:
        """Choose an entry of the menu bar: a menu, then entries."""
        menus = self.page.get_by_role("menubar")
        menus.get_by_role("menuitem", name=titles[0], exact=True).click()
        for title in titles[1:]:
            self.page.get_by_role("menuitem", name=title, exact=True).click()

    def _at(self, point: Point) -> Point:
        box = self.page.get_by_role("application", name="Canvas").bounding_box()
        assert box is not None
        return box["x"] + point[0], box["y"] + point[1]
