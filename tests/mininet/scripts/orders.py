"""Performs Mininet's calls in drawn orders, and prints what the kernel has after each.

    orders.py FIRST COUNT [FOLDER]    seeds FIRST, FIRST + 1, ...; FOLDER holds Mininet's own package

Each line of the output is the transcript of one order, in JSON: [seed, [[call, result], ...]].
Everything in a transcript is the same with Mininet's own package: names, addresses, failures.
"""

import json
import os
import random
import sys

IS_OURS = len(sys.argv) == 3
if not IS_OURS:
    sys.path.insert(0, sys.argv[3])

from mininet.link import TCLink, TCULink  # noqa: E402
from mininet.log import setLogLevel  # noqa: E402
from mininet.net import Mininet  # noqa: E402
from mininet.nodelib import LinuxBridge  # noqa: E402

CALLS = (
    "addHost",
    "addHost",
    "addLink",
    "addLink",
    "addLink",
    "cmd",
    "cmd",
    "popen",
    "read",
    "build",
    "start",
    "setIP",
    "setMAC",
    "delLink",
    "delHost",
    "ifconfig",
    "rename",
    "route",
    "shaped",
)
LENGTH = 24
INTERFACES = "/sys/class/net"
SHAPES = (
    {},
    {"bw": 10},
    {"delay": "5ms"},
    {"bw": 5, "delay": "2ms", "loss": 1, "max_queue_size": 50},
    {"txo": False, "rxo": False},
)


def interfaces_of(node):
    """Return the kernel's interfaces of a node: {name: [is up, address]}."""
    lines = node.cmd("ip -o link; echo ---; ip -o -4 addr").splitlines()
    middle = lines.index("---")
    state = {}
    for line in lines[:middle]:
        words = line.split()
        name = words[1].rstrip(":").partition("@")[0]
        if name != "lo" and "-" in name:
            state[name] = ["UP" in words[2].strip("<>").split(","), ""]
    for line in lines[middle + 1 :]:
        words = line.split()
        if words[1] in state:
            state[words[1]][1] = words[3]
    return state


class Order:
    """One drawn order of calls."""

    def __init__(self, seed):
        self.draw = random.Random(seed)
        self.net = Mininet(controller=None, switch=LinuxBridge, build=False)
        self.transcript = []
        self.is_started = False
        self.hosts = 0
        self.links = []
        self.shapes = {}
        self.net.addSwitch("s1")
        self.addHost()

    def run(self):
        for _ in range(LENGTH):
            call = self.draw.choice(CALLS)
            try:
                result = getattr(self, call)()
            except AssertionError:
                raise
            except Exception as error:
                result = f"fails: {error}" if "WHY" in os.environ else "fails"
            if result is not None:
                self.transcript.append([call, result])
        self.net.stop()
        if not IS_OURS:  # Linux removes the namespaces of its hosts, and so their links, later
            for name in os.listdir(INTERFACES):  # noqa: PTH208
                if name.startswith("s1-"):
                    os.system(f"ip link del {name}")
        return self.transcript

    def host(self):
        return self.draw.choice(self.net.hosts) if self.net.hosts else self.addHost() or self.host()

    def addHost(self):
        self.hosts += 1
        self.net.addHost(f"h{self.hosts}")

    def addLink(self):
        first = self.host()
        others = [self.net["s1"], *(host for host in self.net.hosts if host is not first)]
        second = self.draw.choice(others)
        cls = self.draw.choice((None, TCLink, TCULink))
        shape = self.draw.choice(SHAPES) if cls else {}
        link = self.net.addLink(first, second, cls=cls, **shape)
        self.links.append(link)
        if shape or cls is TCULink:
            self.shapes[link] = shape
        if second.name == "s1" and self.is_started:
            if IS_OURS:
                second.attach(link.intf2)
            else:  # Mininet's bridges have no `attach`
                second.cmd(f"ip link set dev {link.intf2} master s1")
        return str(link)

    def cmd(self):
        host = self.host()
        state = interfaces_of(host)
        if IS_OURS:  # Mininet keeps the interfaces that led to a deleted host
            known = {i.name: f"{i.ip}/{i.prefixLen}" if i.ip else "" for i in host.intfList()}
            assert known == {name: address for name, (_, address) in state.items()}, (known, state)
        return [host.name, state]

    def popen(self):
        host = self.host()
        output = host.popen("ls /sys/class/net").communicate()[0].decode()
        return [host.name, sorted(name for name in output.split() if "-" in name)]

    def read(self):
        """Read in the root namespace, where the switch's ports are."""
        names = os.listdir(INTERFACES)  # noqa: PTH208
        return sorted(name for name in names if name.startswith("s1-"))

    def build(self):
        if not self.net.built:
            self.net.build()
            return self.state()
        return None

    def start(self):
        if not self.is_started:
            self.net.start()
            self.is_started = True
            return [self.state(), self.read()]
        return None

    def state(self):
        return {host.name: interfaces_of(host) for host in self.net.hosts}

    def interface(self):
        ends = [link.intf1 for link in self.links]
        return self.draw.choice(ends) if ends else None

    def setIP(self):
        interface = self.interface()
        if interface is not None:
            address = f"10.{self.draw.randrange(9)}.{self.draw.randrange(256)}.7/16"
            interface.node.setIP(address, intf=interface)
            return [interface.name, interface.IP(), self.seen(interface)]
        return None

    def setMAC(self):
        interface = self.interface()
        if interface is not None:
            mac = f"0a:00:00:00:00:{self.draw.randrange(256):02x}"
            interface.setMAC(mac)
            return [mac in interface.node.cmd(f"ip link show dev {interface.name}")]
        return None

    def ifconfig(self):
        interface = self.interface()
        if interface is not None:
            interface.ifconfig(self.draw.choice(("up", "down")))
            return self.seen(interface)
        return None

    def rename(self):
        interface = self.interface()
        if interface is not None and self.draw.random() < 0.3:
            interface.rename(f"{interface.node.name}-x{self.draw.randrange(100)}")
            return self.seen(interface)
        return None

    def shaped(self):
        """Return the queueing disciplines and offloads that a TCLink has set."""
        links = [link for link in self.links if link in self.shapes]
        if links:
            link = self.draw.choice(links)
            node, name = link.intf1.node, link.intf1.name
            qdiscs = node.cmd(f"tc qdisc show dev {name}").splitlines()
            kinds = [line.split()[1] for line in qdiscs if "root" in line or "parent" in line]
            state = [kind for kind in kinds if kind in ("htb", "netem")]
            if "txo" in self.shapes[link] or isinstance(link, TCULink):
                lines = node.cmd(f"ethtool -k {name}").splitlines()
                state += [line for line in lines if line.startswith(("tx-check", "rx-check"))]
            return [name, state]
        return None

    def route(self):
        interface = self.interface()
        if interface is not None:
            interface.node.setDefaultRoute(interface)
            return "default" in interface.node.cmd("ip route")
        return None

    def seen(self, interface):
        return interfaces_of(interface.node).get(interface.name)

    def delLink(self):
        if self.links:
            link = self.links.pop(self.draw.randrange(len(self.links)))
            nodes = [link.intf1.node, link.intf2.node]
            self.net.delLink(link)
            return [interfaces_of(node) for node in nodes if node.name != "s1"]
        return None

    def delHost(self):
        host = self.host()
        if len(self.net.hosts) > 1:
            self.links = [
                link for link in self.links if host not in (link.intf1.node, link.intf2.node)
            ]
            self.net.delHost(host)
            return [host.name, self.state()]
        return None


setLogLevel("critical")
first, count = int(sys.argv[1]), int(sys.argv[2])
for seed in range(first, first + count):
    print(json.dumps([seed, Order(seed).run()]))
print("done")
