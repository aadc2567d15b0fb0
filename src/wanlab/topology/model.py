"""What a network is, as data: nodes, and links between their ports.

Nothing here knows a kernel, a clock or a file. A topology does not change; an edited one is a new
one (`dataclasses.replace`). It may be wrong (two nodes of one name): `check` says so. It may leave
things open (`None` means "by rule"): `addresses.resolve` fills them in.

    Topology
      nodes   Host h1                 Switch s1                 Host h2
                 |                     |     |                     |
      links   Link( Port h1-eth0 -- Port s1-eth1 )  Link( Port s1-eth2 -- Port h2-eth0 )
                      |                 |
              what leaves h1     what leaves s1 towards h1        <- Conditions, one per direction

The conditions of a port (rate, delay, loss, queue) are those of the packets that *leave* through it,
because that is where Linux shapes. A delay in both directions of a link adds twice to the round trip.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import cached_property
from typing import TypeVar

from wanlab.errors import Problem, TopologyError, did_you_mean
from wanlab.topology.link_trace import LinkTrace
from wanlab.topology.nic import BY_RULE, Nic
from wanlab.topology.schedule import Schedule

NodeKind = TypeVar("NodeKind", bound="Node")


@dataclass(frozen=True)
class Node:
    """Anything with a network stack. Its name is its key: links and programs refer to it."""

    kind_of_node = "node"

    name: str
    _: KW_ONLY
    number: int | None = None
    """Counts the nodes of one kind; gives a host its automatic address."""
    x: float = 0.0
    y: float = 0.0
    start_command: str | None = None
    stop_command: str | None = None
    extra: Mapping[str, object] = field(default_factory=dict, hash=False)
    """What a file says of this node that the model has no field for; its writer puts it back."""

    def __str__(self) -> str:
        return f"{self.kind_of_node} {self.name}"


@dataclass(frozen=True)
class Host(Node):
    """An end system. Its address and MAC are those of its first port."""

    kind_of_node = "host"

    ip: str | None = None
    """With its prefix ("10.0.0.1/8"). None: by rule. "": its first port's, or none."""
    mac: str | None = None
    in_root: bool = False
    """It has no namespace of its own: its ports are in the machine's root namespace, as a switch's."""
    default_route: str | None = None
    """A gateway ("10.0.0.254"), or what `ip route add default` takes ("via 10.0.0.254 dev h1-eth0")."""
    private_directories: tuple[tuple[str, str | None], ...] = ()
    """(where it is mounted, folder that keeps its content); without the second it is temporary."""
    vlan_interfaces: tuple[tuple[str, int], ...] = ()
    """(address, VLAN number)"""
    external_interfaces: tuple[str, ...] = ()
    """Interfaces of the machine that move into this node."""
    cpu: float | None = None
    """Share of the whole computer, 0 to 1."""
    cores: str | None = None
    scheduler: str | None = None


@dataclass(frozen=True)
class NetFlow:
    """Where an Open vSwitch reports the flows that passed it."""

    target: str
    """Address and UDP port, "127.0.0.1:9996", as seen from the machine's root namespace."""
    _: KW_ONLY
    timeout_s: int = 600
    """A flow that goes on is reported this often."""
    add_id: bool = False
    """Whether the numbers of its interfaces tell the switch."""


@dataclass(frozen=True)
class SFlow:
    """Where an Open vSwitch sends samples of packets and its counters."""

    target: str
    _: KW_ONLY
    header_bytes: int = 128
    sampling: int = 400
    """One packet of this many."""
    polling_s: int = 30
    """Counters are sent this often."""


@dataclass(frozen=True)
class Switch(Node):
    """Forwards by MAC address. "bridge" learns by itself, "ovs" (Open vSwitch) can obey controllers."""

    kind_of_node = "switch"

    kind: str = "bridge"
    dpid: str | None = None
    """Datapath identity, hexadecimal. None: by rule, the number in its name."""
    ip: str | None = None
    stp: bool = False
    priority: int | None = None
    """In the spanning tree: the switch with the lowest becomes its root."""
    vlan_filtering: bool = False
    """A bridge keeps VLANs apart. So it does if a port of it names a VLAN."""
    external_interfaces: tuple[str, ...] = ()

    # Of an Open vSwitch only:

    controllers: tuple[str, ...] = ()
    protocols: tuple[str, ...] = ()
    """Versions of OpenFlow that it speaks: ("OpenFlow10", "OpenFlow13"). None named: all."""
    fail_mode: str | None = None
    """Without a controller it learns by itself ("standalone") or forwards nothing ("secure"). None:
    secure if it has controllers."""
    datapath: str = "kernel"
    """Where packets pass: "kernel", or "user", which is a program."""
    listen_port: int | None = None
    """TCP port of the root namespace where it takes OpenFlow connections (`ovs-ofctl tcp:...`)."""
    netflow: NetFlow | None = None
    sflow: SFlow | None = None


@dataclass(frozen=True)
class Router(Node):
    """Forwards by IP address, always. Its addresses live in its ports."""

    kind_of_node = "router"

    routes: tuple[str, ...] = ()
    """What `ip route add` takes: "10.0.2.0/24 via 10.0.1.2"."""
    frr: str | None = None
    """Text of a frr.conf: FRRouting's programs that it calls for run in this router."""
    external_interfaces: tuple[str, ...] = ()


@dataclass(frozen=True)
class Controller(Node):
    """Tells switches what to do, over OpenFlow.

    "learning" (in other programs' files also "ref" and "ovsc") is our own, started with the network in
    the machine's root namespace; "remote" is one that somebody else starts in the machine, "outside" one
    on the user's own computer; "inband" is one that switches reach through their own ports.
    """

    kind_of_node = "controller"

    kind: str = "learning"
    protocol: str = "tcp"
    address: str = "127.0.0.1"
    port: int = 6633

    @property
    def is_ours(self) -> bool:
        """Whether it is started with the network."""
        return self.kind in ("learning", "ref", "ovsc")


def is_in_root(node: Node) -> bool:
    """Whether a node's ports are in the machine's root namespace."""
    return isinstance(node, Switch | Controller) or (isinstance(node, Host) and node.in_root)


@dataclass(frozen=True)
class Queue:
    """Where packets wait when a link is busy: a queueing discipline and how much it holds."""

    kind: str = "fifo"
    _: KW_ONLY
    limit_bytes: int | None = None
    limit_packets: int | None = None
    options: tuple[tuple[str, str], ...] = ()
    """Further words of the discipline, as `tc` takes them: (("target", "5ms"), ("ecn", ""))."""


@dataclass(frozen=True, kw_only=True)
class Conditions:
    """What happens to packets that leave through a port."""

    rate_bps: int | None = None
    delay_ns: int = 0
    jitter_ns: int = 0
    delay_correlation_fraction: float = 0.0
    distribution: str | None = None
    """Shape of the jitter; None is uniform."""
    loss_fraction: float = 0.0
    loss_correlation_fraction: float = 0.0
    duplicate_fraction: float = 0.0
    corrupt_fraction: float = 0.0
    reorder_fraction: float = 0.0
    reorder_correlation_fraction: float = 0.0
    queue: Queue | None = None
    trace: LinkTrace | None = None
    """When packets may leave, instead of a rate."""
    trace_once: bool = False
    """After the trace has ended nothing leaves any more; otherwise it begins again."""
    schedule: Schedule | None = None
    """How rate, delay, jitter and loss change."""
    schedule_repeat_ns: int | None = None
    """After so long the schedule begins again, from what stands above."""

    def states(self) -> tuple[tuple[int, Conditions], ...]:
        """What holds from each instant on (ns), the first from the beginning."""
        state = replace(self, schedule=None, schedule_repeat_ns=None)
        states = {0: state}
        for change in self.schedule.changes if self.schedule else ():
            state = replace(state, **change.values())
            states[change.at_ns] = state
        return tuple(states.items())


@dataclass(frozen=True)
class Port:
    """One end of a link: an interface in a node."""

    node: str
    _: KW_ONLY
    number: int | None = None
    name: str | None = None
    ip: str | None = None
    mac: str | None = None
    speed_bps: int | None = None
    """Line rate of the wire out of this port. None: the machine's usual one; 0: unlimited."""
    mtu: int | None = None
    vlan: int | None = None
    """Of a switch's port: the VLAN of packets without a tag."""
    trunks: tuple[int, ...] = ()
    """Of a switch's port: VLANs that pass with their tags."""
    nic: Nic = BY_RULE
    """The NIC, in a host or a router."""
    conditions: Conditions = Conditions()

    def __str__(self) -> str:
        return self.name or self.node


@dataclass(frozen=True)
class Link:
    """Two ports and the wire between them."""

    a: Port
    b: Port
    _: KW_ONLY
    extra: Mapping[str, object] = field(default_factory=dict, hash=False)

    @property
    def ports(self) -> tuple[Port, Port]:
        return self.a, self.b

    def __str__(self) -> str:
        return f"link {self.a.node}-{self.b.node}"


@dataclass(frozen=True, kw_only=True)
class Source:
    """Which file a topology was read from, and where in it each thing stands."""

    file: str = ""
    places: Mapping[str, str] = field(default_factory=dict, hash=False)
    """"nodes[0].ip" -> "hosts[0].opts.ip", or -> "line 7" """

    def place(self, path: str) -> str:
        """Where the file says what `path` names; for what it leaves out, where that would be."""
        while path not in self.places and "." in path:
            path = path.rpartition(".")[0]
        return self.places.get(path, "")


@dataclass(frozen=True, kw_only=True)
class Topology:
    """A whole network. The order of nodes and links counts: addresses and port numbers follow it."""

    name: str = ""
    ip_base: str = "10.0.0.0/8"
    nodes: tuple[Node, ...] = ()
    links: tuple[Link, ...] = ()
    extra: Mapping[str, object] = field(default_factory=dict, hash=False)
    source: Source = field(default=Source(), compare=False, repr=False)

    def node(self, name: str) -> Node:
        """The node of that name."""
        try:
            return self._nodes_by_name[name]
        except KeyError:
            known = did_you_mean(name, self._nodes_by_name)
            problem = Problem("", f'there is no node "{name}"', known)
            raise TopologyError([problem], self.source.file) from None

    def ports(self, node: str) -> tuple[Port, ...]:
        """The ports of a node: by their numbers, those without one after them in link order."""
        return self._ports_by_node.get(node, ())

    @property
    def hosts(self) -> tuple[Host, ...]:
        return self._only(Host)

    @property
    def switches(self) -> tuple[Switch, ...]:
        return self._only(Switch)

    @property
    def routers(self) -> tuple[Router, ...]:
        return self._only(Router)

    @property
    def controllers(self) -> tuple[Controller, ...]:
        return self._only(Controller)

    def _only(self, kind: type[NodeKind]) -> tuple[NodeKind, ...]:
        return tuple(node for node in self.nodes if isinstance(node, kind))

    @cached_property
    def _nodes_by_name(self) -> dict[str, Node]:
        return {node.name: node for node in self.nodes}

    @cached_property
    def _ports_by_node(self) -> dict[str, tuple[Port, ...]]:
        ports: dict[str, list[Port]] = {}
        for link in self.links:
            for port in link.ports:
                ports.setdefault(port.node, []).append(port)
        return {
            name: tuple(sorted(found, key=lambda port: (port.number is None, port.number or 0)))
            for name, found in ports.items()
        }
