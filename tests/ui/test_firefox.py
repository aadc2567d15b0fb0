"""Test the page in Firefox: draw, run, type, chart, keyboard.

Playwright drives Debian's Firefox over WebDriver BiDi; see bidi_gateway.py.
"""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import bidi_gateway
import pytest
from axe import findings
from playwright.sync_api import expect
from student import Student


@pytest.fixture(scope="module")
def browser(
    playwright: Any, find_browser: Callable[..., str], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Any]:
    program = find_browser("firefox-esr", "firefox-esr", "firefox")
    command = shlex.join([sys.executable, bidi_gateway.__file__, program])
    started: Path = tmp_path_factory.mktemp("firefox") / "firefox"
    started.write_text(f'#!/bin/sh\nexec {command} "$@"\n')
    started.chmod(0o755)
    firefox = playwright.firefox.launch(channel="moz-firefox", executable_path=started)
    yield firefox
    firefox.close()


@pytest.fixture
def permissions() -> list[str]:
    return []  # Firefox does not grant permissions over WebDriver BiDi


@pytest.mark.long
@pytest.mark.machine
@pytest.mark.costs(35)
def test_a_network_is_drawn_run_and_used_in_firefox(student: Student) -> None:
    student.draws("Host", 0.25, 0.3)
    student.draws("Host", 0.75, 0.3)
    student.links("h1", "h2")
    student.fills_properties("h1", {"IP address": "10.0.0.1/8"})
    student.fills_properties("h2", {"IP address": "10.0.0.2/8"})
    student.runs()
    terminal = student.opens_terminal("h1")
    student.types(terminal, "ping -c 3 10.0.0.2")
    student.reads(terminal, "3 packets transmitted, 3 received")
    student.picture("firefox ping")

    # F6 moves the focus around the window, also out of a terminal.
    regions = []
    for _ in range(5):
        student.presses("F6")
        regions.append(
            student.page.evaluate(
                "() => ['.top-bar', '.canvas-area', '.timeline', '.dock', '.side'].find("
                "(name) => document.querySelector(name).contains(document.activeElement))"
            )
        )
    assert regions == [".side", ".top-bar", ".canvas-area", ".timeline", ".dock"]

    student.types(terminal, "ping -q -i 0.01 -s 1000 10.0.0.2")
    student.shows("Charts")
    student.selects_link("h1", "h2")
    # At most 100 packets of 1042 bytes are sent per second.
    seen = student.chart_values("Throughput", "h1-eth0", until=lambda values: max(values) > 300_000)
    assert max(seen) < 1_000_000
    assert findings(student) == []
    student.picture("firefox chart")


def test_nodes_are_linked_and_moved_with_the_keyboard_in_firefox(student: Student) -> None:
    student.draws("Host", 0.3, 0.3)
    student.draws("Host", 0.7, 0.3)
    student.presses("Escape")
    student.thing("h2").focus()
    for keys in ("l", "Shift+Tab", "Enter"):
        student.presses(keys)
    expect(student.canvas.locator(".react-flow__edge")).to_have_count(1)
    before = student.thing("h1").bounding_box()
    student.thing("h1").focus()
    for keys in ("Tab", "Shift+Tab", "ArrowDown"):
        student.presses(keys)
    student.page.wait_for_function(
        "(y) => document.querySelector('[aria-label=\"host h1\"]').getBoundingClientRect().y > y",
        arg=before["y"],
    )
    lesson = student.reads_lesson("Lab 5:")
    expect(lesson.get_by_role("figure").first).to_be_visible()
    student.picture("firefox lesson")
