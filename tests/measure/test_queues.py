"""Compare the tables of the kinds of queues with tc's output."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from wanlab import Network, Queues, Sampling, shapes
from wanlab.measure import tc_text
from wanlab.measure.readings import Reading
from wanlab.record import Table

COUNTERS = Path(__file__).parent.parent / "golden" / "counters"

Start = Callable[..., Network]

# The columns of our tables and tc's names for them.
SAME = {
    "red": {"early_drops": "early", "limit_drops": "pdrop", "marks": "marked"},
    "codel": {
        "delay_us": "ldelay",
        "count": "count",
        "last_count": "lastcount",
        "ecn_marks": "ecn_mark",
        "largest_packet_bytes": "maxpacket",
    },
    "fq_codel": {
        "largest_packet_bytes": "maxpacket",
        "ecn_marks": "ecn_mark",
        "new_flow_count": "new_flow_count",
        "new_flows": "new_flows_len",
        "old_flows": "old_flows_len",
    },
    "fq": {"flows": "flows", "inactive_flows": "inactive", "ce_marks": "ce_mark"},
    "pie": {"in_packets": "pkts_in", "early_drops": "dropped", "ecn_marks": "ecn_mark"},
    "fq_pie": {"in_packets": "pkts_in", "ecn_marks": "ecn_mark"},
}


def tables_of(dump: bytes, devices: dict[int, str]) -> dict[str, Table]:
    """Return the tables made from a dump of the kernel."""
    queues = Queues()
    queues._devices = {"": devices}
    queues.take(Reading(5, 0, dump))
    return queues.tables()


@pytest.fixture(scope="module")
def tables() -> dict[str, Table]:
    names = (COUNTERS / "queues_interfaces.txt").read_text().splitlines()
    pairs = (line.split(": ") for line in names)
    return tables_of(
        (COUNTERS / "queues.bin").read_bytes(), {int(number): name for number, name in pairs}
    )


@pytest.mark.parametrize("kind", SAME)
def test_the_state_of_a_queue_is_as_tc_shows_it(tables: dict[str, Table], kind: str) -> None:
    (by_tc,) = [
        shown
        for shown in tc_text.parse((COUNTERS / "queues.json").read_bytes())
        if shown.counters.kind == kind
    ]
    state = tables[f"qdisc_{kind}"]
    compared = 0
    for ours, theirs in SAME[kind].items():
        if theirs in by_tc.details:
            assert state[ours][0] == by_tc.details[theirs], (ours, theirs)
            compared += 1
    assert compared >= 2
    assert (state["time_ns"][0], state["handle"][0]) == (5, by_tc.counters.handle)


def test_the_probability_of_pie_is_a_fraction(tables: dict[str, Table]) -> None:
    probability = tables["qdisc_pie"].column("drop_probability_fraction")
    assert probability.unit == "1"
    assert 0 <= float(probability.values[0]) <= 1


def test_cake_has_a_table_of_its_tins(tables: dict[str, Table]) -> None:
    tins = tables["qdisc_cake_tin"]
    assert list(tins["tin"]) == [0, 1, 2]
    (by_tc,) = [
        shown
        for shown in tc_text.parse((COUNTERS / "queues.json").read_bytes())
        if shown.counters.kind == "cake"
    ]
    for ours, theirs in (
        ("sent_packets", "sent_packets"),
        ("drops", "drops"),
        ("ecn_marks", "ecn_mark"),
        ("target_us", "target_us"),
        ("mean_delay_us", "avg_delay_us"),
    ):
        assert list(tins[ours]) == [tin[theirs] for tin in by_tc.tins], ours


def test_every_qdisc_is_in_the_common_table(tables: dict[str, Table]) -> None:
    queues = tc_text.parse((COUNTERS / "queues.json").read_bytes())
    shown = [qdisc.counters for qdisc in queues]
    assert list(tables["qdisc"]["handle"]) == [row.handle for row in shown]
    assert list(tables["qdisc"]["marks"]) == [row.marks for row in shown]


@pytest.mark.machine
def test_classes_are_read_with_their_settings(start: Start) -> None:
    net = start(shapes.minimal())
    for line in (
        "qdisc add dev s1-eth2 root handle 1: htb default 20",
        "class add dev s1-eth2 parent 1: classid 1:1 htb rate 10mbit ceil 10mbit",
        "class add dev s1-eth2 parent 1:1 classid 1:10 htb rate 8mbit ceil 10mbit",
        "class add dev s1-eth2 parent 1:1 classid 1:20 htb rate 2mbit ceil 10mbit burst 2k",
        "qdisc add dev s1-eth1 root handle 1: drr",
        "class add dev s1-eth1 parent 1: classid 1:1 drr quantum 3000",
        "filter add dev s1-eth1 parent 1: protocol all matchall classid 1:1",
    ):
        net.root.run(f"tc {line}")
    with Sampling(net, [Queues("s1-eth1", "s1-eth2")], every="100ms") as sampling:
        net["h1"].run("ping -c 40 -i 0.001 -s 1400 h2")
    tables = sampling.tables()
    last = tables["class_htb"].where(time_ns=tables["class_htb"]["time_ns"][-1])
    assert dict(zip(last["handle"], last["rate_bps"], strict=True)) == {
        "1:1": 10_000_000,
        "1:10": 8_000_000,
        "1:20": 2_000_000,
    }
    assert set(last["ceil_bps"]) == {10_000_000}
    borrowed = dict(zip(last["handle"], last["borrowed_packets"], strict=True))
    lent = dict(zip(last["handle"], last["lent_packets"], strict=True))
    assert borrowed["1:20"] > 0
    assert lent["1:1"] >= borrowed["1:20"]
    assert set(tables["class_drr"]["quantum_bytes"]) == {3000}
    counted = tables["class"].where(handle="1:20", device="s1-eth2")
    assert int(counted["packets"][-1]) >= 40
    shown = net.root.run("tc -s class show dev s1-eth2").output
    assert f"Sent {counted['bytes'][-1]} bytes" in shown


@pytest.mark.machine
def test_the_flows_of_sfq_are_its_classes(start: Start) -> None:
    net = start(shapes.minimal())
    net.root.run("tc qdisc add dev s1-eth2 root handle 1: tbf rate 1mbit burst 2k limit 100000")
    net.root.run("tc qdisc add dev s1-eth2 parent 1: handle 2: sfq")
    with Sampling(net, [Queues("s1-eth2", flows=True)], every="10ms") as sampling:
        net["h1"].run("ping -c 20 -i 0.001 -s 1400 h2")
    flows = sampling.tables()["class_sfq"]
    assert len(flows) > 0
    assert "allotment_bytes" in flows
