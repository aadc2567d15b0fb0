"""Do sections 3.1 to 3.4 of Lab 1 with mouse and keyboard, as a student does."""

from __future__ import annotations

import re

import pytest
from served import Server
from student import Student

pytestmark = [pytest.mark.machine, pytest.mark.costs(13)]


@pytest.mark.long
def test_lab_1_is_done_by_hand(student: Student, server: Server) -> None:
    # 3.1 The same network, drawn
    student.draws("Host", 0.25, 0.3)
    student.draws("Host", 0.25, 0.75)
    student.draws("Switch", 0.6, 0.5)
    student.links("h1", "s1")
    student.links("s1", "h2")
    student.picture("3.1 drawn")
    student.fills_properties("h1", {"IP address": "10.0.0.1/8"})
    student.fills_properties("h2", {"IP address": "10.0.0.2/8"})
    student.picture("3.1 addresses")

    # 3.2 Run it
    student.runs()
    student.makes_terminals_large()
    h1 = student.opens_terminal("h1")
    student.types(h1, "ifconfig")
    student.reads(h1, re.compile(r"h1-eth0.*10\.0\.0\.1 .*255\.0\.0\.0", re.DOTALL))
    h2 = student.opens_terminal("h2")
    student.types(h2, "ifconfig")
    student.reads(h2, re.compile(r"h2-eth0.*10\.0\.0\.2 .*255\.0\.0\.0", re.DOTALL))
    student.brings_to_front("h1")
    student.types(h1, "clear; ping 10.0.0.2")
    student.reads(h1, "icmp_seq=2")
    student.picture("3.2 ping")
    student.presses("Control+C")
    seen = student.reads(h1, re.compile(r"\d+ packets transmitted, .* 0% packet loss"))
    sent, received = re.findall(r"(\d+) packets transmitted, (\d+) received", seen)[-1]
    assert int(sent) == int(received) >= 2
    student.picture("3.2 ping ended")
    student.makes_terminals_small()
    student.stops()

    # 3.3 Addresses by rule
    student.fills_properties("h1", {"IP address": ""})
    student.fills_properties("h2", {"IP address": ""})
    student.sets_preference("IP base", "15.0.0.0/8")
    student.picture("3.3 IP base")
    student.runs()
    student.makes_terminals_large()
    h1 = student.opens_terminal("h1")
    student.types(h1, "ifconfig")
    student.reads(h1, re.compile(r"h1-eth0.*15\.0\.0\.1 .*255\.0\.0\.0", re.DOTALL))
    student.picture("3.3 addresses by rule")
    student.makes_terminals_small()
    student.stops()

    # 3.4 The topology as a file
    student.saves_as("lab1")
    assert (server.folder / "lab1.mn").is_file()
    student.picture("3.4 saved")
    student.clears()
    student.opens("lab1.mn")
    student.has_nodes("h1", "h2", "s1")
    student.picture("3.4 opened again")
