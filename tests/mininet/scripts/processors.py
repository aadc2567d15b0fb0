"""A host's processor: a share of the network's, which takes 10 us a packet, or a model of its own."""

import re
import sys

from mininet.net import Mininet
from mininet.node import CPULimitedHost
from mininet.topo import Topo

HAS_ONE = len(sys.argv) > 1  # whether the network has a processor


def takes(us):
    from wanlab.topology.cpu import COSTS

    return {"model": "slow", "costs": {**dict.fromkeys(COSTS, 0), "rx_stack_ns": us * 1000}}


def rtt_us(a, b):
    a.cmd("ping -c 1", b.IP())  # which asks for the MAC address
    return round(1000 * float(re.search(r"= ([\d.]+)/", a.cmd("ping -c 2 -i 0.2", b.IP()))[1]))


class Processors(Topo):
    def build(self):
        hosts = {
            "h1": {"cpu": "free"},
            "h2": {},
            "h3": {"cls": CPULimitedHost, "cpu": 0.5},
            "h4": {"cpu": takes(7)},
            "h5": {"cls": CPULimitedHost, "cpu": takes(7)},
            "h6": {"cpu": "board-2019"},
        }
        for name, options in hosts.items():
            self.addLink(
                self.addHost(name, **options), "s1" if name != "h1" else self.addSwitch("s1")
            )


net = Mininet(Processors(), controller=None)
net.start()
us = {host.name: rtt_us(net["h1"], host) for host in net.hosts[1:]}
assert us.pop("h6") > 8, us
assert us == {"h2": 10 * HAS_ONE, "h3": 20 * HAS_ONE, "h4": 7, "h5": 7}, us
net["h3"].setCPUFrac(0.1)
net["h5"].setCPUFrac(0.5)
assert rtt_us(net["h1"], net["h3"]) == 100 * HAS_ONE
assert rtt_us(net["h1"], net["h5"]) == 14
try:
    net.addHost("h7", cpu="bord-2019")
except Exception as error:
    assert "did you mean board-2019?" in str(error), error
else:
    raise AssertionError("bord-2019")
net.stop()
print("done")
