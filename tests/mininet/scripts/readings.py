"""Read the clock as often as the argument says, then print what a network does."""

import os
import sys
import time

from mininet.net import Mininet
from mininet.topo import SingleSwitchTopo

net = Mininet(SingleSwitchTopo(2))
for _ in range(int(sys.argv[1]) // 100):
    for _ in range(100):
        time.monotonic()
    os.close(os.dup(0))  # it also does other work, because busy waiting on the clock takes time
net.start()
h1 = net["h1"]
print(h1.cmd("ping -c 2 h2"))
print(h1.cmd("ping -c 2 h2"), h1.cmd("cat /proc/uptime"))
net.stop()
