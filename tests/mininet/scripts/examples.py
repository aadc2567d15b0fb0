"""Classes from the examples: a router between three networks, hosts in VLANs."""

from functools import partial

from mininet.examples.linuxrouter import NetworkTopo
from mininet.examples.vlanhost import VLANHost, VLANStarTopo
from mininet.net import Mininet
from mininet.topo import SingleSwitchTopo

net = Mininet(NetworkTopo())
net.start()
assert net.pingAll() == 0
assert "ttl=63" in net["h1"].cmd("ping -c1", net["h3"].IP())
net.stop()

net = Mininet(VLANStarTopo())
net.start()
assert net.pingAll(timeout=1) == 80
net.stop()
net = Mininet(SingleSwitchTopo(2), host=partial(VLANHost, vlan=7))
net.start()
assert net.pingAll() == 0
assert net["h1"].intf().name == "h1-eth0.7"
net.stop()
print("done")
