"""Test that the texts of links do not cover each other, or the texts of nodes."""

from __future__ import annotations

import time
from itertools import combinations

from patience import PATIENCE_S
from served import Server
from student import Student

STAR = """\
nodes:
  - {router: r1, x: 300, y: 200}
  - {router: r2, x: 440, y: 205}
  - {host: h1, x: 160, y: 195}
  - {host: h2, x: 300, y: 320}
  - {host: h3, x: 220, y: 310}
  - {host: h4, x: 440, y: 330}
links:
  - link: [r1, r2]
    a_port: {ip: 10.0.0.1/24}
    b_port: {ip: 10.0.0.2/24}
    rate: 10Mbps
    delay: 20ms
  - link: [h1, r1]
    a_port: {ip: 10.0.1.2/24}
    b_port: {ip: 10.0.1.1/24}
    rate: 100Mbps
  - {link: [h2, r1], a_port: {ip: 10.0.2.2/24}, b_port: {ip: 10.0.2.1/24}}
  - {link: [h3, r1], a_port: {ip: 10.0.3.2/24}, b_port: {ip: 10.0.3.1/24}}
  - {link: [h4, r2], a_port: {ip: 10.0.4.2/24}, b_port: {ip: 10.0.4.1/24}}
"""
ALLOWED_PX = 1.5
"""By how much boxes may overlap: they are a little larger than their letters."""


def collisions(student: Student) -> list[tuple[str, str]]:
    """Return the pairs of texts whose boxes overlap, without turned texts, whose boxes are larger."""
    boxes = student.page.evaluate(
        """() => [...document.querySelectorAll('.line-end, .device-name, .device-address, .tile')]
            .map((it) => [it.textContent || 'a tile', it.getBoundingClientRect()])
            .map(([text, { left, right, top, bottom }]) => [text, left, right, top, bottom])"""
    )
    return [
        (one[0], other[0])
        for one, other in combinations(boxes, 2)
        if min(one[2], other[2]) - max(one[1], other[1]) > ALLOWED_PX
        and min(one[4], other[4]) - max(one[3], other[3]) > ALLOWED_PX
    ]


def test_names_and_addresses_of_ports_are_readable(student: Student, server: Server) -> None:
    (server.folder / "star.yaml").write_text(STAR)
    student.opens("star.yaml")
    has_no_collisions(student)
    student.picture("labels")
    student.page.reload()  # the network is known before the canvas
    student.is_connected()
    has_no_collisions(student)


def has_no_collisions(student: Student) -> None:
    student.chooses("View", "Actual size")
    student.page.wait_for_function("() => document.querySelectorAll('.line-end').length === 10")
    # Places are found soon after the last change.
    end = time.monotonic() + PATIENCE_S
    while (found := collisions(student)) and time.monotonic() < end:
        student.page.wait_for_timeout(100)
    assert found == []
