"""Statements of the pages that a test can perform, and that were once wrong."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from wanlab import Network, save, shapes

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
Start = Callable[..., Network]


def words(path: Path) -> str:
    """Return a page's text in one line."""
    return " ".join(path.read_text(encoding="utf-8").split())


def rtt_ms(output: str) -> float:
    (found,) = re.findall(r"time=([\d.]+) ms", output)
    return float(found)


# -- the walkthrough: why the ping after a repair took 7 ms -----------------------------------------


@pytest.mark.machine
@pytest.mark.parametrize("waited_ms", [500, 900])
def test_a_lost_arp_request_is_repeated_a_second_after_it_was_sent(
    waited_ms: int, start: Start
) -> None:
    assert "`h1` lost its first ARP request while the link was down" in words(
        DOCS / "tutorial" / "walkthrough.md"
    )
    net = start(shapes.minimal())
    net.set_link_up("s1", "h2", False)
    net["h1"].run(f"ping -c 1 -W {waited_ms / 1000} h2", check=False)
    net.set_link_up("s1", "h2", True)
    rest_ms = rtt_ms(net["h1"].run("ping -c 1 h2").output)
    # Linux repeats the request a second later; its timers count in ticks of 4 ms.
    assert 1000 - waited_ms <= rest_ms <= 1000 - waited_ms + 12


@pytest.mark.machine
def test_without_a_lost_arp_request_a_repaired_link_answers_at_once(start: Start) -> None:
    net = start(shapes.minimal())
    net.set_link_up("s1", "h2", False)
    net.set_link_up("s1", "h2", True)
    assert rtt_ms(net["h1"].run("ping -c 1 h2").output) < 0.1


# -- the home page's figure: what the receiver got -------------------------------------------------


def test_no_curve_of_the_figure_is_above_the_rate_of_its_link() -> None:
    text = (DOCS / "figures" / "buffers.svg").read_text(encoding="utf-8")
    panel = text.partition('id="axes_1"')[2].partition('id="axes_2"')[0]
    ticks = re.findall(r'id="ytick_\d+">.*?<use [^>]*y="([\d.]+)".*?<!-- (\d+) -->', panel, re.S)
    height = {int(mbps): float(y) for y, mbps in ticks}
    curves = [
        [float(y) for y in re.findall(r"[ML] [\d.-]+ ([\d.-]+)", path)]
        for path in re.findall(r'<path d="([^"]+)" clip-path', panel)
    ]
    curves = [curve for curve in curves if len(curve) > 10]  # the others are lines of the grid
    assert len(curves) == 3
    assert [min(curve) > height[1000] for curve in curves] == [True] * 3  # y grows downwards


# -- limitations: storm control --------------------------------------------------------------------

SEND = """
import socket, sys, time
sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
sender.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, socket.inet_aton("10.0.0.1"))
began = time.monotonic()
for burst in range(int(sys.argv[1])):
    for _ in range(int(sys.argv[2])):
        sender.sendto(b"x", ("239.1.1.1", 5000))
    time.sleep(max(0, began + (burst + 1) / 1000 - time.monotonic()))
"""


@pytest.mark.machine
def test_multicast_is_limited_as_the_page_says(start: Start, tmp_path: Path) -> None:
    assert (
        "drops broadcast and multicast frames beyond 10,000 per second, after a burst of 16,384. From "
        "then on it passes only 1,000 per second, until fewer than 500 per second arrive."
    ) in words(DOCS / "explanation" / "limitations.md")
    (tmp_path / "send.py").write_text(SEND)
    net = start(shapes.minimal())

    def arrived() -> int:
        return int(net["h2"].run("cat /sys/class/net/h2-eth0/statistics/rx_packets").output)

    def sent_for(milliseconds: int, at_once: int) -> int:
        before = arrived()
        net["h1"].run(f"python3 send.py {milliseconds} {at_once}")
        return arrived() - before

    # 15,000 per second for one second: the burst of 16,384 covers what is above 10,000.
    assert sent_for(1000, 15) >= 15_000
    # After two more such seconds, little of it is left, and then 1,000 per second pass.
    net["h1"].run("python3 send.py 3000 15")
    assert 400 <= sent_for(1000, 15) <= 1_000  # of each 15 at one instant, at most one
    # Nothing arrives for two seconds: the storm is over.
    net.run_for("2s")
    assert sent_for(1000, 5) >= 5_000


# -- Jupyter: how to save what a cell shows --------------------------------------------------------


def test_a_topology_is_saved_as_the_page_about_jupyter_says(tmp_path: Path) -> None:
    (call,) = re.findall(
        r"`wanlab\.(save\(topology, .*?\))`", words(DOCS / "how-to" / "jupyter.md")
    )
    (name,) = re.findall(r'"(.*?)"', call)
    topology = shapes.dumbbell(pairs=2, rate="20Mbps")
    save(topology, tmp_path / name)
    assert "<svg" in (tmp_path / name).read_text(encoding="utf-8")


# -- other programs: when and how they were looked at ----------------------------------------------


@pytest.mark.parametrize(
    ("page", "date"),
    [
        ("README.md", r"checked on \d+ [A-Z][a-z]+ 20\d\d"),
        ("docs/how-to/coming-from.md", r"checked on \d+ [A-Z][a-z]+ 20\d\d"),
        ("docs/explanation/editors.md", r"containerlab [\d.]+ \([A-Z][a-z]+ 20\d\d\)"),
        ("docs/evidence/peers.md", r"ns-3 \(here 3\.\d+"),
    ],
)
def test_a_comparison_says_of_which_version_or_day_it_is(page: str, date: str) -> None:
    assert re.search(date, words(ROOT / page))


def test_the_counts_of_public_scripts_add_up_and_claim_no_comparison() -> None:
    text = words(DOCS / "evidence" / "mininet-tests.md")
    table = re.findall(r"\| ([^|]+) \| (\d+) \| (\d+) \|", text)
    scripts, drawings = (sum(int(row[column]) for row in table) for column in (1, 2))
    assert f"{scripts} scripts and {drawings} MiniEdit drawings" in text
    could_run = [row for row in table if not row[0].startswith(("the script's own fault", "need"))]
    did = [row for row in could_run if not row[0].startswith("did not finish")]
    counts = [sum(int(row[1]) + int(row[2]) for row in part) for part in (did, could_run)]
    assert f"So {counts[0]} of the {counts[1]} that could run did" in text
    assert "(by reading)" in table[0][0]
    assert "Mininet was not run" in text
    assert f"Of {counts[1]} public scripts and drawings that could run, {counts[0]} do" in words(
        DOCS / "how-to" / "mininet.md"
    )


def test_the_page_about_ns_3_names_mininet_in_no_title() -> None:
    titles = re.findall(r"([^:\n]+): evidence/peers\.md", (ROOT / "mkdocs.yml").read_text("utf-8"))
    first = (DOCS / "evidence" / "peers.md").read_text(encoding="utf-8").partition("\n")[0]
    assert [title for title in (*titles, first) if "Mininet" in title] == []
    assert "Each row is a single run" in words(DOCS / "evidence" / "peers.md")
