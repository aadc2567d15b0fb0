"""Stop a network while a thread changes its links, with a pause of so many seconds in between."""

import sys
import threading
import time
from itertools import count

from mininet.link import TCLink
from mininet.net import Mininet

pause_s = float(sys.argv[1])
net = Mininet(controller=None, link=TCLink)
h1, h2, h3 = (net.addHost(name) for name in ("h1", "h2", "h3"))
net.addLink(h1, h2)
net.addLink(h2, h3)
net.start()
for host in net.hosts:
    host.cmd("true")  # ending a shell lets the other thread run
has_begun = threading.Event()


def change_links():
    for number in count(1):
        for link in net.links:
            link.intf1.config(delay=f"{number % 9 + 1}ms")
        if number == 3:
            has_begun.set()
        if pause_s:
            time.sleep(pause_s)


thread = threading.Thread(target=change_links, daemon=True)
thread.start()
has_begun.wait()
assert thread.is_alive()
net.stop()
print("stopped", flush=True)
time.sleep(10 * pause_s)  # the thread may find out that its network is gone
