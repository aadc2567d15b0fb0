"""Test `wanlab top`: the text made of two snapshots, and the program inside a machine."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from wanlab import Network, shapes
from wanlab.cli.top import Snapshot, View, flow_rows, port_rows, size, text
from wanlab.cli.top_terminal import sorting_key
from wanlab.errors import WanlabError
from wanlab.measure import tcp_info
from wanlab.measure.here import NodeCounters
from wanlab.netlink import link_dump
from wanlab.netlink.qdisc import QdiscCounters

COUNTERS = Path(__file__).parents[1] / "golden" / "counters"
LINKS = link_dump.decode((COUNTERS / "links.bin").read_bytes())
PORT = next(link for link in LINKS if link.name == "s1-eth1")
FLOW = max(
    tcp_info.decode((COUNTERS / "tcp_cubic.bin").read_bytes()),
    key=lambda flow: flow.info.get("bytes_acked", 0),
)


def tbf(**more: int) -> QdiscCounters:
    counters = dict.fromkeys(
        (
            "bytes",
            "packets",
            "drops",
            "overlimits",
            "requeues",
            "backlog_bytes",
            "backlog_packets",
            "marks",
        ),
        0,
    )
    names = {"device": PORT.name, "kind": "tbf", "handle": "1:", "parent": "root"}
    return QdiscCounters(**names, **{**counters, **more})  # type: ignore[arg-type]


def snapshot(
    time_s: float, *, port: Any = PORT, flows: Any = (FLOW,), qdisc: Any = None
) -> Snapshot:
    root = NodeCounters("root", [LINKS[0], port], [qdisc or tbf()], [])
    return Snapshot(time_s, [root, NodeCounters("h1", [], [], flows)])


def with_info(**more: int) -> Any:
    return replace(FLOW, info={**FLOW.info, **more})


BEFORE = snapshot(10.0)
AFTER = snapshot(
    12.0,
    port=replace(PORT, tx_bytes=PORT.tx_bytes + 25_000_000, tx_packets=PORT.tx_packets + 200),
    flows=[
        with_info(
            bytes_acked=FLOW.info["bytes_acked"] + 5_000_000,
            total_retrans_packets=FLOW.info["total_retrans_packets"] + 4,
            snd_cwnd_bytes=2_100_000,
            rtt_us=20_500,
        )
    ],
    qdisc=tbf(backlog_bytes=1_300_000, drops=20, marks=2),
)


def test_rates_are_the_growth_of_the_counters() -> None:
    (row,) = port_rows(BEFORE, AFTER)  # the loopback interface is not a port
    assert (row.node, row.port, row.kind) == ("root", "s1-eth1", "tbf")
    assert (row.tx_bps, row.rx_bps, row.tx_packets_ps) == (100e6, 0, 100)
    assert (row.backlog_bytes, row.drops_ps, row.marks_ps) == (1_300_000, 10, 1)
    (flow,) = flow_rows(BEFORE, AFTER)
    assert (flow.node, flow.tx_bps, flow.retransmits_ps) == ("h1", 20e6, 2)
    assert (flow.cwnd_bytes, flow.rtt_ms) == (2_100_000, 20.5)


def test_a_counter_that_restarts_at_zero_gives_no_negative_rate() -> None:
    (row,) = port_rows(AFTER, snapshot(13.0))
    assert (row.tx_bps, row.drops_ps) == (0, 0)


def test_all_bytes_of_a_new_flow_count_since_the_last_snapshot() -> None:
    (flow,) = flow_rows(snapshot(10.0, flows=()), snapshot(11.0))
    assert flow.tx_bps == FLOW.info["bytes_acked"] * 8


def test_a_new_port_has_no_rates_yet() -> None:
    none = Snapshot(9.0, [])
    (row,) = port_rows(none, AFTER)
    assert (row.tx_bps, row.is_idle) == (0, False)  # there are packets in its queue


def test_the_text_has_a_table_of_ports_and_one_of_flows() -> None:
    lines = text(BEFORE, AFTER, View(), about="virtual clock")
    assert lines[0] == "wanlab top - 12.0 s, over 2 s   virtual clock   sorted by throughput"
    assert " ".join(lines[2].split()) == (
        "NODE PORT TX Mbit/s RX Mbit/s TX pkt/s QUEUE DROPS/s MARKS/s KIND"
    )
    assert lines[3].split("  ")[-1] == "tbf"
    assert "1.3 MB" in lines[3]
    assert lines[5].split()[:3] == ["NODE", "FLOW", "CC"]
    assert lines[6].split()[-3:] == ["MB", "20.50", "2"]
    assert len(lines) == 7


def test_idle_ports_and_flows_are_shown_on_request() -> None:
    still = snapshot(12.0)
    quiet = text(BEFORE, still, View(), about="")
    assert not any("s1-eth1" in line for line in quiet)
    asked = text(BEFORE, still, View().pressed("i"), about="")
    assert any("s1-eth1" in line for line in asked)


def test_no_more_lines_are_shown_than_fit() -> None:
    flows = [replace(with_info(bytes_acked=n), cookie=n) for n in range(1, 50)]
    for rows in (6, 10, 24, 60, 200):
        lines = text(
            snapshot(10.0, flows=()),
            snapshot(11.0, flows=flows),
            View("n", True),
            about="",
            rows=rows,
        )
        assert len(lines) <= rows
        assert any("NODE  FLOW" in line for line in lines)


def test_keys_choose_the_order() -> None:
    flows = [
        replace(with_info(bytes_acked=n, rtt_us=1000 * (100 - n)), cookie=n, local_port=n)
        for n in range(1, 4)
    ]

    def order(view: View) -> list[str]:
        lines = text(snapshot(10.0, flows=()), snapshot(11.0, flows=flows), view, about="")
        start = next(n for n, line in enumerate(lines) if "NODE  FLOW" in line)
        return [line.split(":")[1].split(" ")[0] for line in lines[start + 1 :]]

    assert order(View()) == ["3", "2", "1"]
    assert order(View().pressed("r")) == ["1", "2", "3"]
    assert order(View().pressed("n")) == ["1", "2", "3"]
    assert View("r").pressed("x") == View("r")


def test_an_order_has_a_name_and_a_key() -> None:
    assert (sorting_key("drops"), sorting_key("d")) == ("d", "d")
    with pytest.raises(WanlabError, match=r"cannot sort by 'drop' .did you mean drops"):
        sorting_key("drop")


@pytest.mark.parametrize(("value", "said"), [(0, "0 B"), (999, "999 B"), (2_621_440, "2.62 MB")])
def test_sizes_have_three_digits(value: int, said: str) -> None:
    assert size(value) == said


def test_the_error_outside_of_a_machine_says_what_to_do(wanlab: Any) -> None:
    ran = wanlab("top", "-b", "-n", "1")
    assert (ran.status, ran.output) == (1, b"")
    assert "is not running inside a wanlab machine" in ran.errors


@pytest.mark.long
@pytest.mark.machine
def test_in_a_machine_it_shows_the_ports_and_flows_of_all_nodes(
    start: Callable[..., Network],
) -> None:
    net = start(shapes.dumbbell(pairs=1, rate="50Mbps", delay="5ms"), wire="gso")
    net["h2"].start("iperf3 -s -1")
    net.run_for("100ms")
    flow = net["h1"].start("iperf3 -c h2 -t 3")
    net.run_for("1s")
    snapshots = net["h1"].run("wanlab top --batch -n 2 -d 0.5").output.split("\n\nwanlab top")
    assert len(snapshots) == 2
    bottleneck = next(line for line in snapshots[1].splitlines() if " s1-eth2 " in line)
    node, port, sent, *_, kind = bottleneck.split()
    assert (node, port, kind) == ("root", "s1-eth2", "netem+tbf+pfifo")
    assert 49 < float(sent) < 51
    sender = next(line for line in snapshots[1].splitlines() if " > 10.0.0.2:5201" in line)
    assert sender.startswith("h1 ")
    assert " cubic " in sender
    refused = net.root.run("wanlab top < /dev/null", check=False)
    assert (refused.status, "is not a terminal" in refused.stderr) == (1, True)
    flow.finish()
