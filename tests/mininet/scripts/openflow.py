"""Test Open vSwitches with our controller, the user's or none, and when a script gets them."""

import logging
import os

from mininet.log import lg
from mininet.net import Mininet
from mininet.node import (
    Controller,
    OVSBridge,
    OVSController,
    OVSKernelSwitch,
    OVSSwitch,
    RemoteController,
)
from mininet.topo import LinearTopo, SingleSwitchTopo
from mininet.util import custom, quietRun

cautions = []


class Noted(logging.Handler):
    def emit(self, record):
        cautions.extend([record.getMessage()] if "form a loop" in record.getMessage() else [])


lg.addHandler(Noted())

# the classes of most scripts
for controller in (Controller, OVSController):
    net = Mininet(LinearTopo(3), switch=OVSKernelSwitch, controller=controller, waitConnected=True)
    net.start()
    assert net.pingAll() == 0
    s1 = net["s1"]
    assert s1.connected() and s1.dpid == "0000000000000001", s1.dpid
    assert "s1-eth1" in s1.dpctl("show")
    assert "cookie" in s1.dpctl("dump-flows")
    assert "s1-eth1" in s1.vsctl("list-ports s1")
    net.stop()
    assert "s1" not in quietRun("ip -br link")

# without a controller it forwards nothing; standalone it learns
net = Mininet(SingleSwitchTopo(2), switch=OVSSwitch, controller=None)
net.start()
assert net.pingAll(timeout=1) == 100
net["s1"].cmd("ovs-ofctl add-flow s1 action=normal")
assert net.pingAll() == 0
net.stop()
for switch in (OVSBridge, custom(OVSSwitch, failMode="standalone")):
    net = Mininet(SingleSwitchTopo(2), switch=switch, controller=None)
    net.start()
    assert net.pingAll() == 0
    net.stop()

# ports have the requested numbers
net = Mininet(switch=OVSSwitch, controller=Controller)
net.addController("c0")
h1, h2, s1 = net.addHost("h1"), net.addHost("h2"), net.addSwitch("s1", protocols="OpenFlow13")
net.addLink(h1, s1, port2=7)
net.addLink(h2, s1, port2=3)
net.start()
assert net.waitConnected(timeout=10)
assert net.pingAll() == 0
assert s1.vsctl("get Interface s1-eth7 ofport").strip() == "7"
assert "OF1.3" in s1.dpctl("show") or "OFPST_PORT_DESC" in s1.dpctl("show")
net.stop()

# only the script adds flows: it gets Open vSwitches because it calls ovs-ofctl
net = Mininet(SingleSwitchTopo(2), controller=None)
net.start()
for number in (1, 2):
    os.system(f"ovs-ofctl add-flow s1 in_port={number},arp,actions=output:{3 - number}")
h1, h2 = net["h1"], net["h2"]
assert net.ping([h1, h2], timeout=1) == 100
assert "lladdr" in h1.cmd("ip neighbour show", h2.IP())
net.stop()

# a missing controller
net = Mininet(SingleSwitchTopo(2), controller=lambda name: RemoteController(name, port=6698))
assert type(net["s1"]) is OVSSwitch
s1, s2 = net["s1"], net.addSwitch("s2")
for _ in range(2):
    net.addLink(s1, s2)
net.start()
assert not net.waitConnected(timeout=2)
limits = s1.vsctl("--bare --columns=controller_rate_limit,controller_burst_limit list Controller")
assert limits.split() == ["100", "1000"] * 2, limits  # the switches form a loop
assert not cautions  # the controller may handle the loop
net.stop()


# a learning controller cannot handle loops, and this one never starts
class Late(Controller):
    def start(self):
        pass


net = Mininet(LinearTopo(2), switch=OVSSwitch, controller=Late)
net.addLink(net["s1"], net["s2"])
net.start()
assert len(cautions) == 1 and "s1, s2 form a loop" in cautions[0], cautions
net.stop()
print("done")
