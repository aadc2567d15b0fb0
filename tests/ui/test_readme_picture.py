"""Draw README's picture of the laboratory: Lab 14 while a buffer of ten BDP fills.

pytest tests/ui/test_readme_picture.py --accept      writes it to docs/figures/laboratory.svg
"""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from handbook import drawn_page
from student import Student

ROOT = Path(__file__).resolve().parents[2]
PICTURE = ROOT / "docs" / "figures" / "laboratory.svg"
WINDOW = {"width": 1360, "height": 860}
TEXT = "{http://www.w3.org/2000/svg}text"
TEN_BDP = (
    "tc qdisc add dev s1-eth2 root handle 1: netem delay 20ms",
    "tc qdisc add dev s1-eth2 parent 1: handle 2: tbf rate 1gbit burst 500000 limit 26214400",
)
HOST_BUFFERS = "10240 87380 52428800"


@pytest.mark.long
@pytest.mark.machine
@pytest.mark.costs(30)
def test_the_picture_shows_a_lab_that_runs(
    student: Student, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    student.page.set_viewport_size(WINDOW)
    fill_the_buffer(student)
    picture = drawn_page.as_svg(student.page)
    if request.config.getoption("--accept"):
        PICTURE.write_text(picture, encoding="utf-8")
    (tmp_path / "laboratory.svg").write_text(picture, encoding="utf-8")
    student.picture("window")
    student.page.context.new_page().goto(f"file://{tmp_path}/laboratory.svg")
    student.page.context.pages[-1].screenshot(path=str(tmp_path / "laboratory.png"))

    shown = [element.text or "" for element in ET.fromstring(picture).iter(TEXT)]
    for text in ("Lab 14: Router's Bufferbloat", "Queue", "h1", "s1", "Stop"):
        assert text in shown, text
    assert any(re.match(r"\[ +5\].*Mbits/sec", text) for text in shown), "iperf3's lines"
    assert len(picture) < 1_000_000


def fill_the_buffer(student: Student) -> None:
    """Start Lab 14 and its flow through ten BDP; pause when the buffer is nearly full."""
    student.starts_lesson("Lab 14:")
    student.opens("lab14/lab_topologies/Lab 14.mn")
    student.runs()
    client = student.opens_terminal("client")
    for command in TEN_BDP:
        student.types(client, f"sudo {command}")
    student.types(client, "tc qdisc show dev s1-eth2")
    student.reads(client, re.compile("netem.*tbf", re.DOTALL))
    for name in ("h1", "h3"):
        host = student.opens_terminal(name)
        for buffer in ("rmem", "wmem"):
            student.types(host, f"sysctl -w net.ipv4.tcp_{buffer}='{HOST_BUFFERS}'")
        student.reads(host, f"tcp_wmem = {HOST_BUFFERS}")
        student.types(host, "clear")
    student.selects_link("s1", "h3")
    student.shows("Charts")
    queue = student.page.get_by_role("figure", name="Queue")
    queue.get_by_role("button", name="Open in a pane").click()
    student.page.get_by_role("tab", name=re.compile("^Queue")).click()
    student.page.get_by_role("button", name="Split right").click()
    student.adds_breakpoint("queue of s1-eth2 > 20 MB")

    student.types(student.terminal_of("h3"), "iperf3 -s")
    student.types(student.terminal_of("h1"), "iperf3 -c 10.0.0.3 -t 20")
    h3 = student.terminal_of("h3")  # the throughput at the receiver
    student.page.get_by_text("paused", exact=True).wait_for()
    student.page.get_by_role("region", name="Messages").get_by_role("button").click()
    clock = student.page.get_by_role("group", name="Clock")
    clock.get_by_label("Step duration").fill("200ms")
    clock.get_by_role("button", name="Step", exact=True).click()
    student.page.locator('.packet-layer:not([data-shown="0"])').wait_for()
    student.reads(h3, re.compile("2.00-3.00 +sec"))
