"""Print what must be the same in every run: times, rates, losses, addresses, process ids."""

import random
import time

from mininet.link import TCLink
from mininet.net import Mininet
from mininet.topo import LinearTopo
from mininet.util import custom

net = Mininet(LinearTopo(2), link=custom(TCLink, bw=20, delay="3ms", jitter="1ms", loss=0.1))
net.start()
net.pingAllFull()
net.iperf(seconds=2)
net.iperf(l4Type="UDP", udpBw="5M", seconds=2)
print(net["h1"].cmd("ping -c 20 -i 0.2 10.0.0.2"))
print(net.values(), [host.MAC() for host in net.hosts], time.time(), random.random() < 2)
net.stop()
