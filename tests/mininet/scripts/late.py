"""Test links and nodes that a script adds late, and interfaces that configure themselves."""

import os
from pathlib import Path

from mininet import trials
from mininet.link import Intf, Link, TCLink, TCULink
from mininet.net import Mininet
from mininet.node import Node
from mininet.topo import SingleSwitchTopo

# a link after the first commands of its nodes, in a network that runs
net = Mininet(SingleSwitchTopo(2))
net.start()
h1, h2, s1 = net.get("h1", "h2", "s1")
h1.cmd("true")
h2.cmd("true")
net.addLink(h1, h2)
assert h1.cmd("ifconfig h1-eth1 10.5.0.1/24") == ""
assert h2.cmd("ifconfig h2-eth1 10.5.0.2/24") == ""
assert " 0% packet loss" in h1.cmd("ping -c1 10.5.0.2")

# ports of switches are seen by a script that runs no program
net.addLink(h1, s1)
assert "s1-eth3" in os.listdir("/sys/class/net")  # noqa: PTH208
net.addLink(h1, s1)
assert Path("/sys/class/net/s1-eth4/address").read_text().strip() == net.links[-1].intf2.MAC()
net.addHost("h3")
net.addLink("h3", s1)
net["h3"].setIP("10.0.0.33/8")
assert " 0% packet loss" in h2.cmd("ping -c1 10.0.0.33")

# offloads, before and after the link exists
for cls in (TCLink, TCULink):
    link = net.addLink(h1, h2, cls=cls, txo=False, rxo=False)
    assert h1.cmd(f"ethtool -k {link.intf1} | grep -c checksumming:.off") == "2\r\n"
    link.intf1.config(txo=True, bw=10)
    assert "tx-checksumming: on" in h1.cmd(f"ethtool -k {link.intf1}")
net.addLink(h1, h2, cls=TCLink, gro=False)
assert "generic-receive-offload: off" in h1.cmd(f"ethtool -k {net.links[-1].intf1}")

# the first link of a host goes; its second keeps its own addresses
a, b = net.addHost("a"), net.addHost("b")
for address in ("10.7.0.1/24", "10.8.0.1/24"):
    net.addLink(a, b, params1={"ip": address})
second = a.intf("a-eth1")
assert "10.7.0.1" in a.cmd("ip addr")
net.delLink(a.intf("a-eth0").link)
net.addLink(b, h1)
assert second.updateIP() == "10.8.0.1"
assert a.cmd(f"cat /sys/class/net/{second}/address").strip() == second.MAC()
net.stop()


# an interface whose `config` runs commands that need it, and its link
class Talkative(Intf):
    """Reads its own MTU while it is being made."""

    def config(self, **params):
        results = super().config(**params)
        self.mtu = self.cmd(f"cat /sys/class/net/{self}/mtu").strip()
        return results


net = Mininet(controller=None, build=False, intf=Talkative)
hosts = [net.addHost(f"h{number}") for number in (1, 2)]
hosts[0].cmd("true")
link = net.addLink(*hosts, params1={"ip": "10.0.0.1/8"}, params2={"ip": "10.0.0.2/8"})
for intf in link.ends():
    assert intf.mtu == "1500"
    assert intf.node.cmd(f"cat /sys/class/net/{intf}/address").strip() == intf.MAC()
net.build()
assert net.pingAll() == 0
net.stop()


# a link whose interface cannot be made leaves nothing behind
class Broken(Intf):
    def config(self, **params):
        self.cmd("true")
        raise ValueError("broken")


net = Mininet(controller=None, build=False)
h1, h2 = net.addHost("h1"), net.addHost("h2")
for cls1, cls2 in ((Broken, Intf), (Intf, Broken)):
    try:
        Link(h1, h2, cls1=cls1, cls2=cls2)
    except ValueError:
        assert "eth0" not in h1.cmd("ip link")
        assert (h1.intfList(), h2.intfList()) == ([], [])
    else:
        raise SystemExit("a broken interface was made")
net.stop()

# routers as MiniEdit writes them: a command before the links, and the address 0.0.0.0
net = Mininet(topo=None, build=False, controller=None)
r1 = net.addHost("r1", cls=Node, ip="0.0.0.0")
r1.cmd("sysctl -w net.ipv4.ip_forward=1")
hosts = [net.addHost(f"h{n}", ip=f"10.1.{n}.2/24", defaultRoute=f"via 10.1.{n}.1") for n in (1, 2)]
for number, host in enumerate(hosts, 1):
    net.addLink(host, r1, intfName2=f"r1-eth{number}", params2={"ip": f"10.1.{number}.1/24"})
net.build()
assert (r1.IP(), r1.defaultIntf().ip) == ("0.0.0.0", "0.0.0.0")
assert r1.IP().split(".")[0] == "0"
r1.setIP("10.1.1.1/24", intf="r1-eth1")
assert net.ping(hosts) == 0
net.stop()

net = Mininet(controller=None, build=False)
r1, r2 = (net.addHost(name, cls=Node, ip="0.0.0.0") for name in ("r1", "r2"))
net.addLink(r1, r2)
net.build()
assert net.pingAll() == 100  # nobody is reached at 0.0.0.0
assert "inet " not in r1.cmd("ip -4 addr show dev r1-eth0")
net.stop()

# a host without an interface is shown, but a ping to it is not counted
net = Mininet(SingleSwitchTopo(2), controller=None)
net.addHost("h3")
net.start()
shown: list[str] = []
trials.output = shown.append
assert net.pingAll() == 50
assert "".join(shown[1:]) == (
    "h1 -> h2 X \nh2 -> h1 X \nh3 -> X X \n*** Results: 50% dropped (2/4 received)\n"
)
net.stop()

try:
    from mininet.net import Containernet  # noqa: F401
except ImportError as error:
    assert "Docker" in str(error)
print("done")
