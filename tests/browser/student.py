"""Act as a student in the browser: draw, run, type, read.

It finds elements by role and name, as people and screen readers do, and waits until they are visible;
it waits for a fixed time only to check that the canvas does not move.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from patience import PATIENCE_S
from playwright.sync_api import TimeoutError as NotShown
from playwright.sync_api import expect

LIMIT_MS = round(1000 * PATIENCE_S)
STILL_MS = 100
CLICKS = 30
SLOW = ("×0.001", "×0.002", "×0.005", "×0.01", "×0.02", "×0.05", "×0.1", "×0.2", "×0.5")  # noqa: RUF001
SPEEDS = (*SLOW, "real time", "×2", "×5", "×10", "×20", "as fast as possible")  # noqa: RUF001
MARGIN = 40


# A drawing that is being replaced may have as many nodes as the next one.
HAS_NAMES = """(names) => {
    const shown = [...document.querySelectorAll(".device-name")].map((name) => name.innerText);
    return JSON.stringify(shown.sort()) === JSON.stringify(names);
}"""
NOTE_SOCKETS = """
window.opened = [];
window.WebSocket = class extends WebSocket {
  constructor(...words) { super(...words); window.opened.push(this); }
};
"""


class Student:
    """Uses the laboratory in a browser window."""

    def __init__(self, page: Any, pictures: Path | None, name: str) -> None:
        self.page = page
        self.console_errors: list[str] = []
        """Errors that the page wrote to its console."""
        self._pictures = pictures
        self._name = re.sub(r"\W+", "-", name.removeprefix("test_")).strip("-")
        self._count = 0
        page.set_default_timeout(LIMIT_MS)
        page.add_init_script(NOTE_SOCKETS)
        page.on("pageerror", lambda error: self.console_errors.append(str(error)))
        page.on(
            "console",
            lambda message: (
                self.console_errors.append(message.text) if message.type == "error" else None
            ),
        )

    def picture(self, stage: str) -> None:
        """Take a screenshot, if pictures were asked for."""
        if self._pictures is None:
            return
        self._pictures.mkdir(parents=True, exist_ok=True)
        self._count += 1
        name = f"{self._name}-{self._count:02}-{re.sub(r'[^a-zA-Z0-9]+', '-', stage)}.png"
        self.page.screenshot(path=str(self._pictures / name))

    def is_connected(self) -> None:
        self.page.get_by_role("button", name="Run", exact=True).wait_for()
        self.page.locator(".device-name, .canvas-empty").first.wait_for()

    def loses_connections(self) -> None:
        """Close all WebSockets of the page; it reopens them."""
        self.page.evaluate("() => opened.splice(0).forEach((socket) => socket.close())")
        self.page.wait_for_function(
            "(count) => opened.filter((socket) => socket.readyState === 1).length >= count",
            arg=1 + self.page.locator(".terminal-pane").count(),
        )

    # -- drawing ----------------------------------------------------------------------------------

    @property
    def canvas(self) -> Any:
        return self.page.get_by_role("application", name="Canvas")

    def thing(self, name: str) -> Any:
        """Return a node on the canvas."""
        return self.canvas.get_by_role("group", name=re.compile(rf"^\w+ {re.escape(name)}$"))

    def names_on_canvas(self) -> set[str]:
        return set(self.canvas.locator(".device-name").all_inner_texts())

    def has_nodes(self, *names: str) -> None:
        """Wait until exactly these nodes are drawn."""
        with contextlib.suppress(NotShown):
            self.page.wait_for_function(HAS_NAMES, arg=sorted(names))
        assert self.names_on_canvas() == set(names)

    def draws(self, tool: str, across: float, down: float) -> None:
        """Place an element; x and y are fractions of the canvas's width and height."""
        count = self.canvas.locator(".device-name").count()
        self.page.get_by_role("toolbar", name="Tools").get_by_role(
            "button", name=tool, exact=True
        ).click()
        frame = self.canvas.bounding_box()
        self.page.mouse.click(
            frame["x"] + frame["width"] * across, frame["y"] + frame["height"] * down
        )
        self.canvas.locator(".device-name").nth(count).wait_for()

    def links(self, a: str, b: str) -> None:
        """Drag from node to node with the link tool."""
        lines = self.canvas.locator(".react-flow__edge")
        count = lines.count()
        self.page.get_by_role("toolbar", name="Tools").get_by_role(
            "button", name="Link", exact=True
        ).click()
        from_, to = self.middle_of(a), self.middle_of(b)
        self.page.mouse.move(*from_)
        self.page.mouse.down()
        self.page.mouse.move((from_[0] + to[0]) / 2, (from_[1] + to[1]) / 2)
        self.page.mouse.move(*to, steps=4)
        self.page.mouse.up()
        lines.nth(count).wait_for(state="attached")
        self.page.get_by_role("toolbar", name="Tools").get_by_role("button", name="Select").click()

    def draws_again(self) -> None:
        """Wait until the page has been redrawn, which is when the canvas gets its new size."""
        self.page.wait_for_function(
            "() => new Promise((draw) => requestAnimationFrame(draw))"
            ".then(() => new Promise((draw) => requestAnimationFrame(draw)))"
        )

    def boxes(self, selector: str) -> list[dict[str, float]]:
        """Return the bounding boxes of elements in the window."""
        found: list[dict[str, float]] = self.page.evaluate(
            "(selector) => [...document.querySelectorAll(selector)]"
            ".map((it) => it.getBoundingClientRect())"
            ".map(({ left, top, right, bottom }) => ({ left, top, right, bottom }))",
            selector,
        )
        return found

    def boxes_at_rest(self, selector: str) -> list[dict[str, float]]:
        """Return the bounding boxes of elements once they do not move any more."""
        before = None
        while (boxes := self.boxes(selector)) != before:
            before = boxes
            self.page.wait_for_timeout(STILL_MS)
            self.draws_again()
        return boxes

    def middle_of(self, name: str) -> tuple[float, float]:
        """Return a node's centre once it does not move: panes that open or close move the canvas."""
        tile = self.thing(name).locator(".tile")
        before = None
        while (frame := tile.bounding_box()) != before:
            before = frame
            self.page.wait_for_timeout(STILL_MS)
            self.draws_again()
        return frame["x"] + frame["width"] / 2, frame["y"] + frame["height"] / 2

    def _clicks_until(self, click: Callable[[], None], shown: Any) -> None:
        """Click until an element is shown; a click can miss because the canvas moves."""
        for _ in range(CLICKS):
            click()
            with contextlib.suppress(NotShown):
                shown.first.wait_for(timeout=LIMIT_MS / CLICKS)
                return
        shown.first.wait_for(timeout=1)

    def fills_properties(self, name: str, fields: dict[str, str]) -> None:
        """Open the properties with the context menu."""
        item = self.page.get_by_role("menuitem", name="Properties")
        self._clicks_until(
            lambda: self.page.mouse.click(*self.middle_of(name), button="right"), item
        )
        item.click()
        form = self.page.get_by_role("region", name="Properties")
        # Type only after the first field has the focus.
        self.page.wait_for_function(
            "(name) => document.activeElement.closest('.inspector')"
            " && document.activeElement.value === name",
            arg=name,
        )
        for field, value in fields.items():
            box = form.get_by_label(field, exact=True)
            box.fill(value)
            box.press("Enter")

    def chooses(self, menu: str, entry: str) -> None:
        """Choose an entry of the menu bar."""
        self.page.get_by_role("menubar").get_by_role("menuitem", name=menu, exact=True).click()
        self.page.get_by_role("menu", name=menu).get_by_role("menuitem", name=entry).first.click()

    def sets_preference(self, field: str, value: str) -> None:
        self.chooses("Edit", "Preferences")
        dialog = self.page.get_by_role("dialog", name="Preferences")
        dialog.get_by_label(field, exact=True).fill(value)
        dialog.get_by_role("button", name="Done").click()
        dialog.wait_for(state="hidden")

    # -- files ------------------------------------------------------------------------------------

    def clears(self) -> None:
        self.chooses("File", "New")
        self.page.wait_for_function("() => !document.querySelector('.device-name')")

    def saves_as(self, name: str) -> None:
        self.chooses("File", "Save as")
        dialog = self.page.get_by_role("dialog", name="Save as")
        dialog.get_by_label("Name").fill(name)
        dialog.get_by_role("button", name="Save").click()
        dialog.wait_for(state="hidden")

    def opens(self, name: str) -> None:
        self.chooses("File", "Open…")
        dialog = self.page.get_by_role("dialog", name="Open")
        *folders, file = name.split("/")
        for folder in folders:
            dialog.get_by_role("button", name=folder).click()
        dialog.get_by_role("button", name=file).click()
        dialog.get_by_role("button", name="Open", exact=True).click()
        dialog.wait_for(state="hidden")
        self.canvas.locator(".device-name").first.wait_for()

    # -- terminals --------------------------------------------------------------------------------

    def opens_terminal(self, node: str) -> Any:
        """Open a terminal with the button of the dock, and return it."""
        self.shows("Terminals")
        # This includes terminals behind other tabs.
        terminals = self.page.locator(f'[aria-label="Terminal {node}"]')
        count = terminals.count()
        self.page.get_by_role("button", name="+ Terminal").click()
        entries = self.page.get_by_role("menu", name="Open a terminal")
        entries.get_by_role("menuitem", name=re.compile(rf"^{re.escape(node)}(>? |$)")).click()
        terminal = terminals.nth(count)
        terminal.locator(".xterm-rows").wait_for()
        return terminal

    def terminal_of(self, node: str) -> Any:
        """Bring the first terminal of a node to the front and return it."""
        self.brings_to_front(node)
        return self.terminal(node)

    def makes_terminals_large(self) -> None:
        """Make the dock as high as possible, so that all output is visible."""
        larger = self.page.get_by_role("button", name="Larger")
        if larger.count():
            larger.click()

    def makes_terminals_small(self) -> None:
        self.page.get_by_role("button", name="Smaller").click()

    def brings_to_front(self, node: str) -> None:
        tabs = self.page.get_by_role("tablist", name="Terminals, charts and files")
        tabs.get_by_role("tab", name=node, exact=True).click()

    def terminal(self, node: str) -> Any:
        """Return the front terminal of a node."""
        return self.page.locator(f'[aria-label="Terminal {node}"]:visible').first

    def shows(self, tab: str) -> None:
        """Show a tab of the dock or of the side panel."""
        self.page.get_by_role("tab", name=re.compile(rf"^{tab}")).first.click()

    def types(self, terminal: Any, line: str) -> None:
        """Type a line and press Enter."""
        terminal.locator(".xterm-screen").click()
        self.page.keyboard.type(line)
        self.page.keyboard.press("Enter")

    def rows_of(self, terminal: Any) -> int:
        """Return the number of rows that a terminal shows."""
        return int(terminal.locator(".xterm-rows > div").count())

    def waits_for_rows(self, terminal: Any, more_than: int) -> None:
        """Wait until a terminal shows more rows; its size changes with the page's next frame."""
        terminal.locator(".xterm-rows > div").nth(more_than).wait_for(state="attached")

    def presses(self, keys: str) -> None:
        self.page.keyboard.press(keys)

    def reads(self, terminal: Any, wanted: str | re.Pattern[str], limit_ms: int = LIMIT_MS) -> str:
        """Wait until a terminal shows a text; return all that it shows."""
        rows = terminal.locator(".xterm-rows")
        expect(rows).to_contain_text(wanted, timeout=limit_ms)
        return str(rows.inner_text())

    # -- running ----------------------------------------------------------------------------------

    def is_running(self) -> bool:
        return bool(self.page.get_by_role("button", name="Stop", exact=True).is_enabled())

    def closes_terminals(self) -> None:
        """Close all tabs with terminals and files, and end the programs that run in them."""
        self.shows("Terminals")
        closing = self.page.locator(".tab-close")
        ending = self.page.get_by_role("dialog").get_by_role("button", name="End it")
        while count := closing.count():
            closing.first.click()
            self.page.wait_for_function(
                "(count) => document.querySelectorAll('.tab-close').length < count"
                " || document.querySelector('dialog[open]')",
                arg=count,
            )
            if ending.count():
                ending.click()
                ending.wait_for(state="hidden")
                expect(closing).to_have_count(count - 1)

    def runs(self) -> None:
        self.page.get_by_role("button", name="Run", exact=True).click()
        self.page.get_by_role("button", name="Stop", exact=True).and_(
            self.page.locator(":enabled")
        ).wait_for()

    def stops(self) -> None:
        """Stop the network, also if a program is busy."""
        self.page.get_by_role("button", name="Stop", exact=True).click()
        self.page.get_by_role("button", name="Run", exact=True).and_(
            self.page.locator(":enabled")
        ).wait_for()

    def chooses_pace(self, pace: str) -> None:
        clock = self.page.get_by_role("group", name="Clock")
        if self.is_running():
            slider = clock.get_by_label("Speed")
            slider.fill(str(SPEEDS.index(pace)))
            expect(slider).to_have_attribute("aria-valuetext", pace)
        else:
            clock.get_by_label("Pace").select_option(label=pace)

    def adds_breakpoint(self, text: str) -> None:
        self.page.get_by_role("group", name="Clock").get_by_role("button", name="Step to").click()
        menu = self.page.get_by_role("menu", name="Step to")
        menu.get_by_role("menuitem", name="Add a breakpoint").click()
        dialog = self.page.get_by_role("dialog", name="Add a breakpoint")
        dialog.get_by_label("Pause when").fill(text)
        dialog.get_by_role("button", name="Add", exact=True).click()
        dialog.wait_for(state="hidden")

    def stands_still(self) -> None:
        """Wait until virtual time does not pass."""
        self.page.locator(".clock-still, .clock-paused").wait_for()

    def clock_s(self) -> float:
        """Return the time that the clock shows, in seconds; only in the first minute."""
        return float(self.page.locator(".clock-time").inner_text().removesuffix(" s"))

    # -- lessons ----------------------------------------------------------------------------------

    def reads_lesson(self, heading: str) -> Any:
        self.shows("Lessons")
        self.page.get_by_role("button", name=re.compile(rf"^{heading}")).click()
        lesson = self.page.locator(".lesson")
        lesson.get_by_role("heading", level=1).wait_for()
        return lesson

    def starts_lesson(self, heading: str) -> Any:
        """Start a lesson: its network is on the canvas, its text beside it."""
        lesson = self.reads_lesson(heading)
        self.page.get_by_role("button", name="Start", exact=True).click()
        self.page.get_by_role("button", name="Close lesson").wait_for()
        return lesson

    # -- charts -----------------------------------------------------------------------------------

    def selects_link(self, a: str, b: str) -> None:
        """Select a link by clicking its middle."""

        def click() -> None:
            (x1, y1), (x2, y2) = self.middle_of(a), self.middle_of(b)
            self.page.mouse.click((x1 + x2) / 2, (y1 + y2) / 2)

        self._clicks_until(click, self.canvas.locator(".react-flow__edge.selected"))

    def sets_link(self, a: str, b: str, field: str, value: str) -> None:
        """Change a property of a link."""
        self.selects_link(a, b)
        self.shows("Properties")
        form = self.page.get_by_role("region", name="Properties")
        box = form.get_by_label(field, exact=True)
        if box.evaluate("(element) => element.tagName") == "SELECT":
            box.select_option(value)
        else:
            box.fill(value)
            box.press("Enter")

    def opens_link_menu(self, a: str, b: str) -> None:
        """Open the context menu of a link."""

        def click() -> None:
            (x1, y1), (x2, y2) = self.middle_of(a), self.middle_of(b)
            self.page.mouse.click((x1 + x2) / 2, (y1 + y2) / 2, button="right")

        self._clicks_until(click, self.page.get_by_role("menu", name="Link", exact=True))

    def chart_values(
        self, chart: str, curve: str, until: Callable[[list[float]], bool], limit_ms: int = LIMIT_MS
    ) -> list[float]:
        """Collect the changing values of a curve in a legend until there are enough; return them."""
        row = (
            self.page.get_by_role("figure", name=chart).locator(".plot-row").filter(has_text=curve)
        )
        row.wait_for(timeout=limit_ms)
        # A legend is built again when a curve is added: the value is looked up each time.
        value = row.locator(".plot-value")
        seen: list[float] = [0.0]
        while not until(seen):
            before = value.inner_text()
            seen.append(value_of(before))
            if not until(seen):
                expect(value).not_to_have_text(before, timeout=limit_ms)
        return seen


def value_of(text: str) -> float:
    """ "2.62 MB" is 2620000."""
    number, _, unit = text.partition(" ")
    if not number[:1].isdigit():  # there is no value
        return 0.0
    factor = {"k": 1e3, "M": 1e6, "G": 1e9, "m": 1e-3, "µ": 1e-6}.get(unit[:1], 1.0)
    return float(number) * (factor if len(unit) > 1 else 1.0)
