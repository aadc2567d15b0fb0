"""Test what the page does when its connections end, or carry nothing any more."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import expect
from served import Server
from student import LIMIT_MS, Student

pytestmark = pytest.mark.machine
expect.set_options(timeout=LIMIT_MS)
TWO_HOSTS = "{nodes: [{host: h1}, {host: h2}], links: [{link: [h1, h2]}]}"


class Wire:
    """The WebSockets between a page and its server. While `is_cut`, they carry nothing."""

    def __init__(self, page: Any) -> None:
        self.is_cut = False
        self.terminals: list[Any] = []
        page.route_web_socket(re.compile("/api/live|/api/terminals/"), self._relay)

    def _relay(self, socket: Any) -> None:
        if self.is_cut:
            return  # the page's connection opens, and nobody answers
        server = socket.connect_to_server()
        socket.on_message(self._passed(server.send))
        server.on_message(self._passed(socket.send))
        if "/api/terminals/" in socket.url:
            self.terminals.append(socket)

    def _passed(self, send: Callable[[Any], None]) -> Callable[[Any], None]:
        return lambda message: None if self.is_cut else send(message)


@pytest.fixture
def wire(student: Student, server: Server) -> Wire:
    """Run two hosts, with a terminal of h1, behind a network that can be cut."""
    (server.folder / "two.yaml").write_text(TWO_HOSTS)
    wire = Wire(student.page)
    student.page.reload()
    student.is_connected()
    student.opens("two.yaml")
    student.runs()
    student.opens_terminal("h1")
    return wire


@pytest.mark.parametrize("code", [1001, 1011, 1012])
def test_a_terminal_reconnects_after_every_close_that_is_not_its_end(
    wire: Wire, student: Student, code: int
) -> None:
    terminal = student.terminal("h1")
    student.types(terminal, "echo $((6 * 7)) before")
    student.reads(terminal, "42 before")
    wire.terminals[-1].close(code=code)
    student.types(terminal, "echo $((7 * 8)) after")
    student.reads(terminal, "56 after")
    assert len(wire.terminals) == 2


LATE = """
const Fast = window.WebSocket;
window.WebSocket = class extends Fast {
  set onmessage(receive) {
    const isLate = this.url.includes("/api/terminals/");
    super.onmessage = isLate ? (event) => setTimeout(() => receive(event), 8000) : receive;
  }
};
"""


@pytest.mark.long
def test_a_terminal_whose_answers_are_always_late_is_connected(
    wire: Wire, student: Student
) -> None:
    """A busy computer: each new connection was closed before its first answer came."""
    student.page.add_init_script(LATE)
    student.page.reload()
    student.is_connected()
    terminal = student.terminal_of("h1")
    student.types(terminal, "echo $((6 * 7)) late")
    student.reads(terminal, "42 late")


@pytest.mark.long
def test_keys_typed_while_the_network_is_lost_are_shown_and_arrive_once(
    wire: Wire, student: Student
) -> None:
    terminal, page = student.terminal("h1"), student.page
    student.types(terminal, "echo $((6 * 7)) before")
    student.reads(terminal, "42 before")
    wire.is_cut = True
    student.types(terminal, "echo $((7 * 8)) ab")
    waiting = terminal.get_by_role("status")
    expect(waiting).to_contain_text("echo $((7 * 8)) ab⏎")
    alert = page.get_by_role("alert").filter(has_text="wanlab does not answer")
    alert.wait_for()
    expect(page.get_by_role("button", name="Run", exact=True)).to_be_disabled()
    student.picture("lost")
    page.get_by_role("alert").filter(has_text="connection to wanlab is lost").wait_for()
    wire.is_cut = False
    seen = student.reads(terminal, "56 ab")
    assert "42 before" in seen
    assert seen.count("echo $((7 * 8)) ab") == 1
    expect(waiting).to_have_count(0)
    expect(page.locator(".connection-banner")).to_have_count(0)
    # What is discarded never arrives.
    wire.is_cut = True
    student.types(terminal, "echo $((8 * 8)) discarded")
    waiting.get_by_role("button", name="Discard").click()
    wire.is_cut = False
    expect(waiting).to_have_count(0)
    student.types(terminal, "echo $((9 * 9)) last")
    assert "64 discarded" not in student.reads(terminal, "81 last")
