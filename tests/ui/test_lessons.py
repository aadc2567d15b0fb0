"""Test a lesson beside the network: its commands can be typed, and done steps are marked."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import expect
from student import LIMIT_MS, Student

pytestmark = pytest.mark.machine
expect.set_options(timeout=LIMIT_MS)
QUERIES = r"printf '\e[c\e[6n\e]11;?\a'; bash -c 'read -s -t 1 -n 99'; echo as''ked"
ANSWERS = re.compile(r"rgb:|\d+;\d+R|\?1;2c")


def row(lesson: Any, command: str) -> Any:
    """Return the first row of a lesson with a command."""
    return lesson.locator(".row").filter(
        has_text=re.compile(rf"(^|[>$] ){re.escape(command)}Type$")
    )


def types_for_me(lesson: Any, command: str) -> None:
    row(lesson, command).first.get_by_role("button").click()


def is_done(lesson: Any, command: str) -> Any:
    return expect(row(lesson, command).first).to_have_class(re.compile("is-done"))


@pytest.mark.long
def test_mininets_prompt_in_lab_1_is_used_however_it_was_started(
    student: Student,
) -> None:
    lesson = student.starts_lesson("Lab 1:")
    expect(student.page.get_by_role("heading", name="The canvas is empty")).to_be_visible()
    lesson.get_by_role("button", name="Do this for me: Open a terminal: client").click()
    client = student.terminal("client")
    student.types(client, "sudo mn")
    student.reads(client, "*** Starting CLI:")
    is_done(lesson, "sudo mn")
    student.picture("mininet runs")
    types_for_me(lesson, "nodes")
    student.reads(client, "h1 h2 s1")
    is_done(lesson, "nodes")
    student.types(client, "h1 ifconfig")
    student.reads(client, "127.0.0.1")
    is_done(lesson, "h1 ifconfig")
    expect(student.page.get_by_role("group", name="Terminal mininet")).to_have_count(0)
    types_for_me(lesson, "exit")
    is_done(lesson, "exit")
    student.picture("steps are done")

    # The drawing of 3.1 can be run while the empty network still runs.
    for step in ("File > New", "Draw h1, h2, s1", "Properties of h1", "Run"):
        lesson.get_by_role("button", name=f"Do this for me: {step}").first.click()
        expect(lesson.locator(".row.is-done").filter(has_text=step).first).to_be_visible()
    h1 = student.opens_terminal("h1")
    student.types(h1, "ifconfig")
    student.reads(h1, "127.0.0.1")
    is_done(lesson, "ifconfig")


def test_a_step_whose_command_fails_is_not_done(student: Student) -> None:
    lesson = student.starts_lesson("Lab 1:")
    lesson.get_by_role("button", name="Do this for me: Draw").click()
    lesson.get_by_role("button", name="Do this for me: Run").first.click()
    client = student.opens_terminal("client")
    student.types(client, "sudo mn")
    student.reads(client, "Cleaning up")
    student.types(client, "sudo mn -c")
    is_done(lesson, "sudo mn -c")
    expect(row(lesson, "sudo mn").first).not_to_have_class(re.compile("is-done"))


def test_a_reload_types_no_answers_into_the_shell(student: Student) -> None:
    student.draws("Host", 0.3, 0.3)
    student.runs()
    terminal = student.opens_terminal("h1")
    student.types(terminal, QUERIES)
    student.reads(terminal, "asked")
    student.page.on("dialog", lambda dialog: dialog.accept())
    student.page.reload()
    student.is_connected()
    terminal = student.terminal("h1")
    student.reads(terminal, "asked")
    student.types(terminal, "echo $((6 * 7)) is heard")
    seen = student.reads(terminal, "42 is heard")
    assert not ANSWERS.search(seen.replace("\\e]11;?\\a", "")), seen
    assert "command not found" not in seen


def test_a_lesson_is_started_at_a_later_step(student: Student) -> None:
    student.reads_lesson("Lab 3:")
    student.page.get_by_role("button", name="Start from step…").click()
    dialog = student.page.get_by_role("dialog", name="Start from a later step")
    dialog.get_by_role("radio").nth(4).check()
    student.picture("start from a step")
    dialog.get_by_role("button", name="Start from step 6").click()
    expect(student.page.get_by_role("button", name="Stop", exact=True)).to_be_enabled()
    assert {"h1", "h2"} <= student.names_on_canvas()
    student.picture("started")
