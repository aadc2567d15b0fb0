"""Test captures in the browser: started at a link, listed, filtered, and followed by flow."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect
from served import Server
from student import LIMIT_MS, Student

expect.set_options(timeout=LIMIT_MS)
pytestmark = pytest.mark.machine
TWO_HOSTS = """\
nodes: [{host: h1, x: 100, y: 100}, {host: h2, x: 500, y: 100}]
links: [{link: [h1, h2], delay: 5ms}]
"""


def test_packets_are_captured_at_a_link_and_listed(student: Student, server: Server) -> None:
    (server.folder / "two.yaml").write_text(TWO_HOSTS)
    student.opens("two.yaml")
    student.runs()
    student.chooses_pace("as fast as possible")
    student.opens_link_menu("h1", "h2")
    student.page.get_by_role("menuitem", name="Capture packets at h1-eth0…").click()
    dialog = student.page.get_by_role("dialog", name="Capture packets at h1-eth0")
    dialog.get_by_label("Filter").fill("no such filter")
    dialog.get_by_role("button", name="Capture", exact=True).click()
    student.page.get_by_text('the filter "no such filter"').first.wait_for()
    dialog.get_by_label("Filter").fill("icmp or udp")
    dialog.get_by_label("Snap length").select_option(label="96 bytes (the headers)")
    student.picture("capture dialog")
    dialog.get_by_role("button", name="Capture", exact=True).click()
    dialog.wait_for(state="hidden")

    terminal = student.opens_terminal("h1")
    student.types(terminal, "ping -c 2 h2; printf %200d 0 > /dev/udp/10.0.0.2/9; sleep 0.1")
    student.reads(terminal, "2 received")
    student.brings_to_front("h1-eth0.pcapng")
    packets = student.page.get_by_role("region", name="Packets of h1-eth0.pcapng")
    row = packets.get_by_role("row").filter(has_text="echo request")
    expect(row).to_have_count(2)
    expect(row.first).to_contain_text(re.compile(r"h1-eth0 →\s*h1\s*h2\s*ICMP\s*98"))
    expect(packets).to_contain_text("len=200")
    student.picture("packet list")
    row.first.click()
    details = student.page.get_by_role("region", name="Packet 1")
    expect(details).to_contain_text("0000  00 00 00 00 00 02 00 00 00 00 00 01 08 00")
    expect(details).to_contain_text("2 more bytes")
    details.get_by_role("button", name="Follow this flow").click()
    expect(packets).not_to_contain_text("len=200")
    expect(packets).to_contain_text("echo reply")
    student.picture("one flow")
    student.page.get_by_label("Filter packets").fill("reply seq=2")
    expect(packets.get_by_role("row")).to_have_count(2)
    with student.page.expect_download() as download:
        student.page.get_by_role("link", name="Download for Wireshark").click()
    assert download.value.suggested_filename == "h1-eth0.pcapng"
    student.opens_link_menu("h1", "h2")
    student.page.get_by_role("menuitem", name="Stop capturing at h1-eth0").click()
    student.page.get_by_text("Saved the packets of h1-eth0 in h1-eth0.pcapng").wait_for()
