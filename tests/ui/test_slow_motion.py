"""Test slow motion in the browser: packets in flight, steps to events, breakpoints."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect
from served import Server
from student import LIMIT_MS, Student

expect.set_options(timeout=LIMIT_MS)
pytestmark = pytest.mark.machine
SLOW_LINK = """\
nodes: [{host: h1, x: 100, y: 100}, {host: h2, x: 500, y: 100}]
links: [{link: [h1, h2], rate: 2Mbps, delay: 20ms, queue: {kind: fifo, limit: 3000B}}]
"""
FLOOD = "for i in {1..400}; do printf %01400d 0 > /dev/udp/10.0.0.2/9; sleep 0.004; done"


@pytest.mark.long
def test_packets_fly_in_slow_motion_and_time_stops_at_a_loss(
    student: Student, server: Server
) -> None:
    (server.folder / "slow.yaml").write_text(SLOW_LINK)
    student.opens("slow.yaml")
    student.runs()
    student.chooses_pace("×0.02")  # noqa: RUF001
    clock = student.page.get_by_role("group", name="Clock")
    menu = student.page.get_by_role("menu", name="Step to")
    terminal = student.opens_terminal("h1")
    student.types(terminal, FLOOD)
    legend = student.page.get_by_role("group", name="Packets in flight")
    expect(legend).to_contain_text(re.compile(r"UDP h1:\d+ – h2:9"))  # noqa: RUF001
    layer = student.page.locator(".packet-layer")
    expect(layer).not_to_have_attribute("data-shown", "0")
    student.picture("packets in flight")

    student.adds_breakpoint("first loss")
    student.page.locator(
        ".toast-what", has_text="Paused: first loss: h1-eth0 has dropped"
    ).wait_for()
    clock.get_by_text("paused").wait_for()
    student.picture("first loss")

    student.selects_link("h1", "h2")
    clock.get_by_role("button", name="Step to").click()
    menu.get_by_role("menuitem", name="Next packet at h2-eth0").click()
    student.page.get_by_text(re.compile(r"h2-eth0 has received a packet of \d+ bytes")).wait_for()
    clock.get_by_text("paused").wait_for()

    # In real time no packet is followed, so none is drawn.
    student.chooses_pace("as fast as possible")
    clock.get_by_role("button", name="Resume").click()
    expect(layer).to_have_attribute("data-shown", "0")
