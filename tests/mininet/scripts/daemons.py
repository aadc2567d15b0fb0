"""Stop a network while daemons run in its nodes: memcached, or frr in routers."""

import subprocess
import sys
import time

from mininet.net import Mininet

OSPF = "router ospf\n network 10.0.0.0/8 area 0\n"
NEIGHBORS = {1: ("10.0.12.2",), 2: ("10.0.12.1", "10.0.23.3"), 3: ("10.0.23.2",)}


def start_memcached():
    net = Mininet(controller=None)
    h1, h2 = net.addHost("h1"), net.addHost("h2")
    net.addLink(h1, h2)
    net.start()
    h2.cmd("memcached -u root -d")
    time.sleep(1)
    assert "STAT uptime" in h1.cmd(r"printf 'stats\nquit\n' | nc -q 1 10.0.0.2 11211")
    return net


def start_frr():
    """Run OSPF and BGP on three routers in a row."""
    net = Mininet(controller=None)
    folders = ["/etc/frr", "/var/run/frr"]
    r1, r2, r3 = (net.addHost(f"r{n}", ip=None, privateDirs=folders) for n in (1, 2, 3))
    net.addLink(r1, r2, params1={"ip": "10.0.12.1/24"}, params2={"ip": "10.0.12.2/24"})
    net.addLink(r2, r3, params1={"ip": "10.0.23.2/24"}, params2={"ip": "10.0.23.3/24"})
    net.start()
    for number, router in enumerate((r1, r2, r3), 1):
        lines = [f" neighbor {address} remote-as internal\n" for address in NEIGHBORS[number]]
        configurations = {"zebra": "", "ospfd": OSPF, "bgpd": f"router bgp 65000\n{''.join(lines)}"}
        for daemon, text in configurations.items():
            router.cmd(f"printf '{text}' >/etc/frr/{daemon}.conf")
        router.cmd(f"chown -R frr:frr {' '.join(folders)}; sysctl net.ipv4.ip_forward=1")
        for daemon in configurations:
            router.cmd(f"/usr/lib/frr/{daemon} -d -A 127.0.0.1")
    time.sleep(60)
    assert "10.0.23.0/24" in r1.cmd("ip route show proto ospf")
    sessions = r2.cmd("ss -Htn state established '( sport = 179 or dport = 179 )'")
    assert len(sessions.splitlines()) == 2, sessions
    return net


def running(pattern):
    found = subprocess.run(["pgrep", "-c", "-f", pattern], stdout=subprocess.PIPE, text=True)
    return int(found.stdout)


start, pattern, number = {
    "memcached": (start_memcached, "^memcached ", 1),
    "frr": (start_frr, "^/usr/lib/frr/", 9),
}[sys.argv[1]]
net = start()
assert running(pattern) == number
net.stop()
assert running(pattern) == 0
print("stopped")
