"""Test a lesson beside the network: its commands can be typed, and done steps are marked."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import expect
from served import Server
from student import LIMIT_MS, Student

from wanlab.labs import catalog

pytestmark = pytest.mark.machine
expect.set_options(timeout=LIMIT_MS)
QUERIES = r"printf '\e[c\e[6n\e]11;?\a'; bash -c 'read -rs -t 60 -d \\'; echo as''ked"
ANSWERS = re.compile(r"rgb:|\d+;\d+R|\?1;2c")


def row(student: Student, number: int) -> Any:
    """Return a step in the player, which turns to the card that has it."""
    player = student.page.get_by_role("region", name="Steps")
    step = player.locator(f'.player-step[data-step="{number}"]')
    while not step.count():
        player.get_by_role("button", name="Next steps", exact=True).click()
        student.draws_again()
    return step


def does_for_me(student: Student, number: int) -> None:
    row(student, number).get_by_role("button", name="for me").click()
    is_done(student, number)


def is_done(student: Student, number: int) -> None:
    expect(row(student, number)).to_have_class(re.compile("is-done"))


@pytest.mark.long
def test_mininets_prompt_in_lab_1_is_used_however_it_was_started(student: Student) -> None:
    student.starts_lesson("Lab 1:")
    expect(student.page.get_by_role("heading", name="The canvas is empty")).to_be_visible()
    does_for_me(student, 1)
    client = student.terminal("client")
    student.types(client, "sudo mn")
    student.reads(client, "*** Starting CLI:")
    is_done(student, 2)
    does_for_me(student, 4)
    student.reads(client, "h1 h2 s1")
    student.types(client, "h1 ifconfig")
    student.reads(client, "127.0.0.1")
    is_done(student, 6)
    expect(student.page.get_by_role("group", name="Terminal mininet")).to_have_count(0)
    does_for_me(student, 8)
    student.picture("steps are done")


def test_a_step_whose_command_fails_is_not_done_and_a_mistake_is_explained(
    student: Student,
) -> None:
    student.starts_lesson("Lab 3:")
    is_done(student, 2)  # Start has opened the network
    row(student, 3).get_by_role("button", name="Run for me").click()
    is_done(student, 3)
    h1 = student.opens_terminal("h1")
    is_done(student, 4)
    student.types(h1, "sudo tc qdisc add dev h1-eth1 root netem delay 100ms")
    student.reads(h1, "Cannot find device")
    hint = student.page.locator(".player-hint")
    expect(hint).to_have_text("Step 8: the interface is h1-eth0; you typed h1-eth1")
    student.picture("hint")
    student.types(h1, "sudo tc qdisc add dev h1-eth0 root netem delay 100ms")
    is_done(student, 8)
    expect(hint).to_have_count(0)


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
    student.page.get_by_role("button", name="More actions").click()
    student.page.get_by_role("button", name="Start from step…").click()
    dialog = student.page.get_by_role("dialog", name="Start from a later step")
    # Nothing is done yet, so the first choice is suggested.
    expect(dialog.get_by_role("radio").first).to_be_checked()
    section = dialog.get_by_role("group", name="3.1 Which interface")
    section.get_by_role("radio").first.check()
    expect(dialog).to_contain_text("in 4 s on the network's clock")
    student.picture("start from a step")
    dialog.get_by_role("button", name="Start from step 6").click()
    expect(student.page.get_by_role("button", name="Stop", exact=True)).to_be_enabled()
    for name in ("h1", "h2"):
        expect(student.thing(name)).to_be_visible()
    expect(student.page.locator('.player-step[aria-current="step"]')).to_have_attribute(
        "data-step", "6"
    )
    # Step 4 opens a terminal of h1.
    student.reads(student.terminal("h1"), "h1:~#")
    student.picture("started")


OF_THE_TERMINAL = re.compile(r"tmux|Ctrl-B|wanlab (?:lab|mn)\b|In the browser|\(window \d")
WALK = """async () => {
  const texts = [];
  const steps = [];
  const wait = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
  for (;;) {
    texts.push(document.querySelector('.lesson-view').innerText);
    for (const row of document.querySelectorAll('.player-step')) steps.push(Number(row.dataset.step));
    const next = document.querySelector('.player-foot button:last-child');
    if (next === null || next.disabled) return { texts, steps };
    next.click();
    await wait();
  }
}"""


def test_the_player_shows_all_steps_and_nothing_of_the_edition_for_terminals(
    come: Callable[..., Student], shared_server: Server
) -> None:
    student = come(shared_server)
    page = student.page
    student.shows("Lessons")
    for name in catalog.names():
        unit = catalog.find(name)
        page.get_by_role("button", name=re.compile(f"^{unit.heading.split(':')[0]}:")).click()
        page.locator(".lesson-part > *").first.wait_for(state="attached")
        texts = []
        for part in ("Questions", "Read", "Do"):
            if (tab := page.get_by_role("tab", name=part, exact=True)).count():
                tab.click()
                page.locator(".lesson .prose").first.wait_for(state="attached")
                texts.append(page.locator(".lesson-view").inner_text())
        shown = page.evaluate(WALK)
        assert OF_THE_TERMINAL.findall("\n".join([*texts, *shown["texts"]])) == [], name
        assert shown["steps"] == [step.n for step in unit.steps if not step.skip], name
        page.get_by_role("button", name="All lessons").click()
