"""A node as a router between three networks: `python -m mininet.examples.linuxrouter`."""

from __future__ import annotations

from typing import Any

from ..cli import CLI
from ..log import info, setLogLevel
from ..net import Mininet
from ..node import Node
from ..parameters import Params
from ..topo import Topo

FORWARDING = "net.ipv4.ip_forward"
# (network, address of its gateway, address of its host)
NETWORKS = (
    ("192.168.1.0/24", "192.168.1.1/24", "192.168.1.100/24"),
    ("172.16.0.0/12", "172.16.0.1/12", "172.16.0.100/12"),
    ("10.0.0.0/8", "10.0.0.1/8", "10.0.0.100/8"),
)


class LinuxRouter(Node):
    """A node that forwards packets between its interfaces."""

    def config(self, **params: Any) -> Params:  # type: ignore[override]
        results = super().config(**params)
        self.cmd(f"sysctl -w {FORWARDING}=1")
        return results

    def terminate(self) -> None:
        self.cmd(f"sysctl -w {FORWARDING}=0")
        super().terminate()


class NetworkTopo(Topo):
    """A router with three ports, and a network of one host at each."""

    def build(self, **_opts: object) -> None:
        router = self.addNode("r0", cls=LinuxRouter, ip=NETWORKS[0][1])
        for number, (_, gateway, address) in enumerate(NETWORKS, start=1):
            switch = self.addSwitch(f"s{number}")
            self.addLink(switch, router, intfName2=f"r0-eth{number}", params2={"ip": gateway})
            route = f"via {gateway.partition('/')[0]}"
            self.addLink(self.addHost(f"h{number}", ip=address, defaultRoute=route), switch)


def run() -> None:
    net = Mininet(topo=NetworkTopo(), waitConnected=True)
    net.start()
    info("*** Routing Table on Router:\n")
    info(net["r0"].cmd("ip route"))
    CLI(net)
    net.stop()


if __name__ == "__main__":
    setLogLevel("info")
    run()
