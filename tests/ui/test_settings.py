"""Settings made by ip, ethtool and sysctl are shown and can be copied into the drawing."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import expect
from student import LIMIT_MS, Student

import wanlab

pytestmark = pytest.mark.machine
expect.set_options(timeout=LIMIT_MS)
TWO_HOSTS = """\
nodes: [{host: h1, x: 100, y: 100}, {host: h2, x: 500, y: 100}]
links: [{link: [h1, h2]}]
"""


@pytest.mark.long
def test_settings_of_terminals_are_copied_into_the_drawing(student: Student, server: Any) -> None:
    (server.folder / "two.yaml").write_text(TWO_HOSTS)
    page = student.page
    student.opens("two.yaml")
    student.runs()
    h1 = student.opens_terminal("h1")
    student.types(h1, "sysctl -w net.ipv4.tcp_sack=0")
    student.types(h1, "sudo ip link set h1-eth0 mtu 1400 && ethtool -K h1-eth0 tso off")
    student.types(h1, "ip link set nothing mtu 1400; ip route")
    mark = student.thing("h1").locator(".settings-mark")
    expect(mark).to_have_text("3")
    student.thing("h1").click()
    note = page.get_by_role("group", name="Set in terminals", exact=True)
    expect(note.locator("li")).to_have_text(
        [
            "sysctl -w net.ipv4.tcp_sack=0 → start command",
            "ip link set h1-eth0 mtu 1400 → MTU of h1-eth0",
            "ethtool -K h1-eth0 tso off → NIC of h1-eth0",
        ]
    )
    student.picture("set in terminals")
    student.selects_link("h1", "h2")
    at_port = page.get_by_role("group", name="Set in terminals at h1-eth0")
    expect(at_port.locator("li")).to_have_count(2)
    student.thing("h1").click()
    note.get_by_role("button", name="Copy into the drawing").click()
    expect(mark).to_have_count(0)
    expect(page.get_by_text("The drawing has changed since")).to_have_count(0)

    page.keyboard.press("Escape")
    student.canvas.press("Control+s")
    expect(page.get_by_role("status").filter(has_text="Saved two.yaml")).to_be_visible()
    saved = wanlab.load(server.folder / "two.yaml")
    assert saved.hosts[0].start_command == "sysctl -w net.ipv4.tcp_sack=0"
    assert saved.links[0].a.mtu == 1400
    assert saved.links[0].a.nic.tso is False

    # The next run begins with these settings.
    student.stops()
    student.closes_terminals()
    student.runs()
    again = student.opens_terminal("h1")
    student.types(again, "sysctl -n net.ipv4.tcp_sack; cat /sys/class/net/h1-eth0/mtu; echo do''ne")
    shown = student.reads(again, "done").split("\n")
    assert shown[1:4] == ["0", "1400", "done"]
