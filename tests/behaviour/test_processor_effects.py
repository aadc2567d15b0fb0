"""What a processor makes visible: GRO ends a livelock, and pacing costs the sender time."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from wanlab import Network, shapes
from wanlab.topology import read_processor

pytestmark = pytest.mark.machine

Start = Callable[..., Network]
ONE_CORE = {"model": "server-2019", "cores": 1}
COSTS = read_processor("server-2019").costs
BYTES = 100
CALL_NS = COSTS["call_ns"] + BYTES * COSTS["copy_ps_per_byte"] / 1000
SEND_NS = CALL_NS + COSTS["tx_stack_ns"] + COSTS["tx_packet_ns"]
"""Sending a datagram."""
SEND_FOR_60_MS = f"""
import socket, time
sender = socket.socket(type=socket.SOCK_DGRAM)
end = time.monotonic() + 0.06
while time.monotonic() < end:
    sender.sendto(bytes({BYTES}), ("10.0.0.2", 9))
"""
RECEIVE_FOR_30_MS = f"""
import socket, time
receiver = socket.socket(type=socket.SOCK_DGRAM)
receiver.setsockopt(socket.SOL_SOCKET, 33, 1 << 26)  # SO_RCVBUFFORCE: lose nothing in between
receiver.setsockopt(socket.IPPROTO_UDP, 104, 1)  # UDP_GRO
receiver.bind(("", 9))
receiver.recv(65536)
begin, received = time.monotonic(), 0
while time.monotonic() < begin + 0.03:
    received += len(receiver.recv(65536)) // {BYTES}
print(received)
"""
MSS = 1448
PACED_BYTES = 20_000_000


INTERRUPT_EVERY_NS = 100_000
MERGED = 64
"""As many datagrams as GRO merges: UDP_GRO_CNT_MAX."""


def share_of_softirqs(merged: int) -> float:
    """Return the share of the receiver's core, of half the speed, for the datagrams of a sender."""
    packets = INTERRUPT_EVERY_NS / SEND_NS
    packet_ns = COSTS["rx_packet_ns"] + COSTS["rx_stack_ns"] / merged
    return 2 * (COSTS["interrupt_ns"] + packets * packet_ns) / INTERRUPT_EVERY_NS


@pytest.mark.parametrize("gro", ["on", "off"])
def test_gro_ends_the_livelock_of_a_receiver_of_small_packets(start: Start, gro: str) -> None:
    """Without GRO, the receiver needs more than its core for packets alone: its program gets a few."""
    nic = {"gro": gro, "coalescing": "100us"}
    net = start(shapes.single(2), cpu=ONE_CORE, line_rate="40Gbps", nic=nic)
    net.set_cpu_share("h2", 0.5)
    receiver = net["h2"].start(["python3", "-c", RECEIVE_FOR_30_MS])
    net.run_for("100ms")
    net["h1"].start(["python3", "-c", SEND_FOR_60_MS])
    net.run_for("70ms")
    if gro == "on":
        assert share_of_softirqs(MERGED) < 0.5
        assert int(receiver.output) == pytest.approx(30e6 / SEND_NS, rel=0.02)
    else:
        assert share_of_softirqs(1) > 1
        assert int(receiver.output or 0) < 30


def sent(start: Start, options: str) -> tuple[float, float]:
    """Return how many super-packets h1 sends in a flow, and its work in ns."""
    net = start(shapes.dumbbell(pairs=1, rate="10Gbps", delay="10ms"), cpu=ONE_CORE, wire="gso")
    net["h2"].start("iperf3 -s")
    net.run_for("10ms")

    def work() -> dict[str, int]:
        names, core = net["h1"].run("cat /proc/net/processor").output.splitlines()
        return dict(zip(names.split()[1:], map(int, core.split()[1:]), strict=True))

    before = work()
    net["h1"].run(f"iperf3 -c h2 -n {PACED_BYTES} {options}", check=True)
    took = {name: ns - before[name] for name, ns in work().items()}
    return took["tx_packet"] / COSTS["tx_packet_ns"], sum(took.values()) - took["exec"]


@pytest.mark.parametrize("mbps", [50, 100])
def test_pacing_costs_the_sender_time(start: Start, mbps: int) -> None:
    """TCP sends what it may send in about 1 ms at once (tcp_tso_autosize()), at a low rate few segments.

    Each time, a timer wakes the core, and later the acknowledgement does.
    """
    packets, work_ns = sent(start, f"--fq-rate {mbps}M")
    segments = int(mbps * 1e6 / 8 / 1024 // MSS)
    assert packets == pytest.approx(PACED_BYTES / (segments * MSS), rel=0.02)
    assert work_ns > 2 * packets * COSTS["idle_exit_ns"]
    assert work_ns > 3 * sent(start, "")[1]
