"""Test the generator in a machine: every byte sent is accounted for, and runs repeat."""

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest
from made_captures import A, B, pcap

from wanlab import Capture, Network, Sampling, shapes
from wanlab.capture_file import ip_packets
from wanlab.errors import CommandError
from wanlab.measure import traffic
from wanlab.measure.traffic import Datagrams, FlowResults

pytestmark = pytest.mark.machine

TOPOLOGY = shapes.minimal(rate="20Mbps", delay="5ms")


@pytest.fixture(scope="module")
def net(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Network]:
    with Network(TOPOLOGY, seed=1, folder=tmp_path_factory.mktemp("traffic")) as network:
        network["h2"].run("wanlab-traffic serve -D")
        network["h1"].run("ping -c 1 h2")
        yield network


def run(net: Network, words: str) -> FlowResults:
    found = traffic.parse(net["h1"].run(f"wanlab-traffic {words} --json").output)
    assert isinstance(found, FlowResults)
    return found


def test_a_flow_of_a_size_carries_that_many_bytes(net: Network) -> None:
    found = run(net, "bulk h2 --bytes 300KB --flows 3 --congestion reno")
    assert [flow.bytes for flow in found.flows] == [300_000] * 3
    assert found.congestion == "reno"
    # 900 kB with headers take 0.38 s at 20 Mbit/s; the handshake and the path take 0.03 s.
    assert 0.38 < max(flow.completion_ns for flow in found.flows) / 1e9 < 0.6


@pytest.mark.parametrize("kind", ["bulk h2 --bytes 3KB", "udp h2 --time 100ms"])
def test_packets_carry_the_chosen_code_point(net: Network, kind: str) -> None:
    dump = net["h2"].start("tcpdump -n -v -c 3 -i h2-eth0 src host h1 and ip[1] != 0")
    net.run_for("1s")
    net["h1"].run(f"wanlab-traffic {kind} --dscp 46")
    dump.wait()
    assert dump.output.count("(tos 0xb8") == 3  # EF is 46, shifted by the two bits of ECN


def test_a_flow_with_a_duration_ends_on_time_and_fills_the_link(net: Network) -> None:
    found = run(net, "bulk h2 --time 2s")
    (flow,) = found.flows
    assert 2.0 < flow.end_ns / 1e9 < 2.9
    assert found.goodput_bps == pytest.approx(20e6 * 1448 / 1514, rel=0.03)


def test_a_flow_whose_handshake_outlasts_its_duration_carries_nothing(net: Network) -> None:
    (flow,) = run(net, "bulk h2 --time 5ms").flows  # a round trip is 20 ms
    assert flow.bytes == 0
    assert 0.02 < flow.end_ns / 1e9 < 0.06


def test_the_goodput_of_transfers_is_their_bytes_by_the_time_of_the_last(net: Network) -> None:
    found = run(net, "bulk h2 --bytes 300KB --flows 3")
    assert found.goodput_bps == pytest.approx(900_000 * 8 / found.seconds)
    assert found.goodput_bps < sum(flow.goodput_bps for flow in found.flows)


def test_what_arrives_after_the_sending_time_does_not_count(net: Network) -> None:
    # The connection is made after 20 ms, and its first data arrives after 30 ms.
    found = run(net, "bulk h2 --time 25ms --flows 3")
    assert found.bytes > 0
    assert (found.goodput_bps, {flow.goodput_bps for flow in found.flows}) == (0, {0})


def test_a_source_is_off_when_its_period_ends_however_slow_it_is(net: Network) -> None:
    for rate_bps in (500_000, 1_000_000, 10_000_000):
        dump = net["h2"].start("tcpdump -n -tt --immediate-mode -i h2-eth0 greater 1000")
        found = run(net, f"onoff h2 --time 4s --on 500ms --off 1s --fixed --pacing {rate_bps}bps")
        dump.signal(2)
        dump.wait()
        times = [float(line.split()[0]) for line in dump.output.splitlines() if " IP" in line]
        periods = [0.0]
        for before, after in pairwise(times):
            if after - before > 0.5:
                periods.append(0.0)
            else:
                periods[-1] += after - before
        # The first begins after the handshake. A period lasts up to a packet too long.
        packet_s = 1514 * 8 / rate_bps
        assert all(0.45 - packet_s < period < 0.51 + packet_s for period in periods), periods
        assert len(periods) == 3
        assert found.bytes * 8 < 1.5 * rate_bps + 20 * 1514 * 8  # TCP does not pace the first 10


def test_arrival_times_do_not_depend_on_other_flows(net: Network) -> None:
    words = "poisson h2 --load 5Mbps --time 2s --sizes exponential:20KB --seed"
    first, second, other = (run(net, f"{words} {seed}") for seed in (3, 3, 4))
    assert len(first.flows) > 30
    drawn = [[(flow.start_ns, flow.bytes) for flow in it.flows] for it in (first, second, other)]
    assert drawn[0] == drawn[1] != drawn[2]
    times = first.table().column("completion_ns").values
    assert list(times) == [flow.completion_ns for flow in first.flows]


def test_a_reply_has_the_requested_size(net: Network) -> None:
    found = run(net, "request h2 --users 2 --count 3 --request 2KB --sizes 5KB --think 50ms")
    assert [flow.bytes for flow in found.flows] == [5000] * 6
    assert {flow.number for flow in found.flows} == {0, 1}
    assert all(20 < flow.completion_ns / 1e6 < 30 for flow in found.flows)


def test_sources_are_silent_when_they_are_off(net: Network) -> None:
    found = run(net, "onoff h2 --time 2s --on 100ms --off 400ms --fixed")
    # Five times 100 ms and the queue's content: less than half of the link's capacity.
    assert 0.15 * 20e6 < found.goodput_bps < 0.5 * 20e6


def test_datagrams_are_counted_and_timed(net: Network) -> None:
    output = net["h1"].run("wanlab-traffic udp h2 --rate 960kbps --size 1200B --time 1s --json")
    found = traffic.parse(output.output)
    assert isinstance(found, Datagrams)
    assert (found.sent, found.datagrams, found.lost, found.late) == (100, 100, 0, 0)
    assert found.bytes == 120_000
    # Twice 5 ms, plus the packet at 20 Mbit/s twice, less the burst that the buckets send at once.
    assert 10e6 <= found.least_delay_ns <= found.mean_delay_ns < 10.01e6
    assert found.last_ns - found.first_ns == pytest.approx(990e6, abs=1e5)


def test_datagrams_are_sent_in_bursts_with_pauses(net: Network) -> None:
    command = "wanlab-traffic udp h2 --rate 960kbps --time 250ms --on 20ms --off 80ms --json"
    found = traffic.parse(net["h1"].run(command).output)
    assert isinstance(found, Datagrams)
    assert found.sent == 3 * 2  # 10 ms apart, in the bursts at 0, 100 and 200 ms
    assert found.last_ns - found.first_ns == pytest.approx(210e6, abs=1e5)


def test_a_capture_is_replayed_with_its_sizes_and_times(net: Network) -> None:
    sent = [(0, 1500), (1_000_000, 52), (1_250_000, 40), (90_000_000, 1300), (90_000_000, 600)]
    folder = Path(net.folder)
    (folder / "game.pcap").write_bytes(pcap([*sent, (5, 60, B, A)], in_ns=True))
    capture = Capture("h1-eth0", file=folder / "replayed.pcapng", filter="udp port 5202")
    with Sampling(net, [capture]):
        command = f"wanlab-traffic replay h2 game.pcap --from {A} --json"
        found = traffic.parse(net["h1"].run(command).output)
    replayed = ip_packets((folder / "replayed.pcapng").read_bytes(), "replayed.pcapng")
    # The generator's header needs 24 bytes behind 28 of IP and UDP.
    assert [packet.length for packet in replayed] == [max(52, length) for _, length in sent]
    # Packets of one instant follow each other on a wire of 40 Gbit/s.
    late_ns = [packet.time_ns - at for packet, (at, _) in zip(replayed, sent, strict=True)]
    assert 0 <= min(late_ns) <= max(late_ns) < 10_000
    assert isinstance(found, Datagrams)
    assert (found.sent, found.lost, found.size_bytes) == (5, 0, 3504 // 5 - 28)
    assert found.interval_ns == 22_500_000


def test_a_replay_ends_after_a_time(net: Network) -> None:
    (Path(net.folder) / "one-way.pcap").write_bytes(pcap([(0, 100), (10**6, 100), (10**7, 100)]))
    command = "wanlab-traffic replay h2 one-way.pcap --time 2ms --json"
    found = traffic.parse(net["h1"].run(command).output)
    assert isinstance(found, Datagrams)
    assert found.sent == 2


@pytest.mark.parametrize(
    ("words", "data", "output"),
    [
        ("a.pcap", pcap([]), "a.pcap has no packets"),
        ("a.pcap", pcap([(0, 100)])[:-1], "a.pcap is cut off after packet 0"),
        ("a.pcap", pcap([(0, 100), (1, 100, B, A)]), f"choose one by --from: {A}, {B}"),
        (
            "a.pcap --from 1.1.1.1",
            pcap([(0, 100)]),
            f"no packets from 1.1.1.1; it has those of {A}",
        ),
        ("a.pcap", pcap([(0, 100)], link_type=105), "a.pcap is a capture of 802.11"),
        ("a.pcap", b"10.0.0.1", "a.pcap is not a capture (pcap or pcapng)"),
        ("b.pcap", b"", "cannot read the capture b.pcap: No such file"),
        ("", b"", "replay needs a HOST and a CAPTURE"),
    ],
)
def test_a_capture_that_cannot_be_replayed_is_explained(
    net: Network, words: str, data: bytes, output: str
) -> None:
    (Path(net.folder) / "a.pcap").write_bytes(data)
    with pytest.raises(CommandError) as caught:
        net["h1"].run(f"wanlab-traffic replay h2 {words}")
    assert output in caught.value.output


def test_losses_and_late_datagrams_are_reported(net: Network) -> None:
    net.set_link("h1", "s1", loss="10%", jitter="4ms")
    try:
        output = net["h1"].run("wanlab-traffic udp h2 --rate 9.6Mbps --size 1200B --time 1s --json")
    finally:
        net.set_link("h1", "s1", loss="0%", jitter="0ms")
    found = traffic.parse(output.output)
    assert isinstance(found, Datagrams)
    assert found.sent == 1000 == found.datagrams + found.lost
    assert 60 < found.lost < 140
    assert found.late > 100
    assert found.jitter_ns > 1e6


@pytest.mark.parametrize(
    ("words", "output"),
    [
        ("bulk h1 --bytes 1B", "no server listens there; start `wanlab-traffic serve -D`"),
        ("bulk h7", 'cannot resolve the host name "h7"'),
        ("bulk h2 --congestion nope", 'this kernel has no congestion control "nope"'),
        ("bulk h2 --time 10", '"10" is not a time'),
        ("bulk h2 --time 1s --bytes 1MB", "not both"),
        ("poisson h2", "poisson needs either --load or --per-second"),
        ("poisson h2 --load 0bps", '"0bps" must be more than 0'),
        ("poisson h2 --load 1Mbps --sizes exponential:0B", '"0B" must be more than 0'),
        ("request h2 --sizes 0B", '"0B" must be more than 0'),
        ("request h2 --time 0s", '"0s" must be more than 0'),
        ("udp h2 --rate 0bps", '"0bps" must be more than 0'),
        ("udp h2 --on 1s", "udp needs both --on and --off, or neither"),
        ("udp h2 --on 0s --off 1s", "--on must be more than 0"),
        ("udp h2 --pacing 1Mbps", "unknown option --pacing"),
        ("bulk h2 --bytes 0B", '"0B" must be more than 0'),
        ("bulk h2 --dscp 64", '"64" is not a DSCP; it must be from 0 to 63'),
        ("bulk h2 --port 70000", '"70000" is not a port'),
        ("serve --port 70000", '"70000" is not a port'),
        ("serve -x", "unknown option -x; the options are --port, -D"),
        ("flood h2", '"flood" is not a kind of traffic'),
    ],
)
def test_a_wrong_command_line_is_explained(net: Network, words: str, output: str) -> None:
    with pytest.raises(CommandError) as caught:
        net["h1"].run(f"wanlab-traffic {words}")
    assert output in caught.value.output


def test_a_repeated_run_gives_the_same_bytes() -> None:
    def once() -> str:
        with Network(TOPOLOGY, seed=5) as network:
            network["h2"].run("wanlab-traffic serve -D")
            words = "poisson h2 --load 10Mbps --time 1s --seed 2 --json"
            return network["h1"].run(f"wanlab-traffic {words}").output

    assert once() == once()
