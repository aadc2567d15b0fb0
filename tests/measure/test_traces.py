"""Test traces of acknowledgements, sojourn times, retransmissions and drops."""

from __future__ import annotations

import struct
from collections.abc import Callable

import numpy as np
import pytest

from wanlab import Flows, Network, Queues, Sampling, shapes
from wanlab.errors import PeerError, TopologyError, WanlabError
from wanlab.measure import Acks, Drops, Retransmissions, Sampler, Sojourns, trace_pages
from wanlab.measure.trace_pages import EventFormat

Start = Callable[..., Network]
PORT = "s1-eth2"

FORMAT = """name: net_dev_queue
ID: 7
format:
\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;
\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;

\tfield:void * skbaddr;\toffset:8;\tsize:8;\tsigned:0;
\tfield:unsigned int len;\toffset:16;\tsize:4;\tsigned:0;
\tfield:__data_loc char[] name;\toffset:20;\tsize:4;\tsigned:0;

print fmt: "reason: %s", __print_symbolic(REC->reason, { 2, "NOT_SPECIFIED" }, { 3, "NO_SOCKET" })
"""


def event(number: int, address: int, length: int, name: bytes) -> bytes:
    """Return the data of one event, followed by its text."""
    raw = name + b"\0"
    data = struct.pack("=HxxiQII", number, 0, address, length, len(raw) << 16 | 24) + raw
    return data.ljust((len(data) + 3) & ~3, b"\0")


def page(time_ns: int, *entries: bytes) -> bytes:
    body = b"".join(entries)
    return (struct.pack("=QQ", time_ns, len(body)) + body).ljust(4096, b"\0")


def entry(delta_ns: int, data: bytes) -> bytes:
    return struct.pack("=I", delta_ns << 5 | len(data) // 4) + data


def test_pages_of_events_are_decoded() -> None:
    form = EventFormat.of(FORMAT)
    assert form.symbols == {2: "NOT_SPECIFIED", 3: "NO_SOCKET"}
    # Its length is in a separate word.
    long = event(7, 0xABC, 60, b"a-port-with-a-name-of-its-own" * 4)
    data = page(
        1000,
        entry(0, event(7, 0xFFFF_8000_0000_1000, 1514, b"s1-eth2")),
        entry(24, event(8, 1, 1, b"other")),
        struct.pack("=II", 5 << 5 | 30, 3),  # 3 * 2^27 + 5 ns more
        entry(1, event(7, 0x2000, 66, b"h1-eth0")),
        struct.pack("=II", 29 | 1 << 5, 12) + bytes(8),  # discarded
    ) + page(9_000_000_000, struct.pack("=II", 2 << 5, len(long) + 4) + long)
    found = trace_pages.decode(data, {"queued": form})["queued"]
    later = 1000 + 24 + 3 * 2**27 + 5 + 1
    assert found.times_ns.tolist() == [1000, later, 9_000_000_002]
    assert found.order.tolist() == [0, 2, 3]
    assert found.fields["skbaddr"].tolist() == [0xFFFF_8000_0000_1000, 0x2000, 0xABC]
    assert found.fields["len"].tolist() == [1514, 66, 60]
    assert found.texts["name"] == ["s1-eth2", "h1-eth0", "a-port-with-a-name-of-its-own" * 4]


def test_without_pages_there_are_no_events() -> None:
    found = trace_pages.decode(b"", {"queued": EventFormat.of(FORMAT)})["queued"]
    assert len(found.times_ns) == len(found.fields) == 0


def test_half_a_page_is_refused() -> None:
    with pytest.raises(PeerError, match="not whole pages"):
        trace_pages.decode(bytes(100), {})
    with pytest.raises(PeerError, match="format of an event"):
        EventFormat.of("ID: 5\n")


@pytest.mark.machine
def test_a_packet_waits_in_a_queue_for_the_packets_before_it(start: Start) -> None:
    """tbf sends a packet of 1042 bytes every 833.6 us at 10 Mbit/s; later packets wait for it."""
    net = start(shapes.minimal())
    net["h1"].run("ping -c 1 h2")
    net.root.run("tc qdisc add dev s1-eth2 root tbf rate 10mbit burst 1100 limit 100000")
    with Sampling(net, [Sojourns("s1-eth2")]) as sampling:
        net["h1"].run("ping -c 4 -l 4 -s 1000 h2")
    sojourns = sampling.tables()["sojourn"].where(packet_bytes=1042)
    assert len(sojourns) == 4
    waits = np.diff(np.asarray(sojourns["sojourn_ns"]))
    # ping sends the four packets at once; each takes 0.2 us on the wire to the switch.
    assert all(abs(wait - 833_600) < 250 for wait in waits[1:].tolist())
    gaps = np.diff(np.asarray(sojourns["time_ns"]))
    assert gaps[1:].tolist() == [833_600] * 2


@pytest.mark.machine
def test_what_has_not_happened_is_an_empty_table(start: Start) -> None:
    """They were missing, so that a script without losses ended with a KeyError."""
    net = start(shapes.minimal())
    samplers: list[Sampler] = [Acks("h1"), Retransmissions("h1"), Sojourns("s1-eth2"), Drops()]
    with Sampling(net, samplers) as sampling:
        net.run_for("1ms")
    tables = sampling.tables()
    kinds = {
        name: "".join(column.kind[0] for column in table.columns) for name, table in tables.items()
    }
    assert {name: len(table) for name, table in tables.items()} == dict.fromkeys(kinds, 0)
    assert kinds == {
        "ack": "itt" + "i" * 9,
        "retransmission": "ittt",
        "sojourn": "itii",
        "queue_drop": "itiit",
        "drop": "itt",
    }


@pytest.mark.machine
def test_traces_agree_with_counters(start: Start) -> None:
    net = start(shapes.dumbbell(pairs=1))
    net.root.run(f"tc qdisc add dev {PORT} root handle 1: tbf rate 20mbit burst 3000 limit 30000")
    net["h2"].start("iperf3 -s -1")
    net.run_for("10ms")
    samplers: list[Sampler] = [
        Acks("h1"),
        Retransmissions("h1"),
        Sojourns(PORT),
        Drops(),
        Queues(PORT),
        Flows("h1"),
    ]
    with Sampling(net, samplers, every="50ms") as sampling:
        net["h1"].start("iperf3 -c h2 -n 1M").finish()
    tables = sampling.tables()
    queue = tables["qdisc"].where(parent="root")
    packets, sent_bytes = np.asarray(queue["packets"]), np.asarray(queue["bytes"])
    assert len(tables["sojourn"]) == packets[-1] - packets[0]
    sizes = np.asarray(tables["sojourn"]["packet_bytes"])
    assert int(np.sum(sizes)) == sent_bytes[-1] - sent_bytes[0]
    drops = max(int(count) for count in tables["qdisc"]["drops"])
    assert drops > 0
    assert len(tables["queue_drop"]) == drops
    assert len(tables["drop"]) >= drops
    assert len(tables["retransmission"]) >= drops
    acks = tables["ack"]
    flows = tables["tcp"].distinct("flow")
    assert set(acks.distinct("flow")) <= set(flows)
    assert np.all(np.diff(np.asarray(acks["time_ns"])) >= 0)
    assert net.warnings == []


@pytest.mark.machine
def test_events_have_their_instants(start: Start) -> None:
    """An acknowledgement comes a round trip after its segment: 10 ms and the time on the wires."""
    net = start(shapes.dumbbell(pairs=1, rate="1Gbps", delay="5ms"))
    net["h2"].start("iperf3 -s -1")
    net.run_for("10ms")
    with Sampling(net, [Acks("h1"), Sojourns(PORT)]) as sampling:
        net["h1"].start("iperf3 -c h2 -n 10K").finish()
    tables = sampling.tables()
    first_left = int(tables["sojourn"]["time_ns"][0])
    assert int(tables["ack"]["time_ns"][0]) > first_left
    assert int(tables["ack"]["time_ns"][-1]) < net.now_ns
    assert all(
        wait >= 5_000_000 for wait in np.asarray(tables["sojourn"]["sojourn_ns"])[1:].tolist()
    )


def test_sojourns_of_nothing_are_refused() -> None:
    with pytest.raises(WanlabError, match="Sojourns needs at least one port"):
        Sojourns()


@pytest.mark.machine
def test_a_port_or_node_that_is_not_there_is_named(start: Start) -> None:
    net = start(shapes.minimal())
    with pytest.raises(TopologyError, match='no port "s1-eth9"'):
        Sampling(net, [Sojourns("s1-eth9")])
    with pytest.raises(TopologyError, match='no node "h7"'):
        Sampling(net, [Acks("h7")])
