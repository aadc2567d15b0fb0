"""A network as data: nodes, and links between their ports.

Nothing here depends on a kernel, a clock or a file. A topology is immutable; edit it with
`dataclasses.replace`. It may have mistakes (two nodes with one name), which `check` reports. It may
leave fields open (`None` means "by rule"), which `addresses.resolve` fills in.

    Topology
      nodes   Host h1                 Switch s1                 Host h2
                 |                     |     |                     |
      links   Link( Port h1-eth0 -- Port s1-eth1 )  Link( Port s1-eth2 -- Port h2-eth0 )
                      |                 |
              packets from h1     packets from s1 to h1            <- Conditions, one per direction

The conditions of a port (rate, delay, loss, queue) are those of the packets that *leave* through it,
because that is where Linux shapes. A delay in both directions of a link adds twice to the round trip.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import cached_property
from typing import TypeVar

from wanlab.errors import Problem, TopologyError, did_you_mean
from wanlab.topology.cpu import Processor
from wanlab.topology.link_trace import LinkTrace
from wanlab.topology.nic import BY_RULE, Nic
from wanlab.topology.schedule import Schedule

MAX_NODES = 50_000
"""Of a shape or of a Mininet script's Topo. Such a network may need 100 GB of memory, so larger sizes
are slips of the pen.
"""
NodeKind = TypeVar("NodeKind", bound="Node")


@dataclass(frozen=True)
class Node:
    """Anything with a network stack. Its name is its key: links and programs refer to it."""

    kind_of_node = "node"

    name: str
    _: KW_ONLY
    number: int | None = None
    """The number among the nodes of its kind; it determines a host's automatic address."""
    x: float = 0.0
    """Position in drawings, to the right."""
    y: float = 0.0
    """Position in drawings, down."""
    start_command: str | None = None
    """A shell command that runs in the node when the network has started."""
    stop_command: str | None = None
    """A shell command that runs in the node before the network stops."""
    extra: Mapping[str, object] = field(default_factory=dict, hash=False)
    """Fields of a file that the model does not have; they are written back to the file."""

    def __str__(self) -> str:
        return f"{self.kind_of_node} {self.name}"


@dataclass(frozen=True)
class Host(Node):
    """An end system. Its address and MAC belong to its first port."""

    kind_of_node = "host"

    ip: str | None = None
    """With its prefix ("10.0.0.1/8"). None: by rule. "", in files "none": its first port's, or none."""
    mac: str | None = None
    """MAC address of its first port. None: by rule."""
    in_root: bool = False
    """Whether its ports are in the machine's root namespace, like a switch's."""
    default_route: str | None = None
    """A gateway ("10.0.0.254"), or words for `ip route add default` ("via 10.0.0.254 dev h1-eth0")."""
    private_directories: tuple[tuple[str, str | None], ...] = ()
    """(mount point, folder that keeps the content); without a folder the content is temporary."""
    vlan_interfaces: tuple[tuple[str, int], ...] = ()
    """(address, VLAN number), on its first port."""
    external_interfaces: tuple[str, ...] = ()
    """Interfaces of the computer that are moved into this node."""
    cpu: float | Processor | None = None
    """Its processor: a model ("server-2019", or "free"), or a share, 0 to 1, of the network's. None: the
    network's."""
    cores: str | None = None
    """Cores that its programs may use ("0,1"); a machine has one."""
    scheduler: str | None = None
    """Mininet's scheduler of the share: "cfs" or "rt"."""


@dataclass(frozen=True)
class NetFlow:
    """The collector to which an Open vSwitch reports its flows."""

    target: str
    """Address and UDP port, "127.0.0.1:9996", as seen from the machine's root namespace."""
    _: KW_ONLY
    timeout_s: int = 600
    """The interval between reports of an active flow."""
    add_id: bool = False
    """Whether interface numbers include the switch's engine ID."""


@dataclass(frozen=True)
class SFlow:
    """The collector to which an Open vSwitch sends sampled packets and counters."""

    target: str
    _: KW_ONLY
    header_bytes: int = 128
    sampling: int = 400
    """One of `sampling` packets is sampled."""
    polling_s: int = 30
    """The interval between reports of counters."""


@dataclass(frozen=True)
class Switch(Node):
    """Forwards by MAC address: "bridge" learns by itself, "ovs" (Open vSwitch) may have controllers."""

    kind_of_node = "switch"

    kind: str = "bridge"
    """"bridge" (Linux) or "ovs" (Open vSwitch)."""
    dpid: str | None = None
    """Datapath identity, hexadecimal. None: by rule, the number in its name."""
    ip: str | None = None
    """Address of the switch itself, in the root namespace."""
    stp: bool = False
    """Whether it runs the spanning tree protocol, which a network with loops needs."""
    priority: int | None = None
    """Spanning tree priority (needs `stp`): the switch with the lowest becomes the root."""
    vlan_filtering: bool = False
    """Whether a bridge separates VLANs; it always does if one of its ports names a VLAN."""
    external_interfaces: tuple[str, ...] = ()
    """Interfaces of the computer that become ports of the switch."""

    # Of an Open vSwitch only:

    controllers: tuple[str, ...] = ()
    """Names of its controllers, which are nodes of the topology."""
    protocols: tuple[str, ...] = ()
    """The OpenFlow versions that it speaks: ("OpenFlow10", "OpenFlow13"). Empty: all."""
    fail_mode: str | None = None
    """The behaviour without a controller: "standalone" learns by itself, "secure" uses only the flows
    that it has. None: "secure" if it has controllers."""
    datapath: str = "kernel"
    """Where packets are forwarded: "kernel", or "user" (a user-space process)."""
    listen_port: int | None = None
    """TCP port in the root namespace where it accepts OpenFlow connections (`ovs-ofctl tcp:...`)."""
    netflow: NetFlow | None = None
    """NetFlow reports: `{target, timeout_s, add_id}`."""
    sflow: SFlow | None = None
    """sFlow reports: `{target, header_bytes, sampling, polling_s}`."""


@dataclass(frozen=True)
class Router(Node):
    """Forwards by IP address. Its addresses belong to its ports."""

    kind_of_node = "router"

    routes: tuple[str, ...] = ()
    """Arguments of `ip route add`: "10.0.2.0/24 via 10.0.1.2"."""
    frr: str | None = None
    """Text of a frr.conf; the FRRouting daemons that it needs run in this router."""
    external_interfaces: tuple[str, ...] = ()
    """Interfaces of the computer that are moved into this router."""
    cpu: float | Processor | None = None
    """Its processor, as a host's."""


@dataclass(frozen=True)
class Controller(Node):
    """An OpenFlow controller.

    "learning" (in files of other programs also "ref" and "ovsc") is ours and starts with the network in
    the machine's root namespace; "remote" is started by another program in the machine; "outside" runs
    on the user's computer; "inband" is reached through the switches' own ports.
    """

    kind_of_node = "controller"

    kind: str = "learning"
    """"learning", "remote", "outside" or "inband", as above."""
    protocol: str = "tcp"
    """"tcp" or "ssl"."""
    address: str = "127.0.0.1"
    """Address at which the switches reach it."""
    port: int = 6633
    """TCP port at which the switches reach it."""

    @property
    def is_ours(self) -> bool:
        """Whether it is started with the network."""
        return self.kind in ("learning", "ref", "ovsc")


def is_in_root(node: Node) -> bool:
    """Whether a node's ports are in the machine's root namespace."""
    return isinstance(node, Switch | Controller) or (isinstance(node, Host) and node.in_root)


def processor_of(
    node: Node, default: Processor | None, *, share: float | None = None
) -> Processor | None:
    """Return the processor of a node, or a share of it; None if its computing takes no time.

    `default` is that of its network, of which the node may have a share.
    """
    if not isinstance(node, Host | Router) or is_in_root(node):
        return None
    if isinstance(node.cpu, Processor):
        cpu: Processor | None = node.cpu
    else:
        cpu, share = default, node.cpu if share is None else share
    return None if cpu is None or cpu.is_free else cpu.share(share)


def cpu_share(node: Node) -> float | None:
    """Return the share of the network's processor that a node has; None if it is not limited."""
    if not isinstance(node, Host | Router) or isinstance(node.cpu, Processor):
        return None
    return node.cpu


@dataclass(frozen=True)
class Queue:
    """The queue of a busy link: a queueing discipline and its limit."""

    kind: str = "fifo"
    _: KW_ONLY
    limit_bytes: int | None = None
    limit_packets: int | None = None
    options: tuple[tuple[str, str], ...] = ()
    """More options of the discipline, as `tc` takes them: (("target", "5ms"), ("ecn", ""))."""


@dataclass(frozen=True, kw_only=True)
class Conditions:
    """The conditions for packets that leave through a port."""

    rate_bps: int | None = None
    delay_ns: int = 0
    jitter_ns: int = 0
    delay_correlation_fraction: float = 0.0
    distribution: str | None = None
    """The distribution of the jitter; None is uniform."""
    loss_fraction: float = 0.0
    loss_correlation_fraction: float = 0.0
    duplicate_fraction: float = 0.0
    corrupt_fraction: float = 0.0
    reorder_fraction: float = 0.0
    reorder_correlation_fraction: float = 0.0
    reorder_gap: int = 0
    queue: Queue | None = None
    trace: LinkTrace | None = None
    """Delivery opportunities, instead of a rate."""
    trace_once: bool = False
    """Whether the link stops at the end of the trace; otherwise the trace repeats."""
    schedule: Schedule | None = None
    """Changes of rate, delay, jitter and loss over time."""
    schedule_repeat_ns: int | None = None
    """The schedule repeats after this time, from the initial conditions above."""

    def states(self) -> tuple[tuple[int, Conditions], ...]:
        """Return (ns, conditions from then on), beginning at 0."""
        if self.schedule is None and self.schedule_repeat_ns is None:
            return ((0, self),)
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
    """The number in the interface's name (h1-eth0, s1-eth1). None: by rule."""
    name: str | None = None
    """The interface's name. None: by rule, NODE-ethNUMBER."""
    ip: str | None = None
    """Address with its prefix ("10.0.1.254/24"). A router has one on each port."""
    mac: str | None = None
    """MAC address. None: by rule."""
    speed_bps: int | None = None
    """Line rate of the wire out of this port. None: the machine's default; 0: unlimited."""
    mtu: int | None = None
    """The largest packet in bytes. None: 1500."""
    vlan: int | None = None
    """Switch ports only: the VLAN of untagged packets."""
    trunks: tuple[int, ...] = ()
    """Switch ports only: VLANs that pass tagged."""
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
    """The file a topology was read from, and the position of each field in it."""

    file: str = ""
    places: Mapping[str, str] = field(default_factory=dict, hash=False)
    """"nodes[0].ip" -> "hosts[0].opts.ip", or -> "line 7" """

    def place(self, path: str) -> str:
        """Return the position of a field in the file, or of the item that lacks the field."""
        while path not in self.places and "." in path:
            path = path.rpartition(".")[0]
        return self.places.get(path, "")


@dataclass(frozen=True, kw_only=True)
class Topology:
    """A whole network. Addresses and port numbers follow the order of nodes and links."""

    name: str = ""
    ip_base: str = "10.0.0.0/8"
    nodes: tuple[Node, ...] = ()
    links: tuple[Link, ...] = ()
    kernel: str = ""
    """The kernel to run on ("7.3"), unless the user names another one; "": any."""
    cpu: Processor | None = None
    """The processor of hosts and routers ("server-2019"), unless the user names one; None: any."""
    ipv6_base: str = ""
    """The network from which hosts also get an IPv6 address ("fd00::/64"); "": link-local ones only."""
    extra: Mapping[str, object] = field(default_factory=dict, hash=False)
    source: Source = field(default=Source(), compare=False, repr=False)

    def node(self, name: str) -> Node:
        """Return the node of that name; raise TopologyError if there is none."""
        try:
            return self._nodes_by_name[name]
        except KeyError:
            known = did_you_mean(name, self._nodes_by_name)
            problem = Problem("", f'there is no node "{name}"', known)
            raise TopologyError([problem], self.source.file) from None

    def ports(self, node: str) -> tuple[Port, ...]:
        """Return the ports of a node by number; those without one follow in link order."""
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
            name: tuple(sorted(of_node, key=lambda port: (port.number is None, port.number or 0)))
            for name, of_node in ports.items()
        }
