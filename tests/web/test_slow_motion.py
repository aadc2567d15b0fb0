"""Test slow motion: packets in flight, steps to events, breakpoints."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from web_client import RefusedCommandError, Server, WebClient

from wanlab.measure.packet_events import PacketEvent
from wanlab.measure.queue_lengths import QueueReading
from wanlab.web.packets.packet_decode import DecodedPacket
from wanlab.web.packets.packet_flights import FlightTracker
from wanlab.web.protocol.messages import LivePort
from wanlab.web.running.breakpoints import Breakpoints, parse_breakpoint

MS_NS = 1_000_000
SLOW_LINK = """\
nodes: [{host: h1}, {host: h2}]
links: [{link: [h1, h2], rate: 1Mbps, delay: 5ms, queue: {kind: fifo, limit: 3000B}}]
"""


FLOOD = "for i in {1..40}; do printf %01400d 0 > /dev/udp/10.0.0.2/9; sleep 0.004; done"
"""Sends at almost three times the rate of the link."""


# -- without a network ------------------------------------------------------------------------------


def test_breakpoints_are_parsed_as_they_are_written() -> None:
    assert parse_breakpoint("queue > 1 MB").queue_bytes == 1_000_000
    assert parse_breakpoint("Queue of s1-eth2 >  10KB").port == "s1-eth2"
    assert parse_breakpoint("first loss").reads_queues
    assert parse_breakpoint("loss at s1-eth2").port == "s1-eth2"
    assert parse_breakpoint("at 10 s").time_ns == 10_000_000_000


@pytest.mark.parametrize("text", ["", "queue", "queue > many", "loss of", "soon", "-1 s"])
def test_an_invalid_breakpoint_is_refused(text: str) -> None:
    with pytest.raises(Exception, match=r"breakpoint|size"):
        parse_breakpoint(text)


def test_a_loss_counts_from_when_the_breakpoint_was_set() -> None:
    points = Breakpoints()
    before = {"a": QueueReading(0, 7), "b": QueueReading(0, 0)}
    points.add(parse_breakpoint("first loss"), before)
    assert points.limit_ns(0) == MS_NS
    assert points.reached(0, MS_NS, before) == ""
    after = {"a": QueueReading(0, 7), "b": QueueReading(0, 2)}
    assert points.reached(MS_NS, 2 * MS_NS, after) == "first loss: b has dropped 2 packets"
    assert points.texts == ()


def test_time_stops_exactly_at_a_breakpoint() -> None:
    points = Breakpoints()
    points.add(parse_breakpoint("10ms"), {})
    assert points.limit_ns(4 * MS_NS) == 6 * MS_NS
    assert points.reached(4 * MS_NS, 9 * MS_NS, {}) == ""
    assert points.reached(9 * MS_NS, 10 * MS_NS, {}) == "10ms"
    assert points.limit_ns(10 * MS_NS) is None


PORTS = (LivePort("l1", "a", "n1", "h1-eth0"), LivePort("l1", "b", "n2", "h2-eth0"))


HEADER = DecodedPacket("10.0.0.1", "10.0.0.2", "TCP", "seq 1", "TCP 1 2", 56)


def test_a_packet_whose_end_was_not_seen_is_reported_as_gone() -> None:
    tracker = FlightTracker(PORTS)
    tracker.note(PacketEvent(10, "queued", "h1-eth0", 77, 98))
    assert tracker.changed() is not None
    tracker.note(PacketEvent(500, "queued", "h1-eth0", 77, 98))  # the kernel reuses its memory
    push = tracker.changed()
    assert push is not None
    assert push.gone == (1,)
    assert [packet.number for packet in push.packets] == [2]


def test_the_ends_of_reported_packets_are_never_left_out() -> None:
    tracker = FlightTracker(PORTS)
    count = 400
    for address in range(count):
        tracker.note(PacketEvent(10, "queued", "h1-eth0", address, 98))
    first = tracker.changed()
    assert first is not None
    assert len(first.packets) == count
    for address in range(count):
        tracker.note(PacketEvent(20, "sent", "h1-eth0", address, 98))
        tracker.note(PacketEvent(20, "received", "h2-eth0", address, 98))
    for address in range(count, 5 * count):
        tracker.note(PacketEvent(30, "queued", "h1-eth0", address, 98))
    second = tracker.changed()
    assert second is not None
    ended = {packet.number for packet in second.packets if packet.received_ns is not None}
    assert ended == {packet.number for packet in first.packets}
    assert second.left_out > 0


def test_a_packet_does_not_get_the_flow_of_another_node() -> None:
    """Its memory was that of a packet that another node had received."""
    tracker = FlightTracker(PORTS)
    tracker.note(PacketEvent(10, "sent", "h1-eth0", 77, 98))
    tracker.note_header(77, "h2-eth0", 98, HEADER)
    tracker.note(PacketEvent(20, "received", "h2-eth0", 77, 98))
    tracker.note(PacketEvent(30, "queued", "h1-eth0", 77, 1400))
    push = tracker.changed()
    assert push is not None
    assert [packet.flow for packet in push.packets] == [HEADER.flow, ""]


def test_a_packet_is_followed_from_its_queue_to_the_other_end() -> None:
    tracker = FlightTracker(PORTS)
    tracker.note(PacketEvent(10, "queued", "h1-eth0", 77, 98))
    tracker.note(PacketEvent(20, "sent", "h1-eth0", 77, 98))
    header = DecodedPacket("10.0.0.1", "10.0.0.2", "ICMP", "echo request", "ICMP 1 2", 56)
    tracker.note_header(77, "h2-eth0", 98, header)
    tracker.note(PacketEvent(30, "received", "h2-eth0", 77, 98))
    push = tracker.changed()
    assert push is not None
    (packet,) = push.packets
    assert (packet.link, packet.end, packet.bytes) == ("l1", "a", 98)
    assert (packet.queued_ns, packet.sent_ns, packet.received_ns) == (10, 20, 30)
    assert (packet.flow, packet.is_data) == ("ICMP 1 2", True)
    assert tracker.changed() is None
    # A waiting packet of the same size is assigned to the same flow.
    tracker.note(PacketEvent(40, "queued", "h1-eth0", 78, 98))
    tracker.note(PacketEvent(41, "dropped", "h1-eth0", 78, 98, "QDISC_DROP"))
    push = tracker.changed()
    assert push is not None
    assert [(it.flow, it.dropped_ns, it.reason) for it in push.packets] == [
        ("ICMP 1 2", 41, "QDISC_DROP")
    ]


# -- with a network ---------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def slow(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WebClient]:
    folder: Path = tmp_path_factory.mktemp("slow")
    (folder / "slow.yaml").write_text(SLOW_LINK)
    with Server(folder, str(folder / "slow.yaml")) as server, server.connect_client() as client:
        client.run()
        yield client


def packets(client: WebClient) -> dict[int, dict[str, Any]]:
    found: dict[int, dict[str, Any]] = {}
    for push in client.pushes:
        if push["push"] == "packets":
            found |= {packet["number"]: packet for packet in push["packets"]}
    return found


@pytest.mark.machine
def test_packets_are_followed_in_slow_motion(slow: WebClient) -> None:
    slow.do("pace", pace="real", speed=0.1)
    with slow.terminal("h1") as terminal:
        terminal.until("# ")
        slow.pushes.clear()
        terminal.command("ping -c 1 -s 1000 h2", "1 received")
    slow.until(lambda: any("echo reply" in it["info"] for it in packets(slow).values()))
    slow.stands_still()
    echoes = [it for it in packets(slow).values() if "echo" in it["info"]]
    assert [it["end"] for it in echoes] == ["a", "b"]
    assert {it["flow"] for it in echoes} == {"ICMP 10.0.0.1 10.0.0.2"}
    for it in echoes:
        assert it["bytes"] == 1042
        # The delay of 5 ms, and the line rate of 40 Gbit/s to the other end.
        assert 5 * MS_NS <= it["sent_ns"] - it["queued_ns"] <= 5 * MS_NS + 100
        assert 0 < it["received_ns"] - it["sent_ns"] < 1000
    slow.do("pace", pace="fast")


def steps_to(client: WebClient, what: str) -> int:
    """Step from packet to packet until an event of this kind; return its instant."""
    while True:
        step = client.do("step_to", event="packet", port="h1-eth0")
        if what in step["what"]:
            return int(step["now_ns"])


@pytest.mark.machine
def test_time_is_stepped_from_packet_to_packet(slow: WebClient) -> None:
    slow.do("pause", paused=True)
    with slow.terminal("h1") as terminal:
        terminal.type("sleep 0.02; ping -c 1 h2\r")
        queued = steps_to(slow, "a packet of 98 bytes reaches the queue of h1-eth0")
        assert slow.state["clock"]["now_ns"] == queued
        sent = steps_to(slow, "h1-eth0 begins to send a packet of 98 bytes")
        assert 5 * MS_NS <= sent - queued <= 5 * MS_NS + 100
        assert slow.state["clock"]["is_paused"]
        slow.do("pause", paused=False)
        terminal.until("1 received")
    with pytest.raises(RefusedCommandError, match=r"no port x1"):
        slow.do("step_to", event="packet", port="x1")


@pytest.mark.machine
def test_time_is_stepped_to_drops_and_breakpoints_pause_it(slow: WebClient) -> None:
    slow.do("pace", pace="fast")
    with slow.terminal("h1") as terminal:
        terminal.until("# ")
        slow.stands_still()
        slow.do("break", text="first loss")
        assert slow.state["breakpoints"]["breakpoints"] == ["first loss"]
        terminal.type(f"{FLOOD}; echo ov''er\r")
        slow.until(lambda: "has dropped" in slow.state["breakpoints"]["reached"])
        slow.until(lambda: slow.state["clock"]["is_paused"])
        assert slow.state["breakpoints"]["breakpoints"] == []
        slow.do("step_to", event="drop")
        slow.until(lambda: any(it["dropped_ns"] for it in packets(slow).values()))
        assert slow.do("step_to", event="timer")["now_ns"] > 0
        target = slow.state["clock"]["now_ns"] // MS_NS * MS_NS + 30 * MS_NS
        slow.do("break", text=f"{target // MS_NS}ms")
        slow.do("let_run", always=True)
        slow.do("pause", paused=False)
        slow.until(lambda: slow.state["breakpoints"]["reached"] == f"{target // MS_NS}ms")
        assert slow.stands_still() == target
        slow.do("let_run", always=False)
        slow.do("pause", paused=False)
        terminal.until("over")
    with pytest.raises(RefusedCommandError, match="has passed already"):
        slow.do("break", text="1ms")
