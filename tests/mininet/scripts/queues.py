"""Ping beside a long flow through a bottleneck of 10 Mbit/s with a queue of 100 packets."""

import sys
import time

from mininet.link import TCLink
from mininet.net import Mininet
from mininet.node import Node


class Router(Node):
    def config(self, **params):
        super().config(**params)
        self.cmd("sysctl -w net.ipv4.ip_forward=1")


def bridges():
    net = Mininet(link=TCLink, controller=None)
    h1, h2, h3, h4 = (net.addHost(f"h{n}") for n in range(1, 5))
    s1, s2 = net.addSwitch("s1"), net.addSwitch("s2")
    for host, switch in ((h1, s1), (h2, s1), (h3, s2), (h4, s2)):
        net.addLink(host, switch)
    net.addLink(s1, s2, bw=10, max_queue_size=100)
    return net


def routers():
    net = Mininet(link=TCLink, controller=None)
    r1, r2 = (net.addHost(f"r{n}", cls=Router, ip=None) for n in (1, 2))
    for n in range(1, 5):
        router = r1 if n < 3 else r2
        host = net.addHost(f"h{n}", ip=f"10.0.{n}.1/24", defaultRoute=f"via 10.0.{n}.254")
        net.addLink(host, router, params2={"ip": f"10.0.{n}.254/24"})
    net.addLink(
        r1,
        r2,
        bw=10,
        max_queue_size=100,
        params1={"ip": "10.9.0.1/24"},
        params2={"ip": "10.9.0.2/24"},
    )
    net.build()
    for router, there, gateway in ((r1, (3, 4), "10.9.0.2"), (r2, (1, 2), "10.9.0.1")):
        for n in there:
            router.cmd(f"ip route add 10.0.{n}.0/24 via {gateway}")
    return net


net = {"bridges": bridges, "routers": routers}[sys.argv[1]]()
net.start()
assert net.pingAll() == 0
h1, h2, h3, h4 = (net[f"h{n}"] for n in range(1, 5))
server = h3.popen("iperf3 -s -1")
time.sleep(1)
client = h1.popen(f"iperf3 -c {h3.IP()} -t 30")
time.sleep(10)
said = h2.cmd(f"ping -c 10 -i 1 {h4.IP()}")
times = [float(line.split("time=")[1].split()[0]) for line in said.splitlines() if "time=" in line]
client.communicate()
server.communicate()
net.stop()
print("rtt", min(times), max(times))
