"""A processor's work takes virtual time, by its model's costs, and the same time in each run."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from wanlab import Network, shapes
from wanlab.errors import RequirementError, WanlabError
from wanlab.measure import Flows, Processors, Queues, sample
from wanlab.measure.ping import parse
from wanlab.operations import SetCpu
from wanlab.record import Record, write
from wanlab.topology.cpu import read_cpu

pytestmark = pytest.mark.machine

Start = Callable[..., Network]
ONE_CORE = {"model": "server-2019", "cores": 1}
COSTS = dict(read_cpu("server-2019").costs)  # type: ignore[union-attr]
BYTES = 100
CALL_NS = COSTS["call_ns"] + BYTES * COSTS["copy_ps_per_byte"] / 1000
SEND_NS = CALL_NS + COSTS["tx_stack_ns"] + COSTS["tx_packet_ns"]
"""Sending a datagram."""
RECEIVE_NS = COSTS["rx_packet_ns"] + COSTS["rx_stack_ns"]
"""A datagram's way to the socket."""
SEND_FOR_40_MS = """
import socket, time
sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
begin, sent = time.monotonic(), 0
while time.monotonic() < begin + 0.04:
    sender.sendto(bytes(100), ("10.0.0.2", 9))
    sent += 1
print(sent)
"""
RECEIVE_FOR_30_MS = """
import socket, time
receiver = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
receiver.setsockopt(socket.SOL_SOCKET, 33, 1 << 24)  # SO_RCVBUFFORCE: lose nothing in between
receiver.bind(("", 9))
receiver.recv(100)
begin, received = time.monotonic(), 1
while time.monotonic() < begin + 0.03:
    receiver.recv(100)
    received += 1
print(received)
"""


def minimum_rtt_ms(net: Network) -> float:
    return parse(net["h1"].run("ping -c 3 -i 0.2 h2").output).min_ms or 0.0


def test_an_idle_network_has_a_round_trip_time(start: Start) -> None:
    assert minimum_rtt_ms(start(shapes.single(2))) == 0
    assert 0.04 <= minimum_rtt_ms(start(shapes.single(2), cpu="server-2019")) <= 0.1


def test_iperf3_works_in_a_loop(start: Start) -> None:
    net = start(shapes.single(2), cpu="server-2019", line_rate="10Gbps")
    net["h2"].start("iperf3 -s")
    net.run_for("10ms")
    for _ in range(4):
        assert "receiver" in net["h1"].run("iperf3 -c h2 -n 1M").output


@pytest.mark.parametrize("speed", [1, 0.1])
def test_a_sender_sends_what_its_processor_allows(start: Start, speed: float) -> None:
    net = start(shapes.single(2), cpu={**ONE_CORE, "speed": speed}, line_rate="40Gbps")
    net["h2"].start(["python3", "-c", RECEIVE_FOR_30_MS])
    sent = int(net["h1"].run(["python3", "-c", SEND_FOR_40_MS]).output)
    assert sent == pytest.approx(40e6 * speed / SEND_NS, rel=0.01)


@pytest.mark.parametrize("share", [0.5, 0.6, 1])
def test_a_flooded_receiver_has_no_time_for_its_program(start: Start, share: float) -> None:
    net = start(shapes.single(2), cpu=ONE_CORE, line_rate="40Gbps")
    net.set_cpu_share("h1", share)
    net.set_cpu_share("h2", 0.5)
    receiver = net["h2"].start(["python3", "-c", RECEIVE_FOR_30_MS])
    net.run_for("100ms")
    net["h1"].start(["python3", "-c", SEND_FOR_40_MS])
    net.run_for("100ms")
    per_s = 1e9 * share / SEND_NS
    left = max(0, 1 - per_s * 2 * RECEIVE_NS / 1e9)
    expected = min(per_s, left / (2 * CALL_NS / 1e9))
    if left:
        assert int(receiver.output) / 0.03 == pytest.approx(expected, rel=0.1)
    else:
        assert receiver.output == "" or int(receiver.output) < 1000


def test_offloads_save_processor_time(start: Start) -> None:
    goodput = {}
    for offload in ("on", "off"):
        nic = {} if offload == "on" else {"tso": "off", "gro": "off", "coalescing": "0us"}
        net = start(shapes.single(2), cpu=ONE_CORE, nic=nic, line_rate="40Gbps")
        net["h2"].start("iperf3 -s")
        net.run_for("10ms")
        line = net["h1"].run("iperf3 -c h2 -n 100M -f m").output.splitlines()[-3]
        goodput[offload] = float(line.split()[6])
    assert goodput["on"] > 1.3 * goodput["off"]
    assert goodput["on"] < 35_000


def test_two_runs_are_equal_and_the_work_is_in_a_table(start: Start) -> None:
    seen = []
    for _ in range(2):
        net = start(shapes.single(2), cpu="server-2019")
        flood = net["h1"].start("ping -f -c 300 h2")
        tables = sample(net, Processors(), every="1ms", until=flood)
        work = tables["processor"]
        seen.append((flood.output, net.now_ns, {name: list(work[name]) for name in work.names}))
    assert seen[0] == seen[1]
    assert max(work["rx_packet_ns"]) >= 300 * COSTS["rx_packet_ns"]
    assert sum(work["exec_ns"]) > 0


def test_free_is_no_processor_to_the_byte(start: Start, tmp_path: Path) -> None:
    contents = []
    choices: list[dict[str, str | None]] = [{}, {"cpu": "free"}, {"cpu": None}]
    for number, options in enumerate(choices):
        net = start(shapes.dumbbell(pairs=1, rate="100Mbps", delay="5ms", queue="codel"), **options)
        assert not [operation for operation in net.plan if isinstance(operation, SetCpu)]
        assert "No such file" in net["h1"].run("cat /proc/net/processor", check=False).stderr
        net["h2"].start("iperf3 -s")
        net.run_for("10ms")
        flow = net["h1"].start("iperf3 -c h2 -n 1M")
        tables = sample(net, Queues("s1-eth2"), Flows("h1"), every="1ms", until=flow)
        folder = tmp_path / str(number)
        write(Record(net.provenance(), tables, {"output": flow.output_bytes}), folder)
        net.stop()
        files = [path for path in folder.rglob("*") if path.is_file()]
        contents.append({path.relative_to(folder): path.read_bytes() for path in files})
    assert len(contents[0]) > 3
    assert contents[0] == contents[1] == contents[2]


def test_a_processor_can_be_given_to_a_network_that_runs(start: Start) -> None:
    net = start(shapes.single(2), cpu="server-2019")
    fast = minimum_rtt_ms(net)
    net.set_cpu_share("h1", 0.1)
    net.set_cpu_share("h2", 0.1)
    assert minimum_rtt_ms(net) == pytest.approx(10 * fast, rel=0.1)


def test_what_has_no_processor_says_so(start: Start) -> None:
    net = start(shapes.single(2))
    with pytest.raises(WanlabError, match="no processor"):
        net.set_cpu_share("h1", 0.5)
    with pytest.raises(WanlabError, match="no processor"):
        sample(net, Processors(), until="1ms")
    with pytest.raises(RequirementError, match="virtual time"):
        Network(shapes.single(2), clock="real", cpu="server-2019")
