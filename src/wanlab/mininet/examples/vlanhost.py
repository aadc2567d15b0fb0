"""A host in a VLAN: its address is on the tagged interface `h1-eth0.100`."""

from __future__ import annotations

from typing import Any, ClassVar

from wanlab.errors import WanlabError

from ..node import Host
from ..parameters import Params
from ..topo import Topo

MAX_VLAN = 4094


class VLANHost(Host):
    """A host whose packets are tagged: addHost(..., cls=VLANHost, vlan=100)."""

    parameters: ClassVar[set[str]] = {*Host.parameters, "vlan"}

    def config(self, vlan: int = 100, **params: Any) -> Params:  # type: ignore[override]
        if not 1 <= vlan <= MAX_VLAN:
            raise WanlabError(f"{self.name}: there is no VLAN {vlan}", f"1 to {MAX_VLAN}")
        results = super().config(**params)
        intf = self.defaultIntf()
        assert intf is not None, f"{self.name} needs a link for its VLAN"
        address = intf.address_with_prefix()
        intf.setIP("0.0.0.0/0")
        tagged = f"{intf.name}.{vlan}"
        self.cmd(f"ip link add link {intf.name} name {tagged} type vlan id {vlan}")
        self.cmd(f"ip link set {tagged} up")
        if address is not None:
            self.cmd(f"ip addr add {address} brd + dev {tagged}")
            intf.ip, _, prefix = address.partition("/")
            intf.prefixLen = int(prefix)
        # The default interface is the one with the address.
        del self.nameToIntf[intf.name]
        intf.name = tagged
        self.nameToIntf[tagged] = intf
        return results


hosts = {"vlan": VLANHost}


class VLANStarTopo(Topo):
    """k hosts in each of n VLANs, and k without a VLAN, on one switch. VLANs cannot reach each other."""

    def build(self, k: int = 2, n: int = 2, vlanBase: int = 100) -> None:
        switch = self.addSwitch("s1")
        for number in range(k):
            for vlan in range(n):
                name = f"h{k * number + vlan + 1}"
                host = self.addHost(name, cls=VLANHost, vlan=vlanBase + vlan)
                self.addLink(host, switch)
        for number in range(k):
            self.addLink(self.addHost(f"h{k * n + number + 1}"), switch)
