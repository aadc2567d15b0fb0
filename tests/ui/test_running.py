"""Test windows, terminals, connections and checks while a network runs."""

from __future__ import annotations

import re
import shutil
import signal
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import expect
from served import Server
from student import LIMIT_MS, Student

from wanlab.labs import catalog

expect.set_options(timeout=LIMIT_MS)
pytestmark = pytest.mark.machine
TWO_HOSTS = """\
nodes: [{host: h1}, {host: h2}, {switch: s1}]
links: [{link: [h1, s1]}, {link: [s1, h2]}]
"""


@pytest.fixture
def running(shared_server: Server, come: Callable[..., Student]) -> Iterator[Student]:
    """Open a window with two running hosts. Tests share the network, but not the terminals."""
    student = come(shared_server)
    if not student.names_on_canvas():
        (shared_server.folder / "two.yaml").write_text(TWO_HOSTS)
        student.opens("two.yaml")
    if not student.is_running():
        student.runs()
    yield student
    student.closes_terminals()


def test_two_windows_show_the_same(
    running: Student, come: Callable[..., Student], shared_server: Server
) -> None:
    other = come(shared_server)
    other.has_nodes("h1", "h2", "s1")
    terminal = running.opens_terminal("h1")
    running.types(terminal, "echo $((6 * 7)) came out")
    running.reads(terminal, "42 came out")
    other.reads(other.terminal_of("h1"), "42 came out")
    other.types(other.terminal_of("h1"), "echo $((7 * 8)) went back")
    running.reads(terminal, "56 went back")
    running.picture("two windows")
    other.stops()
    running.page.get_by_text("Ended when the network was stopped.").wait_for()


def test_a_lost_connection_is_reopened(running: Student) -> None:
    terminal = running.opens_terminal("h1")
    running.types(terminal, "echo $((6 * 7)) before")
    running.reads(terminal, "42 before")
    running.loses_connections()
    running.types(terminal, "echo $((7 * 8)) after")
    seen = running.reads(terminal, "56 after")
    assert "42 before" in seen


def test_a_banner_says_that_the_server_has_gone(student: Student, server: Server) -> None:
    student.draws("Host", 0.5, 0.5)
    student.saves_as("one")
    server.end(signal.SIGKILL)
    student.page.get_by_text("The connection to wanlab is lost").wait_for()
    student.picture("server died")
    server.start()
    student.page.get_by_text("wanlab has been restarted").wait_for()
    student.page.goto(server.url)
    student.is_connected()
    student.console_errors.clear()  # Chromium's message about the missing server
    student.opens("one.mn")
    student.has_nodes("h1")


def test_start_cli_opens_the_prompt(student: Student, server: Server) -> None:
    shutil.copy(catalog.find("ex6").topology, server.folder / "with prompt.mn")
    student.opens("with prompt.mn")
    student.runs()
    prompt = student.terminal("mininet")
    student.reads(prompt, "mininet>")
    student.types(prompt, "nodes")
    student.reads(prompt, "available nodes are")


def test_leaving_asks_for_confirmation_while_a_network_runs(running: Student) -> None:
    asked: list[str] = []

    def answer(dialog: object) -> None:
        asked.append(dialog.type)  # type: ignore[attr-defined]
        dialog.accept()  # type: ignore[attr-defined]

    running.page.on("dialog", answer)
    running.page.reload()
    running.is_connected()
    assert asked == ["beforeunload"]
    running.has_nodes("h1", "h2", "s1")


def test_a_check_gives_hints(student: Student) -> None:
    student.starts_lesson("Lab 1:")
    student.runs()
    student.page.get_by_role("button", name="Check", exact=True).click()
    result = student.page.get_by_role("region", name="Check results")
    result.wait_for()
    student.picture("check")
    expect(result).to_contain_text("0 of 3 points")
    expect(result).to_contain_text("section 3.4 saves lab1.mn in the folder lab_topologies")
    student.page.on("dialog", lambda dialog: dialog.accept())
    student.page.reload()
    student.is_connected()
    expect(result).to_contain_text("0 of 3 points")


def test_a_terminal_follows_the_size_of_its_window(running: Student) -> None:
    terminal = running.opens_terminal("h1")

    def follows() -> int:
        """Wait until the terminal has its window's size; keys may arrive before the new size."""
        for attempt in range(20):
            running.types(terminal, f"echo try {attempt}: $(stty size)")
            seen = running.reads(terminal, re.compile(rf"try {attempt}: \d+ \d+"))
            rows_of_node = re.findall(rf"try {attempt}: (\d+) \d+", seen)[0]
            if (rows := running.rows_of(terminal)) == int(rows_of_node):
                return rows
        raise AssertionError(f"{rows} rows are shown, but the node's terminal has {rows_of_node}")

    small = follows()
    running.makes_terminals_large()
    running.waits_for_rows(terminal, small + 10)
    assert follows() > small + 10


def test_time_stands_still_without_a_command_and_can_be_stepped(running: Student) -> None:
    clock = running.page.get_by_role("group", name="Clock")
    clock.get_by_text("idle: no command runs").wait_for()
    terminal = running.opens_terminal("h1")
    clock.get_by_role("button", name="Pause").click()
    clock.get_by_text("paused").wait_for()
    running.types(terminal, "sleep 3; echo done")
    before = running.clock_s()
    clock.get_by_label("Step duration").fill("1500ms")
    clock.get_by_role("button", name="Step", exact=True).click()
    running.page.wait_for_function(
        "(end) => document.querySelector('.clock-paused')"
        " && Math.abs(parseFloat(document.querySelector('.clock-time').textContent) - end) < 0.002",
        arg=before + 1.5,
    )
    clock.get_by_role("button", name="Resume").click()
    running.reads(terminal, re.compile("done.*done", re.DOTALL))
    clock.get_by_text("idle: no command runs").wait_for()


def test_closing_a_terminal_asks_before_it_ends_a_program(running: Student) -> None:
    terminal, page = running.opens_terminal("h1"), running.page
    running.types(terminal, "while sleep 1; do true; done")
    page.locator(".mark-busy").wait_for()
    page.locator(".tab-close").click()
    dialog = page.get_by_role("dialog", name="Close the terminal of h1?")
    dialog.get_by_role("button", name="Cancel").click()
    expect(terminal).to_be_visible()
    page.locator(".tab-close").click()
    dialog.get_by_role("button", name="End it").click()
    expect(terminal).to_have_count(0)


def test_shortcuts_of_the_window_work_in_a_terminal_that_has_ended(running: Student) -> None:
    terminal = running.opens_terminal("h2")
    running.types(terminal, "exit")
    terminal.get_by_text("The program has ended").wait_for()
    terminal.locator(".xterm-screen").click()
    running.presses("Control+O")
    running.page.get_by_role("dialog", name="Open").wait_for()
    running.presses("Escape")


def test_another_network_is_opened_after_the_running_one_is_stopped(
    student: Student, server: Server
) -> None:
    (server.folder / "two.yaml").write_text(TWO_HOSTS)
    student.opens("two.yaml")
    student.runs()
    page = student.page
    line = page.get_by_role("region", name="Timeline")
    line.wait_for()
    student.chooses("File", "New")
    dialog = page.get_by_role("dialog", name="Stop the network?")
    dialog.get_by_role("button", name="Cancel").click()
    dialog.wait_for(state="hidden")
    assert student.is_running()
    student.chooses("File", "New")
    dialog.get_by_role("button", name="Stop", exact=True).click()
    page.get_by_text("The canvas is empty").wait_for()
    expect(line).to_have_count(0)


@pytest.mark.long
def test_endless_output_leaves_other_terminals_usable(running: Student) -> None:
    loud = running.opens_terminal("h1")
    running.types(loud, "while sleep 0.1; do head -c 100000 /dev/zero | tr '\\0' x; done")
    running.reads(loud, "xxxxxxxx")
    quiet = running.opens_terminal("h2")
    running.types(quiet, "echo $((6 * 7)) is heard")
    running.reads(quiet, "42 is heard")


@pytest.mark.long
def test_twenty_terminals_are_open_at_once(running: Student) -> None:
    for number in range(20):
        running.opens_terminal(("h1", "h2", "client")[number % 3])
    tabs = running.page.get_by_role("tablist", name="Terminals, charts and files").get_by_role(
        "tab"
    )
    expect(tabs).to_have_count(20)
    for number in (0, 9, 19):
        tabs.nth(number).click()
        terminal = running.page.locator(".terminal-pane:visible")
        running.types(terminal, f"echo $((6 * 7 + {number})) here")
        running.reads(terminal, f"{42 + number} here")
    running.picture("twenty terminals")
