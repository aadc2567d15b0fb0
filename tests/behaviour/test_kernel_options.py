"""What the kernel's options promise: matches, tunnels, buses, and links that encrypt."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from wanlab import Network, shapes

pytestmark = pytest.mark.machine

Start = Callable[..., Network]

RULES = (
    "iptables -A INPUT -p tcp -m recent --name tries --update --seconds 60 --hitcount 4 -j DROP",
    "iptables -A INPUT -m time --timestart 08:00 --timestop 18:00 -j ACCEPT",
    "iptables -A INPUT -m string --algo bm --string hello -j DROP",
    "iptables -A INPUT -m connbytes --connbytes 1000: --connbytes-dir both --connbytes-mode bytes",
    "iptables -A INPUT -m quota --quota 1000 -j ACCEPT",
    "iptables -A INPUT -p tcp -m ecn --ecn-tcp-ece",
    "iptables -A INPUT -m bpf --bytecode '1,6 0 0 65535'",
    "iptables -A INPUT -p tcp -m tcpmss --mss 0:500",
    "iptables -A INPUT -m policy --dir in --pol ipsec",
    "iptables -t mangle -A PREROUTING -p tcp -m socket",
    "iptables -A INPUT -m u32 --u32 '6&0xFF=1'",
    "iptables -A INPUT -m pkttype --pkt-type multicast",
    "iptables -A INPUT -m helper --helper ftp",
    "iptables -t raw -A PREROUTING -m rpfilter --invert -j DROP",
    "ip6tables -t raw -A PREROUTING -m rpfilter --invert -j DROP",
    "iptables -t mangle -A PREROUTING -j TEE --gateway 10.0.0.2",
    "iptables -t nat -A PREROUTING -d 10.9.0.0/24 -j NETMAP --to 10.8.0.0/24",
    "iptables -t mangle -A PREROUTING -p tcp -j TPROXY --on-port 8080 --on-ip 10.0.0.1",
    "iptables -t mangle -A POSTROUTING -p udp -j CHECKSUM --checksum-fill",
    "iptables -t raw -A PREROUTING -p tcp --dport 21 -j CT --helper ftp",
    "iptables -t raw -A PREROUTING -p udp -j CT --notrack",
    "iptables -A INPUT -j NFLOG --nflog-group 1",
    "iptables -t mangle -A PREROUTING -p tcp -j TCPOPTSTRIP --strip-options timestamp",
    "iptables -t mangle -A PREROUTING -p tcp -j ECN --ecn-tcp-remove",
    "iptables -A INPUT -p tcp -m state --state INVALID -j SYNPROXY --mss 1460",
    "ip6tables -t mangle -A POSTROUTING -s fd00::/64 -j SNPT --src-pfx fd00::/64 --dst-pfx fd01::/64",
    "nft add table inet t",
    "nft 'add chain inet t in { type filter hook prerouting priority 0; }'",
    "nft add rule inet t in socket transparent 1 accept",
    "nft add rule inet t in meta nfproto ipv4 tcp dport 80 tproxy ip to :8080",
    "nft add rule inet t in meta ipsec exists accept",
    "nft add rule inet t in osf name Linux accept",
)

DEVICES = (
    "ip link add d1 type wireguard",
    "ip link add d2 type xfrm dev h1-eth0 if_id 1",
    "ip link add d3 type vti local 10.0.0.1 remote 10.0.0.2 key 1",
    "ip link add d4 type vti6 local fd00::1 remote fd00::2 key 1",
    "ip link add d5 link h1-eth0 type macsec encrypt on",
    "ip link add d6 type team",
    "ip link add d0 type dummy; ip link add d7 link d0 type macvtap mode bridge",
    "ip link add d8 type vcan",
    "ip link add d9 type vxcan peer name d10",
    "ip link add d11 type bareudp dstport 6635 ethertype mpls_uc",
    "ip link add d12 type amt mode gateway local 10.0.0.1 discovery 10.0.0.2 dev h1-eth0",
    "ip link add d13 type dummy; ip link add d14 type dummy",
    "ip link add d15 type hsr slave1 d13 slave2 d14",
    "ip fou add port 5555 ipproto 4",
    "ip link add d16 type ipip remote 10.0.0.2 encap fou encap-sport auto encap-dport 5555",
    "ip l2tp add tunnel tunnel_id 1 peer_tunnel_id 1 encap ip local 10.0.0.1 remote 10.0.0.2",
    "ip l2tp add session name d17 tunnel_id 1 session_id 1 peer_session_id 1",
)

REST = (
    "ip -6 route add fd09::/64 encap seg6 mode encap segs fd00::5 dev h1-eth0",
    "ip -6 route add fd08::/64 encap ioam6 trace prealloc type 0x800000 ns 1 size 12 dev h1-eth0",
    "tc qdisc add dev h1-eth0 clsact",
    "tc filter add dev h1-eth0 egress matchall action ife encode use mark 1 use prio 2 use tcindex 3",
    "tc filter add dev h1-eth0 egress protocol can basic match 'canid(sff 0x123)' action drop",
    "ethtool --json -k h1-eth0",
)


@pytest.mark.parametrize("commands", [RULES, DEVICES, REST], ids=["rules", "devices", "rest"])
def test_the_kernel_accepts_what_its_options_promise(
    start: Start, commands: tuple[str, ...]
) -> None:
    host = start(shapes.minimal())["h1"]
    refused = {}
    for command in commands:
        done = host.run(f"{command} 2>&1", check=False)
        if done.status:
            refused[command] = done.output
    assert refused == {}


def test_packets_cross_a_link_protected_by_ipsec(start: Start) -> None:
    net = start(shapes.minimal())
    key = "0x" + "5a" * 20
    for host, here, there in (
        (net["h1"], "10.0.0.1", "10.0.0.2"),
        (net["h2"], "10.0.0.2", "10.0.0.1"),
    ):
        for source, target, spi in (("10.0.0.1", "10.0.0.2", 1), ("10.0.0.2", "10.0.0.1", 2)):
            host.run(
                f"ip xfrm state add src {source} dst {target} proto esp spi {spi} mode transport"
                f" aead 'rfc4106(gcm(aes))' {key} 128"
            )
        for source, target, way in ((here, there, "out"), (there, here, "in")):
            host.run(
                f"ip xfrm policy add src {source} dst {target} dir {way}"
                f" tmpl src {source} dst {target} proto esp mode transport"
            )
    net["h2"].run("nft add table t; nft 'add chain t c { type filter hook input priority -300; }'")
    net["h2"].run("nft add rule t c ip protocol esp counter")
    assert "3 received" in net["h1"].run("ping -c 3 -i 0.1 10.0.0.2").output
    assert "packets 3 bytes" in net["h2"].run("nft list ruleset").output


def test_packets_cross_a_link_protected_by_macsec(start: Start) -> None:
    net = start(shapes.minimal())
    macs = {
        name: re.search(r"ether (\S+)", net[name].run(f"ip link show {name}-eth0").output)
        for name in ("h1", "h2")
    }
    for number, (here, there) in enumerate((("h1", "h2"), ("h2", "h1")), 1):
        mac = macs[there]
        assert mac is not None
        port = f"port 1 address {mac[1]}"
        net[here].run(
            f"ip link add m0 link {here}-eth0 type macsec encrypt on"
            f" && ip macsec add m0 tx sa 0 pn 1 on key 00 {'11' * 16}"
            f" && ip macsec add m0 rx {port}"
            f" && ip macsec add m0 rx {port} sa 0 pn 1 on key 00 {'11' * 16}"
            f" && ip link set m0 up && ip address add 192.168.9.{number}/24 dev m0"
        )
    assert "3 received" in net["h1"].run("ping -c 3 -i 0.1 192.168.9.2").output
    assert "InPktsOK" in net["h2"].run("ip -s macsec show").output


SIGNED = """
import socket, struct, sys
# struct tcp_ao_add and its option (include/uapi/linux/tcp.h)
TCP_AO_ADD_KEY = 38
def key(peer):
    address = struct.pack("=H2x4s120x", socket.AF_INET, socket.inet_aton(peer))
    # algorithm; device, flags, reserved; prefix, SendID, RecvID, length of the code, flags; key
    return address + struct.pack("=64siIH6B80s", b"hmac(sha1)", 0, 0, 0, 32, 1, 1, 12, 0, 6, b"secret")
def signed(peer):
    one = socket.socket()
    one.setsockopt(socket.IPPROTO_TCP, TCP_AO_ADD_KEY, key(peer))
    return one
if sys.argv[1] == "serve":
    server = signed("10.0.0.1")
    server.bind(("", 179)); server.listen()
    print("ready", flush=True)
    print(server.accept()[0].recv(100).decode(), flush=True)
else:
    client = signed("10.0.0.2") if sys.argv[1] == "signed" else socket.socket()
    client.settimeout(5)
    client.connect(("10.0.0.2", 179)); client.send(b"signed indeed")
"""


@pytest.mark.parametrize(("client", "is_heard"), [("signed", True), ("unsigned", False)])
def test_only_signed_connections_reach_a_server_with_tcp_ao(
    start: Start, client: str, is_heard: bool, tmp_path: Path
) -> None:
    (tmp_path / "ao.py").write_text(SIGNED)
    net = start(shapes.minimal())
    server = net["h2"].start("python3 ao.py serve")
    assert next(server.lines()).strip() == "ready"
    done = net["h1"].run(f"python3 ao.py {client}", check=False)
    net.run_for("1s")
    assert (done.status == 0, "signed indeed" in server.output) == (is_heard, is_heard)
