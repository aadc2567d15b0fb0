"""Export a topology as a program for Mininet's Python API, as MiniEdit does. The program runs with
Mininet itself and with `wanlab python`. The format cannot be read back.

Mininet's API has no parameter for most queues; the program sets them with `tc`. It cannot express trunks
or a NIC: the program lists such omissions in its first lines, and again when it runs.
"""

from __future__ import annotations

from collections.abc import Iterator
from keyword import iskeyword

from wanlab.errors import TopologyError
from wanlab.topology.addresses import resolve
from wanlab.topology.check import ensure
from wanlab.topology.cpu import Processor
from wanlab.topology.model import (
    Conditions,
    Controller,
    Host,
    Link,
    Node,
    Port,
    Queue,
    Router,
    Switch,
    Topology,
)
from wanlab.topology.nic import BY_RULE
from wanlab.topology.tc_queues import queue_words
from wanlab.units import format_time

HEAD = '''#!/usr/bin/env python
"""{title}

For Mininet, and for: wanlab python THIS_FILE
"""
'''
IMPORTS = """
from mininet.cli import CLI
from mininet.link import TCLink
from mininet.log import info, setLogLevel
from mininet.net import Mininet
from mininet.node import Host, Node, OVSKernelSwitch, OVSBridge, RemoteController, UserSwitch
"""
FOOT = """

if __name__ == "__main__":
    setLogLevel("info")
    network()
"""
RESERVED_NAMES = {
    "net",
    "network",
    "info",
    "chr",
    "setLogLevel",
    "CLI",
    "TCLink",
    "Mininet",
    "Host",
    "Node",
    "OVSKernelSwitch",
    "OVSBridge",
    "RemoteController",
    "UserSwitch",
}
CLASSES = {"bridge": "OVSBridge", "ovs": "OVSKernelSwitch", "ivs": "OVSKernelSwitch"}


def dump(topology: Topology) -> str:
    """Return the text of the program."""
    script = _Script(resolve(ensure(topology)))
    body = list(script.body())
    title = topology.name or "A network."
    parts = [HEAD.format(title=title.replace('"""', "'''").replace("\\", "/"))]
    parts += [
        f"# Left out, because Mininet cannot express it: {what}\n" for what in script.left_out
    ]
    parts += [
        IMPORTS,
        "\n\ndef network():\n",
        *(f"    {line}\n" if line else "\n" for line in body),
    ]
    return "".join([*parts, FOOT])


class _Script:
    """Writes the program; `left_out` lists the features that Mininet cannot express."""

    def __init__(self, topology: Topology) -> None:
        self._topology = topology
        self._variables = {
            node.name: f"node{number}" for number, node in enumerate(topology.nodes, start=1)
        }
        self._variables |= {
            name: name
            for name in self._variables
            if name.isidentifier() and not iskeyword(name) and name not in RESERVED_NAMES
        }
        self.left_out: list[str] = []
        self._queues: list[str] = []
        """The commands that set queues, which need the links."""

    def body(self) -> Iterator[str]:
        nodes = self._topology.nodes
        switches = self._topology.switches
        links = [line for link in self._topology.links for line in self._link(link)]
        node_lines = [self._node(node) for node in nodes]
        configuration = list(self._configuration())
        for what in self.left_out:
            yield f"info({f'*** left out: {what}'!r} + chr(10))"
        yield f"net = Mininet(topo=None, build=False, ipBase={self._topology.ip_base!r})"
        yield from node_lines
        yield from links
        yield ""
        yield "net.build()"
        yield from (
            f"{self._variables[node.name]}.start()"
            for node in nodes
            if isinstance(node, Controller)
        )
        for switch in switches:
            controllers = ", ".join(self._variables[name] for name in switch.controllers)
            yield f"{self._variables[switch.name]}.start([{controllers}])"
        yield from configuration
        yield "CLI(net)"
        yield from (
            f"{self._variables[node.name]}.cmd({node.stop_command!r})"
            for node in nodes
            if node.stop_command
        )
        yield "net.stop()"

    # -- nodes ------------------------------------------------------------------------------------

    def _node(self, node: Node) -> str:
        variable = self._variables[node.name]
        match node:
            case Host():
                return f"{variable} = net.addHost({_call(node.name, self._host_words(node))})"
            case Switch():
                words = self._switch_words(node)
                return f"{variable} = net.addSwitch({_call(node.name, words)})"
            case Router():
                self._leave_out_processor(node)
                words = {"cls": _Name("Node"), "ip": None}
                return f"{variable} = net.addHost({_call(node.name, words)})"
            case _:
                assert isinstance(node, Controller)
                words = self._controller_words(node)
                return f"{variable} = net.addController({_call(node.name, words)})"

    def _host_words(self, host: Host) -> dict[str, object]:
        words: dict[str, object] = {"cls": _Name("Host"), "ip": host.ip or None, "mac": host.mac}
        if host.default_route:
            route = host.default_route
            words["defaultRoute"] = route if route.startswith(("via ", "dev ")) else f"via {route}"
        if host.private_directories:
            words["privateDirs"] = [
                mount if folder is None else (mount, folder)
                for mount, folder in host.private_directories
            ]
        if host.in_root:
            words["inNamespace"] = False
        self._leave_out_processor(host)
        for name in host.external_interfaces:
            self._leave_out(f"the computer's interface {name} in {host.name}")
        return {word: value for word, value in words.items() if value is not None or word == "ip"}

    def _leave_out_processor(self, node: Host | Router) -> None:
        if isinstance(node.cpu, Processor):
            self._leave_out(f"the processor of {node.name}")
        elif node.cpu is not None or (isinstance(node, Host) and node.cores is not None):
            self._leave_out(f"the CPU share and cores of {node.name}")

    def _switch_words(self, switch: Switch) -> dict[str, object]:
        kind = "UserSwitch" if switch.kind in ("user", "userns") else CLASSES[switch.kind]
        words: dict[str, object] = {"cls": _Name(kind)}
        if kind == "OVSBridge" and switch.stp:
            words["stp"] = True
        if kind == "OVSKernelSwitch":
            optional = {
                "dpid": switch.dpid and switch.dpid.zfill(16),
                "failMode": switch.fail_mode or ("secure" if switch.controllers else "standalone"),
                "protocols": ",".join(switch.protocols) or None,
                "stp": switch.stp or None,
                "datapath": switch.datapath if switch.datapath != "kernel" else None,
                "listenPort": switch.listen_port,
            }
            words |= {word: value for word, value in optional.items() if value is not None}
        if switch.ip:
            self._leave_out(f"the address of switch {switch.name}")
        if switch.vlan_filtering or switch.priority is not None:
            self._leave_out(f"VLANs and priority of switch {switch.name}")
        return words

    def _controller_words(self, controller: Controller) -> dict[str, object]:
        words: dict[str, object] = {"port": controller.port}
        if not controller.is_ours:
            words |= {"controller": _Name("RemoteController"), "ip": controller.address}
        if controller.kind == "inband":
            self._leave_out(f"in-band control by {controller.name}")
        return words

    def _configuration(self) -> Iterator[str]:
        """Yield the commands that configure the network once all nodes and links exist."""
        yield from self._queues
        for router in self._topology.routers:
            name = self._variables[router.name]
            yield f'{name}.cmd("sysctl -w net.ipv4.ip_forward=1")'
            yield from (f"{name}.cmd({f'ip route add {route}'!r})" for route in router.routes)
            if router.frr:
                self._leave_out(f"FRRouting in {router.name}")
        for host in self._topology.hosts:
            name = self._variables[host.name]
            for number, port in enumerate(self._topology.ports(host.name)):
                if number and port.ip:
                    yield f"{name}.setIP({port.ip!r}, intf={port.name!r})"
            for ip, vlan in host.vlan_interfaces:
                base = next(iter(self._topology.ports(host.name))).name
                for words in (
                    f"ip link add link {base} name {base}.{vlan} type vlan id {vlan}",
                    f"ip addr add {ip} dev {base}.{vlan}",
                    f"ip link set {base}.{vlan} up",
                ):
                    yield f"{name}.cmd({words!r})"
        for switch in self._topology.switches:
            if switch.netflow or switch.sflow:
                self._leave_out(f"NetFlow and sFlow of switch {switch.name}")
        for node in self._topology.nodes:
            if node.start_command:
                yield f"{self._variables[node.name]}.cmd({node.start_command!r})"

    # -- links ------------------------------------------------------------------------------------

    def _link(self, link: Link) -> Iterator[str]:
        a, b = self._variables[link.a.node], self._variables[link.b.node]
        words: dict[str, object] = {}
        for end, port in (("1", link.a), ("2", link.b)):
            words[f"port{end}"] = port.number
            words[f"intfName{end}"] = port.name
            if port.mac:
                words[f"addr{end}"] = port.mac
            self._leave_out_port_fields(port)
        directions = [self._conditions(port) for port in link.ports]
        if any(directions):
            words["cls"] = _Name("TCLink")
        if directions[0] == directions[1]:
            words |= directions[0]
        else:
            words |= {
                f"params{end}": conditions
                for end, conditions in zip("12", directions, strict=True)
                if conditions
            }
        arguments = ", ".join(f"{word}={value!r}" for word, value in words.items())
        yield f"net.addLink({a}, {b}, {arguments})"
        for port in link.ports:
            if port.ip and isinstance(self._topology.node(port.node), Router):
                name = self._variables[port.node]
                yield f"{name}.setIP({port.ip!r}, intf={port.name!r})"

    def _leave_out_port_fields(self, port: Port) -> None:
        is_set = {
            "speed": port.speed_bps is not None,
            "MTU": port.mtu is not None,
            "VLANs": port.vlan is not None or bool(port.trunks),
            "NIC": port.nic != BY_RULE,
        }
        for what, is_left_out in is_set.items():
            if is_left_out:
                self._leave_out(f"{what} of {port.name}")

    def _conditions(self, port: Port) -> dict[str, object]:
        conditions = port.conditions
        words: dict[str, object] = {}
        if conditions.rate_bps:
            words["bw"] = _number(conditions.rate_bps / 10**6)
        if conditions.delay_ns:
            words["delay"] = format_time(conditions.delay_ns)
        if conditions.jitter_ns:
            words["jitter"] = format_time(conditions.jitter_ns)
        if conditions.loss_fraction:
            words["loss"] = _number(round(conditions.loss_fraction * 100, 9))
        queue = conditions.queue
        if queue is not None:
            if queue.limit_packets and queue == Queue(limit_packets=queue.limit_packets):
                words["max_queue_size"] = queue.limit_packets
            else:
                self._set_queue(port, queue)
        expressible = {"rate_bps", "delay_ns", "jitter_ns", "loss_fraction", "queue"}
        default = Conditions()
        changed = {
            name for name, value in vars(conditions).items() if value != getattr(default, name)
        }
        for name in sorted(changed - expressible):
            self._leave_out(f"{name.rsplit('_', 1)[0].replace('_', ' ')} of {port.name}")
        return words

    def _set_queue(self, port: Port, queue: Queue) -> None:
        """Set a queue below the qdiscs that TCLink installs for the rate (5:) and the delay (10:)."""
        try:
            words = queue_words(port, queue)
        except TopologyError:
            self._leave_out(f"the queue ({queue.kind}) of {port.name}")
            return
        conditions = port.conditions
        parent = "parent 5:1" if conditions.rate_bps else "root"
        if conditions.delay_ns or conditions.jitter_ns or conditions.loss_fraction:
            parent = "parent 10:1"
        line = f"tc qdisc add dev {port.name} {parent} handle 20: {words}"
        self._queues.append(f"{self._variables[port.node]}.cmd({line!r})")

    def _leave_out(self, what: str) -> None:
        if what not in self.left_out:
            self.left_out.append(what)


class _Name(str):
    """A Python name: its `repr` has no quotes."""

    def __repr__(self) -> str:
        return str(self)


def _call(name: str, words: dict[str, object]) -> str:
    return ", ".join([repr(name), *(f"{word}={value!r}" for word, value in words.items())])


def _number(value: float) -> float:
    return int(value) if float(value).is_integer() else value
