"""Links deliver packets by their trace, to the microsecond, and change by their schedule."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from itertools import count, islice
from pathlib import Path

import pytest
from _captured import packets

from wanlab import Capture, Network, Sampling, Topology, link, shapes
from wanlab.errors import TopologyError
from wanlab.measure import traffic
from wanlab.measure.traffic import Datagrams, FlowResults
from wanlab.plan import plan_script
from wanlab.topology.link_trace import read_trace
from wanlab.topology.model import Host, Switch

pytestmark = pytest.mark.machine

Start = Callable[..., Network]
OPPORTUNITY_BYTES, HEADER_BYTES = 1504, 4
ETHERNET_BYTES = 14


def instants(trace: Sequence[int], once: bool = False) -> Iterator[int]:
    """Return the instants of all delivery opportunities, in ms."""
    for lap in count():
        yield from (lap * trace[-1] + at_ms for at_ms in trace)
        if once:
            return


def deliveries(
    trace: Sequence[int], arrivals: Sequence[tuple[int, int]], once: bool = False
) -> list[int]:
    """Return when mahimahi would have delivered packets, in ms, as Netravali et al. describe it.

    `arrivals`: (ns, bytes of the network packet)."""
    opportunities = instants(trace, once)
    at_ms, left = -1, 0
    found = []
    free_ms = -1
    for came_ns, size in arrivals:
        # If nothing waits, the opportunity or the rest of it is lost.
        if came_ns > free_ms * 1_000_000:
            left = 0
            while at_ms * 1_000_000 <= came_ns:
                at_ms = next(opportunities, 10**12)
            left = OPPORTUNITY_BYTES
        need = size + HEADER_BYTES
        while need > left:
            need -= left
            at_ms, left = next(opportunities, 10**12), OPPORTUNITY_BYTES
        left -= need
        free_ms = at_ms
        found.append(at_ms)
    return found


def through(
    net: Network, run: Callable[[], object]
) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """Run a network; return what reached the port with a trace, and what left it: (network's time in ns,
    bytes of the network packet) of all packets."""
    expression = f"ether src {net.port('h1-eth0').mac}"
    came = Capture("s1-eth1", file=Path(net.folder) / "came.pcapng", snaplen=96, filter=expression)
    went = Capture("s1-eth2", file=Path(net.folder) / "went.pcapng", snaplen=96, filter=expression)
    with Sampling(net, [came, went]):
        run()
        net.run_for("200ms")  # the sniffers that still wait
    came_packets, went_packets = (
        [(time_ns, size - ETHERNET_BYTES) for time_ns, size in packets(net, capture.file)]
        for capture in (came, went)
    )
    return came_packets, went_packets


def behind_a_trace(**words: object) -> Topology:
    return Topology(
        nodes=(Host("h1"), Host("h2"), Switch("s1")),
        links=(link("h1", "s1"), link("s1", "h2", a_to_b=words)),  # type: ignore[arg-type]
    )


@pytest.fixture
def trace() -> list[int]:
    """Return an irregular trace of 400 ms, with gaps of up to 40 ms and several in one ms."""
    numbers = random.Random(1)
    found = []
    at_ms = 0
    while at_ms < 380:
        at_ms += numbers.choice([0, 0, 0, 1, 1, 2, 5, 40])
        found.append(at_ms)
    return found


@pytest.mark.parametrize("wire", ["mtu", "gso"])
def test_each_packet_passes_at_the_opportunity_of_the_trace(
    start: Start, trace: list[int], wire: str
) -> None:
    net = start(behind_a_trace(trace=trace, queue={"kind": "fifo", "packets": 1000}), wire=wire)
    net["h2"].run("wanlab-traffic serve -D")

    def send() -> None:
        udp = net["h1"].start("wanlab-traffic udp h2 --rate 20Mbps --size 1472B --time 300ms")
        small = "wanlab-traffic udp h2 --rate 700kbps --size 333B --time 700ms --seed 2"
        net["h1"].run(small)
        udp.finish()

    came, went = through(net, send)
    assert len(came) == len(went) > 600
    expected = deliveries(trace, came)
    # On a 40 Gbit/s wire, a packet delays the others in its millisecond by 0.3 us.
    late_ns = [at_ns - at_ms * 1_000_000 for at_ms, (at_ns, _) in zip(expected, went, strict=True)]
    assert 0 <= min(late_ns) <= max(late_ns) < 5_000


def test_a_capture_of_a_link_that_is_busy_is_its_trace(start: Start, trace: list[int]) -> None:
    net = start(behind_a_trace(trace=trace, queue={"kind": "fifo", "packets": 1000}))
    net["h2"].run("wanlab-traffic serve -D")
    file = Path(net.folder) / "down.pcapng"
    with Sampling(net, [Capture("s1-eth2", file=file, snaplen=96, filter="udp dst port 5202")]):
        net["h1"].run("wanlab-traffic udp h2 --rate 20Mbps --size 1472B --time 300ms --late 3s")
    passed = packets(net, file)
    first_ms = round(passed[0][0] / 1e6)
    expected = [at_ms - first_ms for at_ms in islice(instants(trace), 20_000) if at_ms >= first_ms]
    # The generator's handshake may have used other opportunities of the first millisecond.
    used = expected.count(0) - [round(at / 1e6) for at, _ in passed].count(first_ms)
    found = read_trace(file).at_ms
    assert len(found) == len(passed) > 400
    assert list(found) == expected[used : used + len(found)]


def test_tcp_packets_pass_only_at_opportunities(start: Start, trace: list[int]) -> None:
    net = start(behind_a_trace(trace=trace, queue="codel"))
    net["h2"].run("wanlab-traffic serve -D")
    run = "wanlab-traffic bulk h2 --bytes 500KB"
    _, went = through(net, lambda: net["h1"].run(run))
    possible = set(islice(instants(trace), 20_000))
    at_ms = [time_ns // 1_000_000 for time_ns, size in went if size > 1000]
    assert len(at_ms) >= 345
    assert set(at_ms) <= possible


def test_nothing_passes_after_the_end_of_a_trace_that_is_not_repeated(start: Start) -> None:
    net = start(behind_a_trace(trace="1000 1001 1002", trace_once=True, delay="1ms"))
    net["h2"].run("wanlab-traffic serve -D; ping -c 1 h1", check=False)
    assert net.now_ns > 10**9
    told = net["h1"].run("ping -c 1 -W 1 h2", check=False)
    assert told.status == 1


def test_a_sender_that_saturates_a_trace_gets_its_capacity(start: Start) -> None:
    net = start(behind_a_trace(trace="1"))
    net["h2"].run("wanlab-traffic serve -D")
    net.run_until("1s")
    said = net["h1"].run("wanlab-traffic udp h2 --rate 20Mbps --size 1472B --time 1s --json").output
    found = traffic.parse(said)
    assert isinstance(found, Datagrams)
    # At most 1000 packets are queued; meanwhile one passes in each ms.
    first_ms, last_ms = (round(time_ns / 1e6) for time_ns in (found.first_ns, found.last_ns))
    assert found.datagrams == last_ms - first_ms + 1


def test_a_rate_that_changes_often_passes_its_mean(start: Start) -> None:
    changes = [
        {"at": f"{10 * place}ms", "rate": "12Mbps" if place % 2 else "4Mbps"} for place in range(2)
    ]
    net = start(behind_a_trace(schedule=changes, schedule_repeat="20ms"))
    net["h2"].run("wanlab-traffic serve -D")
    found = traffic.parse(net["h1"].run("wanlab-traffic bulk h2 --time 2s --json").output)
    assert isinstance(found, FlowResults)
    assert found.goodput_bps == pytest.approx(8e6 * 1448 / 1514, rel=0.02)


def test_a_schedule_changes_a_link_at_its_instants(start: Start) -> None:
    changes = [
        {"at": "1s", "delay": "20ms"},
        {"at": "2s", "loss": "100%"},
        {"at": "2500ms", "loss": "0%", "delay": "5ms"},
    ]
    net = start(behind_a_trace(delay="10ms", schedule=changes, schedule_repeat="4s"))
    net["h1"].run("ping -c 1 h2")
    delays: dict[float, float | None] = {}
    for tenth in range(5, 60, 3):
        net.run_until(f"{tenth}00ms")
        said = net["h1"].run("ping -c 1 -W 0.1 h2", check=False).output
        time = said.partition("time=")[2].partition(" ")[0]
        delays[tenth / 10] = float(time) if time else None

    def expected(at_s: float) -> float | None:
        at_s %= 4
        if at_s < 1:
            return 10.0
        return 20.0 if at_s < 2 else None if at_s < 2.5 else 5.0

    assert delays == {at_s: expected(at_s) for at_s in delays}


def test_a_scheduled_link_cannot_be_changed_by_hand(start: Start) -> None:
    net = start(behind_a_trace(delay="1ms", schedule=[{"at": "1s", "delay": "2ms"}]))
    with pytest.raises(TopologyError, match="follow a schedule"):
        net.set_port("s1-eth2", delay="5ms")


def test_a_trace_that_is_set_later_still_starts_with_the_network(start: Start) -> None:
    net = start(shapes.minimal())
    net["h2"].run("wanlab-traffic serve -D; ping -c 1 h1")
    net.run_until("1s")
    net.set_port("s1-eth2", trace="300 700 1000")
    _, went = through(net, lambda: net["h1"].run("ping -i 0.2 -c 12 h2"))
    assert {time_ns // 1_000_000 % 1000 for time_ns, _ in went} == {0, 300, 700}


def test_the_printed_plan_has_the_same_effect_by_hand(start: Start) -> None:
    topology = behind_a_trace(
        trace="100 200 1000", delay="1ms", schedule=[{"at": "2s", "delay": "50ms"}]
    )
    net = start(Topology())
    began_ns = net.now_ns
    net.root.run(["sh", "-c", plan_script(topology)])
    said = net.root.run("ip netns exec h1 ping -i 0.1 -c 30 10.0.0.2").output
    assert " 0% packet loss" in said
    assert net.now_ns - began_ns > 2.8e9
    assert "delay 50ms" in net.root.run("tc qdisc show dev s1-eth2").output
