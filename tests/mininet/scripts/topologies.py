"""Test networks built by hand and from a Topo: names, ports, addresses, reachability."""

from functools import partial

from mininet.link import TCLink
from mininet.net import Mininet
from mininet.node import Controller, CPULimitedHost, Host, Node, OVSBridge
from mininet.nodelib import LinuxBridge
from mininet.topo import LinearTopo, SingleSwitchReversedTopo, Topo
from mininet.topolib import TorusTopo, TreeNet, TreeTopo
from mininet.util import custom, dumpNodeConnections, irange

# without a Topo, and used before it is started
net = Mininet(controller=Controller, autoSetMacs=True, ipBase="192.168.5.0/24")
net.addController("c0")
h1 = net.addHost("h1")
assert h1.cmd("echo early").strip() == "early"
h2 = net.addHost("h2", ip="192.168.5.77/24")
h3 = net.addHost("h3", cls=CPULimitedHost, cpu=0.1)
s1 = net.addSwitch("s1")
s2 = net.addSwitch("s2", cls=LinuxBridge)
net.addLink(h1, s1)
net.addLink(h2, "s1", port2=7, intfName1="eth9")
net.addLink(s1, s2)
net.addLink("h3", s2, cls=TCLink, bw=10, delay="1ms", use_htb=True)
net.start()
assert [h.IP() for h in net.hosts] == ["192.168.5.1", "192.168.5.77", "192.168.5.3"]
assert [h.MAC() for h in net.hosts] == [f"00:00:00:00:00:0{n}" for n in (1, 2, 3)]
assert h1.cmd("cat /sys/class/net/h1-eth0/address").strip() == h1.MAC()
assert s1.intfNames() == ["lo", "s1-eth1", "s1-eth7", "s1-eth8"]
assert h2.intfNames() == ["eth9"]
assert [str(link) for link in net.links][1] == "eth9<->s1-eth7"
dumpNodeConnections([h2, s2])
assert net.pingAll() == 0
assert net.keys() == ["h1", "h2", "h3", "s1", "s2", "c0"] and "h3" in net and len(net) == 6
assert h1.connectionsTo(s1) == [(h1.intf(), s1.intf("s1-eth1"))]
h1.setIP("192.168.5.9", 24)
assert net.pingAll() == 0 and h1.IP() == "192.168.5.9"
assert h1.intf().updateIP() == "192.168.5.9"

# nodes and links are added and removed while it runs
h4 = net.addHost("h4")
net.addLink(h4, s2)
h4.configDefault()
assert net.pingAll() == 0
net.delLinkBetween(s1, s2)
assert net.ping([h3, h4]) == 0 and net.ping([h1, h3], timeout=1) == 100
net.addLink(s1, s2)
s1.attach("s1-eth8")
assert net.pingAll() == 0
net.delHost(h4)
assert "h4" not in net and "h4-eth0" not in s2.cmd("ip link")
net.configLinkStatus("s1", "h1", "down")
assert net.links[0].status() == "(DOWN DOWN)"
assert net.ping([h1, h2], timeout=1) == 100
net.configLinkStatus("s1", "h1", "up")
assert net.ping([h1, h2]) == 0
net.stop()

# shapes; the same names are used again
for topo, count in ((LinearTopo(3, 2), 30), (TreeTopo(2, 2), 12), (SingleSwitchReversedTopo(3), 6)):
    net = Mininet(topo, switch=LinuxBridge, controller=None, waitConnected=True)
    net.start()
    assert len(net.pingFull()) == count
    net.stop()
net = Mininet(TorusTopo(3, 3), switch=partial(LinuxBridge, stp=True), controller=None)
net.start()
assert net.waitConnected()
assert net.ping(net.hosts[:4]) == 0
net.stop()
net = TreeNet(depth=1, fanout=3, host=custom(Host, defaultRoute="via 10.0.0.3"))
print("loss", net.run(net.pingAll))


class Old(Topo):
    """A topology in the old style, without build()."""

    def __init__(self, count=2, **opts):
        Topo.__init__(self, **opts)
        switch = self.addSwitch("s1")
        for n in irange(1, count):
            self.addLink(self.addHost(f"h{n}", ip=f"10.1.0.{n}/16"), switch, delay="2ms")


net = Mininet(topo=Old(count=3), link=TCLink, build=False)
net.build()
net.start()
print(net.pingAllFull()[0][2])
net.stop()


class Router(Node):
    """The router of Mininet's linuxrouter.py."""

    def config(self, **params):
        super().config(**params)
        self.cmd("sysctl net.ipv4.ip_forward=1")

    def terminate(self):
        self.cmd("sysctl net.ipv4.ip_forward=0")
        super().terminate()


class Routed(Topo):
    def build(self, **_opts):
        router = self.addNode("r0", cls=Router, ip="192.168.1.1/24")
        for n, subnet in enumerate(("192.168.1", "172.16.0"), 1):
            switch = self.addSwitch(f"s{n}")
            self.addLink(switch, router, intfName2=f"r0-eth{n}", params2={"ip": f"{subnet}.1/24"})
            host = self.addHost(f"h{n}", ip=f"{subnet}.100/24", defaultRoute=f"via {subnet}.1")
            self.addLink(host, switch)


net = Mininet(topo=Routed(), waitConnected=True)
net.start()
print(net["r0"].cmd("ip -br -4 addr").replace("\r", ""))
assert net.pingAll() == 0
assert "ttl=63" in net["h1"].cmd("ping -c1", net["h2"].IP())
net.stop()
print("done", OVSBridge.__name__)
