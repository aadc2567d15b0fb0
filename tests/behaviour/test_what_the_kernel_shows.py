"""The machine's kernel does not show how it was started, and makes devices where they are asked for."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from wanlab import Network, shapes

pytestmark = pytest.mark.machine

Start = Callable[..., Network]

# A mode of `ip tunnel` or `ip -6 tunnel`, and the device by whose name the tunnel is added.
TUNNELS = {
    "tunnel add t1 mode ipip remote 10.0.0.2": "tunl0",
    "tunnel add t2 mode gre remote 10.0.0.2": "gre0",
    "tunnel add t3 mode sit remote 10.0.0.2": "sit0",
    "-6 tunnel add t4 mode ip6ip6 remote fd00::2": "ip6tnl0",
    "-6 tunnel add t5 mode ip6gre remote fd00::2": "ip6gre0",
}


def interfaces(net: Network, node: str) -> set[str]:
    lines = net[node].run("ip -o link").output.splitlines()
    return {line.split(": ")[1].split("@")[0] for line in lines}


def test_ip_tunnel_adds_tunnels_to_a_node_that_began_without_their_devices(start: Start) -> None:
    net = start(shapes.minimal())
    assert interfaces(net, "h1") == {"lo", "h1-eth0"}
    for number, (command, device) in enumerate(TUNNELS.items(), 1):
        net["h1"].run(f"ip {command}")
        assert {f"t{number}", device} <= interfaces(net, "h1")
    assert interfaces(net, "h2") == {"lo", "h2-eth0"}


def test_a_packet_crosses_a_tunnel_that_ip_tunnel_has_added(start: Start) -> None:
    net = start(shapes.minimal())
    for here, there in (("1", "2"), ("2", "1")):
        node = net[f"h{here}"]
        node.run(f"ip tunnel add tunnel1 mode gre local 10.0.0.{here} remote 10.0.0.{there}")
        node.run(f"ip address add 192.168.9.{here}/24 dev tunnel1; ip link set tunnel1 up")
    assert "1 received" in net["h1"].run("ping -c 1 192.168.9.2").output


BETA = "/sys/module/tcp_cubic/parameters/beta"


def test_a_constant_of_cubic_can_be_changed_in_a_running_network(start: Start) -> None:
    """The page about kernels says so: with 512/1024, a loss halves the window (717/1024 before)."""
    thresholds = []
    for beta in ("717", "512"):
        net = start(shapes.dumbbell(pairs=1, rate="10Mbps", delay="10ms"))
        assert net.root.run(f"cat {BETA}").output == "717\n"
        net.root.run(f"echo {beta} > {BETA}; echo 0 > {BETA.replace('beta', 'hystart')}")
        net["h2"].start("iperf3 -s")
        net["h1"].start("iperf3 -c h2 -t 9")
        net.run_for("2800ms")  # the first loss is at 2.2 s
        output = net["h1"].run("ss -tin dst 10.0.0.2").output
        thresholds.append(max(map(int, re.findall(r" ssthresh:(\d+)", output))))
    assert thresholds[1] / thresholds[0] == pytest.approx(512 / 717, rel=0.01)


def test_tcp_measures_no_round_trip_without_a_delay(start: Start) -> None:
    for delay, is_shown in (("0ms", False), ("10us", True)):
        net = start(shapes.single(2, delay=delay))
        net["h2"].start("iperf3 -s")
        net["h1"].start("iperf3 -c h2 -t 1 -b 1M")
        net.run_for("500ms")
        lines = net["h1"].run("ss -tin dst 10.0.0.2").output.splitlines()
        (control,) = (line for line in lines if "bytes_received:4 " in line)
        assert (" rtt:" in control, " send " in control) == (is_shown, is_shown)


LIMITATIONS = Path(__file__).parents[2] / "docs" / "explanation" / "limitations.md"
ABSENT = {
    "physdev": "iptables -A INPUT -m physdev --physdev-in h1-eth0",
    "cgroup": "iptables -A INPUT -m cgroup --path a",
    "AF_KEY": "python3 -c 'import socket; socket.socket(socket.AF_KEY, socket.SOCK_RAW, 2)'",
}


@pytest.mark.skipif(
    shutil.which("iptables", path="/usr/sbin:/usr/bin:/sbin:/bin") is None,
    reason="iptables is not installed",
)
def test_what_the_page_of_limitations_calls_absent_is_absent(start: Start) -> None:
    host = start(shapes.minimal())["h1"]
    assert host.run("iptables -A INPUT -p tcp -m multiport --ports 1,2 -j DROP").status == 0
    present = [name for name, of in ABSENT.items() if host.run(of, check=False).status == 0]
    assert present == []
    page = LIMITATIONS.read_text(encoding="utf-8")
    assert [name for name in ABSENT if name not in page] == []


def test_dmesg_does_not_show_numbers_of_the_computer(start: Start) -> None:
    messages = start(shapes.minimal()).root.run("dmesg").output
    assert "Linux version" in messages
    for word in (
        "command line:",
        "memory_file",
        "hostfs_broker",
        "time-travel=",
        "fd:",
        "channel=",
    ):
        assert word not in messages
