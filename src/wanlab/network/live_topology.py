"""The topology of a running network, and every change to it: nodes, links, conditions, speeds.

A change is a new topology. Its plan is compared with the plan before, the machine performs the
operations that were added, and the kernel's queues are read back and compared with the requested
conditions.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from wanlab.errors import CommandError, Problem, TopologyError, WanlabError, did_you_mean
from wanlab.operations import (
    ROOT,
    ChangeConditions,
    Operation,
    RemoveLink,
    RemoveNamespace,
    RunStartCommand,
    SetCpu,
    SetLinkState,
    StartOpportunities,
    StopController,
)
from wanlab.plan import plan
from wanlab.plan.change import reshape, schedule_changes
from wanlab.plan.shaping import shape_lines
from wanlab.topology import duplicate_warnings, ensure, gateway_warnings, loop_warnings
from wanlab.topology.model import (
    Controller,
    Link,
    Node,
    Port,
    Switch,
    Topology,
    is_in_root,
    processor_of,
)
from wanlab.topology.words import read_conditions
from wanlab.units import parse_rate

from .announcement import announcement
from .compatibility import compatibility_warnings
from .node import LiveNode
from .outside_connections import OutsideConnections, outside_controllers
from .process import ProcessLog
from .runtime import PartListener, Runtime
from .topology_diff import (
    added_operations,
    with_default_speed,
    with_elements,
    with_port,
    without_link,
    without_node,
)
from .verify import check_shaping


class LiveTopology:
    """The current topology and its plan.

    The plan is computed when this object is created, and performed when the network starts.
    """

    def __init__(
        self,
        topology: Topology,
        runtime: Runtime,
        process_log: ProcessLog,
        outside_connections: OutsideConnections,
    ) -> None:
        self.topology = topology
        self._runtime = runtime
        self._process_log = process_log
        self._outside_connections = outside_connections
        self.plan = self.plan_for(topology)
        self.warnings = [
            *compatibility_warnings(topology, runtime.options.clock, runtime.options.cpu),
            *duplicate_warnings(topology),
            *gateway_warnings(topology),
        ]
        self.nodes = {node.name: self._live_node(node) for node in topology.nodes}

    # -- nodes and ports --------------------------------------------------------------------------

    @property
    def ports(self) -> list[Port]:
        return [port for link in self.topology.links for port in link.ports]

    def node(self, name: str) -> LiveNode:
        """Return a node by its name; TopologyError if there is none."""
        try:
            return self.nodes[name]
        except KeyError:
            raise TopologyError(
                [Problem("", f'there is no node "{name}"', did_you_mean(name, self.nodes))]
            ) from None

    def port(self, name: str) -> Port:
        """Return a port by its name, "s1-eth2"; TopologyError if there is none."""
        ports = {port.name: port for port in self.ports if port.name}
        try:
            return ports[name]
        except KeyError:
            raise TopologyError(
                [Problem("", f'there is no port "{name}"', did_you_mean(name, ports))]
            ) from None

    def namespace_of(self, port: Port) -> str:
        return self.nodes[port.node].namespace

    def _live_node(self, node: Node) -> LiveNode:
        namespace = ROOT if is_in_root(node) else node.name
        return LiveNode(self._runtime, node.name, namespace, self._process_log)

    def _link(self, a: str, b: str) -> Link:
        for link in self.topology.links:
            if {link.a.node, link.b.node} == {a, b}:
                return link
        known = [f"{link.a.node}-{link.b.node}" for link in self.topology.links]
        raise TopologyError(
            [Problem("", f"there is no link {a}-{b}", did_you_mean(f"{a}-{b}", known))]
        )

    # -- plans ------------------------------------------------------------------------------------

    def plan_for(self, topology: Topology) -> tuple[Operation, ...]:
        """Return the operations that build a topology on this machine."""
        options = self._runtime.options
        if options.default_speed_bps is not None:
            topology = with_default_speed(topology, options.default_speed_bps)
        return plan(
            topology,
            wire=options.wire,
            nic=options.nic,
            sysctls=options.sysctls,
            cpu=options.cpu,
        )

    def set_cpu_share(self, name: str, share: float) -> None:
        namespace = self.node(name).namespace
        if namespace == ROOT:
            raise WanlabError(f"{name} has no processor", "hosts and routers have one")
        cpu = processor_of(self.topology.node(name), self._runtime.options.cpu, share=share)
        if cpu is None:
            raise WanlabError(
                f"{name} has no processor: its computing takes no time",
                'use cpu="server-2019", for example',
            )
        self._runtime.perform([SetCpu(namespace, cpu.table())])

    def add_warnings(self, warnings: Sequence[str]) -> None:
        """Note warnings that have not been noted before."""
        self.warnings += [warning for warning in warnings if warning not in self.warnings]

    def perform(
        self, operations: Sequence[Operation], on_part: PartListener = lambda count: None
    ) -> None:
        """Perform operations of the plan; `on_part` is called after each part of them.

        Start commands run in the working folder, as in MiniEdit. If one fails, that becomes a warning.
        """
        folder = self._runtime.options.guest_folder
        self._runtime.perform([o for o in operations if not o.may_fail], on_part)
        for operation in operations:
            if operation.may_fail:
                if isinstance(operation, RunStartCommand):
                    operation = replace(operation, folder=folder)
                try:
                    self._runtime.perform([operation])
                except CommandError as error:
                    self.add_warnings([error.what])

    def announce(self) -> None:
        """Let programs inside read the topology, unless this network runs inside another one."""
        if not self._runtime.options.traits.is_shared:
            self._runtime.perform([announcement(self.topology)])

    def allow_outside_connections(self) -> None:
        """Let programs connect to the topology's outside controllers and to `allow_connect`."""
        self._outside_connections.allow(
            [*outside_controllers(self.topology), *self._runtime.options.allow_connect]
        )

    # -- nodes and links --------------------------------------------------------------------------

    def add(self, *elements: Node | Link) -> None:
        port_count = len(self.ports)
        self._become(with_elements(self.topology, elements))
        self.verify(self.ports[port_count:])
        self.start_varying(self.ports[port_count:])

    def remove_link(self, port_name: str, *, keep_addresses: bool) -> None:
        port = self.port(port_name)
        self._runtime.perform([RemoveLink(self.namespace_of(port), port_name)])
        self._become(without_link(self.topology, port_name, keep_addresses=keep_addresses))

    def remove_node(self, name: str) -> None:
        operations: list[Operation] = [
            RemoveLink(self.namespace_of(port), str(port.name))
            for port in self.topology.ports(name)
        ]
        if self.node(name).namespace != ROOT:
            operations.append(RemoveNamespace(name))
        elif isinstance(node := self.topology.node(name), Switch):
            operations.append(RemoveLink(ROOT, name))
        elif isinstance(node, Controller) and (node.is_ours or node.kind == "outside"):
            operations.append(StopController(name))
        self._runtime.perform(operations)
        self._become(without_node(self.topology, name))

    def _become(self, topology: Topology) -> None:
        """Make `topology` the current one: perform the operations that its plan adds."""
        operations = self.plan_for(topology)
        added = added_operations(self.plan, operations)
        self.perform(added)
        self.plan = operations
        self._set_topology(topology)
        self.add_warnings(
            [
                *duplicate_warnings(topology),
                *gateway_warnings(topology),
                *loop_warnings(topology),
            ]
        )
        self.allow_outside_connections()
        self.announce()
        self.nodes = {node.name: self._live_node(node) for node in topology.nodes}

    def _set_topology(self, topology: Topology) -> None:
        self.topology = topology
        if self._runtime.recording is not None:
            self._runtime.recording.note_topology(topology)

    def restore(self, topology: Topology) -> None:
        """Take over the topology of a machine that a replay has brought to this instant."""
        self.topology = topology
        self.plan = self.plan_for(topology)
        self.nodes = {node.name: self._live_node(node) for node in topology.nodes}
        self.allow_outside_connections()
        for port in self.ports:
            if port.conditions.schedule is not None:
                changes = schedule_changes(self.namespace_of(port), port)
                passed_ns = self._runtime.now_ns
                later = (change for change in changes if change[0] > passed_ns)
                self._schedule_next(later, str(port.name))

    # -- conditions and states --------------------------------------------------------------------

    def set_link(self, a: str, b: str, words: Mapping[str, object]) -> None:
        for port in self._link(a, b).ports:
            self.set_port(str(port.name), words)

    def set_port(self, name: str, words: Mapping[str, object]) -> None:
        port = self.port(name)
        problems: list[Problem] = []
        conditions = read_conditions(
            words,
            port.conditions,
            lambda word, error: problems.append(Problem(f"{name}: {word}", error.what, error.hint)),
        )
        if problems:
            raise TopologyError(problems)
        changed = replace(port, conditions=conditions)
        topology = with_port(self.topology, changed)
        ensure(topology)
        _refuse_scheduled(port, changed)
        self._runtime.perform(reshape(self.namespace_of(port), port, changed))
        self._set_topology(topology)
        self.verify([changed])
        self.start_varying([changed])

    def set_link_up(self, a: str, b: str, up: bool) -> None:
        self._runtime.perform(
            [
                SetLinkState(self.namespace_of(port), str(port.name), up)
                for port in self._link(a, b).ports
            ]
        )

    def set_port_up(self, name: str, up: bool) -> None:
        self._runtime.perform([SetLinkState(self.namespace_of(self.port(name)), name, up)])

    def set_port_speed(self, name: str, speed: str | int) -> None:
        changed = replace(self.port(name), speed_bps=parse_rate(speed))
        self._become(with_port(self.topology, changed))

    # -- links that vary --------------------------------------------------------------------------

    def start_varying(self, ports: Sequence[Port]) -> None:
        """Start the traces and schedules of these ports. They count from the network's time 0."""
        if any(port.conditions.trace is not None for port in ports):
            self._runtime.perform([StartOpportunities(self._runtime.epoch_ns)])
        for port in ports:
            if port.conditions.schedule is not None:
                changes = schedule_changes(self.namespace_of(port), port)
                self._schedule_next(changes, str(port.name))

    def _schedule_next(
        self, changes: Iterator[tuple[int, ChangeConditions]], port_name: str
    ) -> None:
        """Set a timer for the next change, which sets the timer after it while the port exists."""
        change = next(changes, None)
        if change is None:
            return
        due_ns, operation = change

        def perform_change() -> None:
            if any(port.name == port_name for port in self.ports):
                self._runtime.perform([operation])
                self._schedule_next(changes, port_name)

        self._runtime.after(max(0, due_ns - self._runtime.now_ns), perform_change)

    # -- reading back -----------------------------------------------------------------------------

    def verify(self, ports: Sequence[Port]) -> None:
        """Compare the kernel's queues with the conditions of these ports; CommandError if they
        differ."""
        shaped = [(self.namespace_of(port), port) for port in ports if shape_lines(port)]

        def show_qdiscs(namespace: str) -> str:
            node = LiveNode(self._runtime, namespace, namespace)
            return node.run(["tc", "-j", "qdisc", "show"]).output

        check_shaping(shaped, show_qdiscs)


def _refuse_scheduled(before: Port, after: Port) -> None:
    """Raise TopologyError if a change would interfere with a schedule."""
    if before.conditions.schedule or after.conditions.schedule:
        what = "its conditions follow a schedule, and cannot be changed by hand"
        hint = "write the change into the schedule, or leave the schedule out"
        raise TopologyError([Problem(f"port {before.name}", what, hint)])
