"""What a network does, after a program that has read the clock as often as its argument says."""

import os
import sys
import time

from mininet.net import Mininet
from mininet.topo import SingleSwitchTopo

net = Mininet(SingleSwitchTopo(2))
for _ in range(int(sys.argv[1]) // 100):
    for _ in range(100):
        time.monotonic()
    os.close(os.dup(0))  # it does something else, too: waiting by reading the clock takes time
net.start()
h1 = net["h1"]
print(h1.cmd("ping -c 2 h2"))
print(h1.cmd("ping -c 2 h2"), h1.cmd("cat /proc/uptime"))
net.stop()
