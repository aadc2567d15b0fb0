"""Test that packets that a firewall drops are named with the rule that dropped them."""

from __future__ import annotations

import shutil

import pytest

from wanlab import Network, shapes
from wanlab.measure.firewall import drops_of_rules

LISTING = """\
table ip filter {
	chain INPUT {
		type filter hook input priority filter; policy drop;
		ip protocol icmp counter packets 7 bytes 588 accept
		meta l4proto udp counter packets 4 bytes 4112 drop
		counter packets 1 bytes 84 drop
	}
}
table inet mine {
	chain in {
		type filter hook input priority filter; policy accept;
		tcp dport 80 counter packets 0 bytes 0 drop
		tcp dport 81 drop
		ip saddr 10.0.0.9 counter packets 3 bytes 5 reject with icmp port-unreachable
	}
}
"""


def test_each_rule_that_has_dropped_packets_is_named() -> None:
    found = list(drops_of_rules("h2", LISTING))
    assert [(drop.packets, drop.cause, drop.is_reported) for drop in found] == [
        (4, "its rule in ip filter INPUT: meta l4proto udp drop", False),
        (1, "its rule in ip filter INPUT: drop", False),
        (
            3,
            "its rule in inet mine in: ip saddr 10.0.0.9 reject with icmp port-unreachable",
            True,
        ),
    ]
    assert {(drop.node, drop.place, drop.what) for drop in found} == {("h2", "h2", "firewall")}


RULES = """\
ip netns exec h2 iptables -A INPUT -p icmp -j DROP
ip netns exec h1 nft add table inet mine
ip netns exec h1 nft 'add chain inet mine out { type filter hook output priority 0; }'
ip netns exec h1 nft add rule inet mine out ip daddr 10.0.0.7 counter drop
ip netns exec h1 ping -c 3 -i 0.2 -W 1 10.0.0.2
ip netns exec h1 ping -c 2 -i 0.2 -W 1 10.0.0.7
"""


@pytest.mark.machine
@pytest.mark.skipif(
    not all(map(shutil.which, ("nft", "iptables"))), reason="nft or iptables is not here"
)
def test_wanlab_drops_names_the_rules_of_iptables_and_of_nftables() -> None:
    with Network(shapes.single(2)) as net:
        net.root.run(RULES, check=False)
        lines = net["h1"].run("wanlab drops").output.splitlines()
        # How nft writes a rule of iptables differs between its releases.
        first, second = [" ".join(line.split()) for line in lines if " firewall  its " in line]
        assert first.startswith("h2 3 firewall its rule in ip filter INPUT: ")
        assert second == "h1 2 firewall its rule in inet mine out: ip daddr 10.0.0.7 drop"
