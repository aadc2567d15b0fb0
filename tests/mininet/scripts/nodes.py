"""Test nodes of every kind: private directories, gateways, interfaces, the user's classes."""

import logging

from mininet.clean import addCleanupCallback, cleanup
from mininet.link import Intf, Link, TCIntf
from mininet.log import info, lg, setLogLevel
from mininet.net import Mininet
from mininet.node import Controller, Host, Node, Switch, findController
from mininet.nodelib import NAT, LinuxBridge
from mininet.topo import SingleSwitchTopo
from mininet.util import custom, errFail, ipAdd, macColonHex, netParse, quietRun

setLogLevel("info")
info("*** starting\n")

# private directories: an empty one, and one that keeps its content
private = custom(Host, privateDirs=["/var/mine", ("/var/kept", "/tmp/%(name)s/kept")])
net = Mininet(SingleSwitchTopo(2), host=private)
net.start()
h1, h2, s1 = net.get("h1", "h2", "s1")
h1.cmd("echo a > /var/mine/file; echo b > /var/kept/file")
assert h2.cmd("ls /var/mine /var/kept").split() == ["/var/kept:", "/var/mine:"]
assert h1.popen("cat /var/mine/file").communicate()[0] == b"a\n"
assert quietRun("cat /tmp/h1/kept/file") == "b\n"
assert quietRun("ls /var/mine") == ""
net.stop()

# a subclass of Switch connects its ports itself
started = []


class OwnSwitch(Switch):
    def __init__(self, name, thrift_port=None, **params):
        super().__init__(name, **params)
        self.thrift_port = thrift_port

    def start(self, controllers):
        started.append((self.name, self.thrift_port, [c.name for c in controllers]))
        self.cmd(f"ip link add {self.name}-own type bridge; ip link set {self.name}-own up")
        for intf in self.intfList():
            if intf.name != "lo":
                self.cmd(f"ip link set {intf} up master {self.name}-own")

    def stop(self, deleteIntfs=True):
        self.cmd(f"ip link del {self.name}-own")
        super().stop(deleteIntfs)


net = Mininet(
    SingleSwitchTopo(2), switch=custom(OwnSwitch, thrift_port=9090), controller=Controller
)
net.start()
assert started == [("s1", 9090, ["c0"])]
assert net.pingAll() == 0
net.stop()
assert "s1" not in quietRun("ip -br link")


# a subclass of Link makes its interfaces itself; a subclass of Intf configures
class OwnLink(Link):
    @classmethod
    def makeIntfPair(cls, intfname1, intfname2, *args, **kwargs):
        info(f"making {intfname1} {intfname2}\n")
        return super().makeIntfPair(intfname1, intfname2, *args, **kwargs)


class OwnIntf(TCIntf):
    def config(self, colour=None, **params):
        self.colour = colour
        return super().config(**params)


net = Mininet(controller=None, link=OwnLink)
h1, h2 = net.addHost("h1"), net.addHost("h2")
net.addLink(h1, h2)
net.addLink(
    h1,
    h2,
    cls=Link,
    cls1=OwnIntf,
    params1={"colour": "red", "delay": "3ms", "ip": "10.5.0.1/24"},
    params2={"ip": "10.5.0.2/24"},
)
net.start()
assert net.pingAll() == 0
assert h1.intf("h1-eth1").colour == "red"
assert "time=3" in h1.cmd("ping -c2 10.5.0.2").splitlines()[2]
net.stop()

# nodes in the root namespace, and a gateway to it
net = Mininet(SingleSwitchTopo(2), ipBase="10.7.0.0/16")
warnings = []
noted = logging.Handler()
noted.emit = lambda record: warnings.append(record.getMessage())
lg.addHandler(noted)
nat = net.addNAT()
lg.removeHandler(noted)
assert "no connection to the Internet" in "".join(warnings)
nat.configDefault()
assert isinstance(nat, NAT) and nat.IP() == "10.7.0.3"
net.start()
h1 = net["h1"]
assert net.pingAll() == 0
quietRun("ip link add outside type dummy")
quietRun("ip addr add 198.51.100.1/24 dev outside")
quietRun("ip link set outside up")
assert ", 0% packet loss" in h1.cmd("ping -c1 198.51.100.1")
assert "default via 10.7.0.3" in h1.cmd("ip route")
assert "MASQUERADE" in quietRun("iptables -t nat -S")
net.stop()
assert "MASQUERADE" not in quietRun("iptables -t nat -S")
quietRun("ip link del outside")

root = Node("root", inNamespace=False)
assert "lo" in root.cmd("ls /sys/class/net") and root.pid > 0
root.terminate()

# without Mininet: nodes, a bridge and links
switch = LinuxBridge("s1", dpid="1", inNamespace=False)
a, b = Node("a"), Node("b")
Link(a, switch)
Link(b, switch)
a.setIP("192.168.123.1/24")
b.setIP("192.168.123.2", 24)
a.setARP("192.168.123.2", b.MAC())
switch.start([])
assert ", 0% packet loss" in a.cmd("ping -c1", b.IP())
for node in (a, b, switch):
    node.stop()

# an interface that already exists
quietRun("ip link add card0 type veth peer name card1")
net = Mininet(SingleSwitchTopo(2))
Intf("card0", node=net["s1"])
net.start()
quietRun("ip addr add 10.0.0.9/8 dev card1")
quietRun("ip link set card1 up")
assert ", 0% packet loss" in net["h1"].cmd("ping -c1 10.0.0.9")
net.stop()
quietRun("ip link del card1")

# a network stops while a node outside it remains
net = Mininet(SingleSwitchTopo(2), switch=LinuxBridge, controller=None)
net.start()
stays = Host("h9", ip="10.0.0.9/8")
assert stays.cmd("echo here").strip() == "here"
net.stop()
assert stays.cmd("echo still here").strip() == "still here"
stays.stop(deleteIntfs=True)

# tunnels: no node shows their devices before it uses `ip tunnel`
net = Mininet(controller=None)
a, b = net.addHost("h1"), net.addHost("h2")
net.addLink(a, b)
net.start()
for node, other, inner in ((a, b, "192.168.9.1"), (b, a, "192.168.9.2")):
    assert [line.split()[0] for line in node.cmd("ip -br link").splitlines()] == [
        "lo",
        f"{node}-eth0@if2",
    ]
    node.cmd(f"ip tunnel add t1 mode ipip remote {other.IP()} local {node.IP()}")
    node.popen(f"ip tunnel add t2 mode gre remote {other.IP()}").wait()
    node.cmd(f"ip addr add {inner}/24 dev t1; ip link set t1 up")
assert ", 0% packet loss" in a.cmd("ping -c1 192.168.9.2")
assert "t2: gre/ip" in a.cmd("ip tunnel show t2")
net.stop()

# small things
assert (ipAdd(5), macColonHex(10), netParse("10.0.0.5/8")[1]) == (
    "10.0.0.5",
    "00:00:00:00:00:0a",
    8,
)
assert findController() is Controller
assert errFail("echo hi") == ("hi\n", "", 0)
called = []
addCleanupCallback(lambda: called.append(1))
cleanup()
assert called == [1]
lg.setLogLevel("output")
info("not shown\n")
print("done")
