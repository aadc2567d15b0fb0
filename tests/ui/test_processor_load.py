"""A node's processor fills its tile and has a chart, while the network runs and afterwards."""

from __future__ import annotations

import re

import pytest
from axe import findings
from playwright.sync_api import expect
from served import Server
from student import LIMIT_MS, Student

expect.set_options(timeout=LIMIT_MS)
pytestmark = pytest.mark.machine
NETWORK = """\
nodes:
- {host: h1, x: 100, y: 100, cpu: {model: server-2019, cores: 1, speed: 0.2}}
- {switch: s1, x: 300, y: 100}
- {host: h2, x: 500, y: 100}
links: [{link: [h1, s1]}, {link: [s1, h2]}]
"""
SEND = """\
import socket, time
s = socket.socket(type=socket.SOCK_DGRAM)
while True: s.sendto(bytes(60_000), ("127.0.0.1", 9))
"""


def test_a_busy_processor_fills_its_node_and_has_a_chart(student: Student, server: Server) -> None:
    (server.folder / "busy.yaml").write_text(NETWORK)
    (server.folder / "send.py").write_text(SEND)
    student.opens("busy.yaml")
    student.runs()
    h1 = student.page.get_by_role("meter", name="Busiest core of h1")
    terminal = student.opens_terminal("h1")
    student.types(terminal, "python3 send.py & echo start''ed")
    student.reads(terminal, "started")
    expect(h1).to_have_attribute("aria-valuenow", "100")
    expect(h1).to_have_class(re.compile("is-busy"))
    expect(h1).to_have_attribute("style", re.compile("height: 100%"))
    assert h1.get_attribute("title") == "Busiest core of h1: 100 %"
    expect(student.page.get_by_role("meter", name="Busiest core of h2")).to_have_count(0)

    student.shows("Charts")
    quantities = student.page.get_by_role("group", name="Quantities").first
    quantities.get_by_role("button", name="Busiest core", exact=True).click()
    chart = student.page.get_by_role("figure", name="Busiest core")
    row = chart.locator(".plot-row")
    expect(row).to_have_count(1)
    expect(row).to_contain_text("h1")
    expect(row.locator(".plot-value")).to_have_text("100 %")
    assert findings(student) == []
    student.picture("a busy processor")

    student.shows("Terminals")
    student.types(terminal, "kill %1; sleep 0.3; echo end''ed")
    student.reads(terminal, "ended")
    expect(h1).to_have_attribute("aria-valuenow", "0")
    student.stops()
    expect(h1).to_have_count(0)
