"""A live network: a topology in a machine.

    with Network(topology, seed=1) as net:
        server = net["h2"].start("iperf3 -s")
        print(net["h1"].run("ping -c 3 h2").output)
        net.run_for("10s")

Time passes only when asked: in `run_for`, `run_until`, `run`, `wait`. On the real clock these wait
for it; between them it passes all the same.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from wanlab.errors import CommandError, Problem, RequirementError, TopologyError, did_you_mean
from wanlab.machine import (
    READY_NS,
    AgentFailure,
    Clock,
    Machine,
    MachineKind,
)
from wanlab.machine.here import is_inside, read_about
from wanlab.notebook import time_line
from wanlab.operations import (
    ROOT,
    Operation,
    RemoveLink,
    RemoveNamespace,
    SetLinkState,
    StopController,
)
from wanlab.plan import Wire, plan, settling_point
from wanlab.plan.change import reshape
from wanlab.plan.native import KernelFeatures, native, native_warnings, refuse_nics, refuse_traces
from wanlab.plan.shaping import shape_lines
from wanlab.topology import ensure, resolve
from wanlab.topology.model import Controller, Link, Node, Port, Switch, Topology, is_in_root
from wanlab.topology.nic import Nic, read_nic
from wanlab.topology.words import read_conditions
from wanlab.units import parse_rate, parse_size, parse_time

from .appointments import Appointment, Appointments
from .attached import announced, announcement, places_of
from .fitness import cautions, look_for_programs, refuse_unfit
from .growth import addition, beyond, with_speed, without_link, without_node
from .host_service import HostService
from .limits import dropped_at_ports, dropped_packets, memory_limits, neighbour_limits, warnings_of
from .machines import (
    Needs,
    is_native,
    look_at_kernel,
    settle_choices,
    start_machine,
    take_interfaces,
)
from .node import LiveNode
from .outside import Outside, outside_of, read_address
from .varying import refuse_scheduled, start_varying
from .verify import check_shaping

if TYPE_CHECKING:
    from wanlab.record import Provenance

    from .process import Process

FOREVER_NS = (1 << 62) - 1
BASE_MEMORY_BYTES = 2 << 30
NODE_MEMORY_BYTES = 2 << 20
SECOND_NS = 1_000_000_000
STOP_COMMAND_LIMIT = "60s"


class Network:
    """Made live by entering it; gone when left, with everything that ran in it.

    machine     "embedded": our own kernel, booted for it. "native": the computer's own kernel.
                "here": the machine that this program runs in (default in there, otherwise embedded).
    clock       "virtual": time passes only when asked, and results do not depend on the computer.
                "real": the computer's. "native" has no other, "here" has what it has.
    wire        "mtu": every packet at most one MTU, as on a real wire. "gso": up to 64 KB, as veth.
    nic         the card of every host and router whose port says nothing else:
                {"tso": "off", "gro": "on", "coalescing": "50us"}, or a Nic.
    seed        of all random numbers in the machine's kernel.
    folder      the working folder: the one place that programs share with you. Default: the current.
    guest_folder
                where programs in the embedded machine see the working folder, if not at its own path.
    sysctls     kernel parameters of every node.
    line_rate   of the wire out of every port that has no speed of its own; 0 is no limit.
    memory      of the machine; by default it follows the number of nodes.
    allow_connect
                addresses that programs inside may connect to from your computer: ["127.0.0.1:6653"].
                Otherwise they reach only controllers that the topology marks as "outside".
    visible_folders
                folders below /tmp, /run or /dev that programs may read: a machine has its own there.
                The rest of your computer is visible in any case.
    """

    def __init__(
        self,
        topology: Topology,
        *,
        machine: MachineKind | None = None,
        clock: Clock | None = None,
        wire: Wire | None = None,
        nic: Nic | Mapping[str, Any] | None = None,
        seed: int | None = None,
        folder: str | Path = ".",
        guest_folder: str = "",
        sysctls: Mapping[str, str] | None = None,
        memory: str | int | None = None,
        line_rate: str | int | None = None,
        allow_connect: Sequence[str] = (),
        visible_folders: Sequence[str | Path] = (),
    ) -> None:
        self.topology = resolve(ensure(topology))
        self.machine_kind: MachineKind = machine or ("here" if is_inside() else "embedded")
        asked: dict[str, Any] = {"clock": clock, "seed": seed, "wire": wire, "nic": nic}
        asked["line_rate_bps"] = None if line_rate is None else parse_rate(line_rate)
        asked["memory"] = memory
        given = settle_choices(self.machine_kind, asked)
        self.clock: Clock = given["clock"]
        self.wire: Wire = given["wire"]
        self.nic = read_nic(given["nic"])
        self.seed: int | None = given["seed"]
        self.line_rate_bps: int = given["line_rate_bps"]
        self._may_reach = [read_address(text) for text in allow_connect]
        self.sysctls = dict(sysctls or {})
        self._is_native = is_native(self.machine_kind)
        self._kernel: KernelFeatures | None = None
        self._dropped_before = 0
        refuse_unfit(self.topology, self.machine_kind, self.clock)
        self.plan = self._plan(self.topology)
        self.folder = _absolute(Path(folder))
        is_elsewhere = guest_folder and self.machine_kind == "embedded"
        self.guest_folder = guest_folder if is_elsewhere else str(self.folder)
        self._visible_folders = tuple(str(_absolute(Path(one))) for one in visible_folders)
        self.warnings: list[str] = list(cautions(self.topology, self.clock))
        self._memory_bytes = (
            BASE_MEMORY_BYTES + NODE_MEMORY_BYTES * len(self.topology.nodes)
            if memory is None
            else parse_size(memory)
        )
        self._machine: Machine | None = None
        self._is_attached = False
        self._epoch_ns = 0
        self.commands: list[str] = []
        """What was started in the nodes, in order, as one would type it: "h1$ iperf3 -c h3"."""
        self.on_process: Callable[[Process], None] | None = None
        """Called with each process that a node has started."""
        self.on_time: Callable[[int, int | None], None] | None = None
        """Called again and again while time passes: what the clock shows, and until when if known; at
        the end once with both the same."""
        self._appointments = Appointments()
        self._is_paced = False
        self._outside = Outside(self._pace_for_others)
        self.host_service = HostService()
        """Who answers what programs in the machine ask of this side, by what is asked for."""
        self._nodes = {node.name: self._live(node) for node in self.topology.nodes}
        self.root = LiveNode(self, "root", ROOT)
        """The machine's root namespace: switch ports are there; the course's "client" terminal."""

    def _plan(self, topology: Topology) -> tuple[Operation, ...]:
        if self.machine_kind == "here" and self.line_rate_bps != read_about()["line_rate_bps"]:
            topology = with_speed(topology, self.line_rate_bps)
        if self._is_native:
            refuse_nics(topology, self.wire, self.nic)
            refuse_traces(topology)
        operations = plan(topology, wire=self.wire, nic=self.nic, sysctls=self.sysctls)
        return native(operations, self.wire, self._kernel) if self._is_native else operations

    def _check_kernel(self, operations: tuple[Operation, ...]) -> None:
        """On the computer's own kernel: whether it can do all that, and what to know about it."""
        if self._is_native:
            self._kernel = look_at_kernel(self.machine, operations)
            warnings = native_warnings(operations, self.wire, self._kernel)
            self.warnings += [warning for warning in warnings if warning not in self.warnings]

    @classmethod
    def attach(cls) -> Network:
        """Inside a machine: the network that it was started with. It goes on when this one is left."""
        network = cls(announced(), machine="here")
        network._is_attached = True
        return network

    def _live(self, node: Node) -> LiveNode:
        namespace = ROOT if is_in_root(node) else node.name
        return LiveNode(self, node.name, namespace)

    # -- life -------------------------------------------------------------------------------------

    def __enter__(self) -> Network:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            if kind is None and not self._is_attached:
                self._run_stop_commands()
        finally:
            self.stop()

    def _run_stop_commands(self) -> None:
        for node in self.topology.nodes:
            if node.stop_command:
                self[node.name].run(node.stop_command, timeout=STOP_COMMAND_LIMIT)

    def start(self) -> None:
        """Boots the machine, performs the plan, and begins at time 0."""
        assert self._machine is None, "the network has been started already"
        self.on_time = self.on_time or time_line()
        look_for_programs(self.topology)
        machine = start_machine(
            self.machine_kind,
            Needs(
                folder=self.folder,
                guest_folder=self.guest_folder,
                visible_folders=self._visible_folders,
                clock=self.clock,
                seed=self.seed,
                memory_bytes=self._memory_bytes,
                line_rate_bps=self.line_rate_bps,
                wire=self.wire,
                nic=self.nic,
            ),
        )
        self._machine = machine
        self.host_service.attach(machine.channel)
        self._reach_outside()
        try:
            if self._is_attached:
                machine.agent.adopt(places_of(self.topology))
                return
            # How long the agent took to start depends on the computer: what follows must not. A machine
            # that runs already, and has nothing to settle, loses no time.
            settles = self.clock == "virtual" and (
                self.machine_kind == "embedded" or bool(self.topology.nodes)
            )
            if settles:
                machine.run(SECOND_NS, lambda: False)
            if self.machine_kind == "embedded":
                self.perform(memory_limits(self._memory_bytes) + neighbour_limits())
            if self._is_native:  # its plan depends on what the kernel has
                self._check_kernel(self.plan)
                self.plan = self._plan(self.topology)
            take_interfaces(machine, self.plan)
            before, after = self._halves_of_plan()
            self.perform(before)
            if settles:
                machine.run(max(machine.now_ns, READY_NS - SECOND_NS), lambda: False)
            self.perform(after)
            self._verify()
            self._announce()
            if self._is_native:  # its kernel carries others, too
                self._dropped_before = self._dropped()
            self._epoch_ns = max(READY_NS, -(-machine.now_ns // SECOND_NS) * SECOND_NS)
            if not settles:
                self._epoch_ns = machine.now_ns
            start_varying(self, self._ports(), self._epoch_ns)
            if settles:
                machine.run(self._epoch_ns, lambda: False)
        except BaseException:
            self.stop()
            raise

    def _announce(self) -> None:
        if self.machine_kind != "here":
            self.perform([announcement(self.topology)])

    def _halves_of_plan(self) -> tuple[tuple[Operation, ...], tuple[Operation, ...]]:
        """What is done before the nodes settle, and after that."""
        middle = settling_point(self.plan)
        return self.plan[:middle], self.plan[middle:]

    def stop(self) -> None:
        """Ends the machine and everything in it. Nothing is left behind."""
        if self._machine is not None:
            self._machine.close()
            self._machine = None
        self._outside.close()

    @property
    def is_running(self) -> bool:
        return self._machine is not None

    @property
    def machine(self) -> Machine:
        if self._machine is None:
            raise CommandError(
                "the network is not running", "use it inside `with Network(...) as net:`"
            )
        return self._machine

    @property
    def environment(self) -> dict[str, str]:
        """What every process starts with."""
        assert self._machine is not None
        return self._machine.environment

    def pace_to_real(self, wanted: bool = True) -> None:
        """On virtual time: never faster than the real clock, for people who watch."""
        assert self._machine is not None
        self._is_paced = wanted
        self._machine.pace_to_real(wanted or self._outside.is_reached)

    def _pace_for_others(self) -> None:
        """Controllers on the user's computer live on the real clock."""
        if self._machine is not None:
            self._machine.pace_to_real(self._outside.is_reached or self._is_paced)

    def _reach_outside(self) -> None:
        self._outside.allowed = {*outside_of(self.topology), *self._may_reach}
        if self._outside.allowed:
            self.host_service["connect"] = self._outside.take
            self.machine.channel.serve = self._outside.serve

    def end_stalled_process(self) -> None:
        """Kills the process that computes without a pause and so keeps virtual time from passing. May be
        called from a signal handler while time does not pass."""
        assert self._machine is not None
        self._machine.end_stalled_process()

    # -- nodes and ports --------------------------------------------------------------------------

    def __getitem__(self, name: str) -> LiveNode:
        try:
            return self._nodes[name]
        except KeyError:
            raise TopologyError(
                [Problem("", f'there is no node "{name}"', did_you_mean(name, self._nodes))]
            ) from None

    def port(self, name: str) -> Port:
        """A port by its name, "s1-eth2"."""
        ports = {p.name: p for link in self.topology.links for p in link.ports if p.name}
        try:
            return ports[name]
        except KeyError:
            raise TopologyError(
                [Problem("", f'there is no port "{name}"', did_you_mean(name, ports))]
            ) from None

    def namespace_of(self, port: Port) -> str:
        return self._nodes[port.node].namespace

    # -- time -------------------------------------------------------------------------------------

    @property
    def now_ns(self) -> int:
        """Time since the network began."""
        return self.machine.now_ns - self._epoch_ns

    def run_for(self, duration: str | int) -> None:
        """Lets time pass: "10s", "250ms", or ns."""
        self.run_until(self.now_ns + parse_time(duration))

    def run_until(self, time: str | int) -> None:
        """Lets time pass until the network's clock shows `time`; at once if it does already."""
        time_ns = parse_time(time)
        if time_ns > self.now_ns:
            self._pass_time(time_ns + self._epoch_ns, lambda: False)

    def run_until_condition(
        self, condition: Callable[[], bool], limit_ns: int | None = None
    ) -> None:
        """Lets time pass until `condition`, which is asked whenever a process has said something."""
        until_ns = FOREVER_NS if limit_ns is None else self.machine.now_ns + limit_ns
        self._pass_time(until_ns, condition)

    def after(
        self, delay: str | int, action: Callable[..., Any], *arguments: Any, **words: Any
    ) -> Appointment:
        """Does something when this much time will have passed, whatever lets it pass:

            net.after("2s", net.set_link_up, "s1", "s2", False)
            net["h1"].run("ping -c 5 h2")

        What it raises comes out of there. `cancel()` of what is returned takes it back."""
        due_ns = self.machine.now_ns + parse_time(delay)
        return self._appointments.make(due_ns, partial(action, *arguments, **words))

    def _pass_time(self, until_ns: int, condition: Callable[[], bool]) -> None:
        end_ns = None if until_ns == FOREVER_NS else until_ns - self._epoch_ns

        def is_over() -> bool:
            if self.on_time is not None:
                self.on_time(self.now_ns, end_ns)
            return condition()

        self._appointments.pass_time(self.machine, until_ns, is_over)
        if self.on_time is not None:
            self.on_time(self.now_ns, self.now_ns)

    # -- growth -----------------------------------------------------------------------------------

    def add(self, *things: Node | Link) -> None:
        """Adds nodes and links to the running network. Switches learn of their new ports at once."""
        known = len(self._ports())
        self._become(addition(self.topology, things))
        self._verify_ports(self._ports()[known:])
        start_varying(self, self._ports()[known:], self._epoch_ns)

    def remove_link(self, port: str) -> None:
        """Takes away the link that has a port of this name."""
        found = self.port(port)
        self.perform([RemoveLink(self.namespace_of(found), port)])
        self._become(without_link(self.topology, port))

    def remove_node(self, name: str) -> None:
        """Takes away a node with its links and its processes."""
        operations: list[Operation] = [
            RemoveLink(self.namespace_of(port), str(port.name))
            for port in self.topology.ports(name)
        ]
        if self[name].namespace != ROOT:
            operations.append(RemoveNamespace(name))
        elif isinstance(node := self.topology.node(name), Switch):
            operations.append(RemoveLink(ROOT, name))
        elif isinstance(node, Controller) and (node.is_ours or node.kind == "outside"):
            operations.append(StopController(name))
        self.perform(operations)
        self._become(without_node(self.topology, name))

    def _become(self, topology: Topology) -> None:
        operations = self._plan(topology)
        self._check_kernel(operations)
        new = beyond(self.plan, operations)
        take_interfaces(self.machine, new)
        self.perform(new)
        self.plan = operations
        self.topology = topology
        self._reach_outside()
        self._announce()
        self._nodes = {node.name: self._live(node) for node in topology.nodes}

    # -- change -----------------------------------------------------------------------------------

    def set_link(self, a: str, b: str, **words: Any) -> None:
        """Changes conditions of the link between two nodes, both directions: rate="10Mbps",
        delay="20ms", loss="1%", queue="fq_codel", ... What is not named stays."""
        link = self._link(a, b)
        for port in link.ports:
            self.set_port(str(port.name), **words)

    def set_port(self, name: str, **words: Any) -> None:
        """Changes conditions of what leaves through one port; what is not named stays."""
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
        topology = _with_port(self.topology, changed)
        ensure(topology)
        refuse_scheduled(port, changed)
        self.perform(reshape(self.namespace_of(port), port, changed))
        self.topology = topology
        self._verify_ports([changed])
        start_varying(self, [changed], self._epoch_ns)

    def set_link_up(self, a: str, b: str, up: bool) -> None:
        """Takes the link between two nodes down, or up again; addresses and routes stay."""
        link = self._link(a, b)
        self.perform([SetLinkState(self.namespace_of(p), str(p.name), up) for p in link.ports])

    def set_port_speed(self, name: str, speed: str | int) -> None:
        """Changes the line rate of the wire out of one port; 0 is no limit."""
        changed = replace(self.port(name), speed_bps=parse_rate(speed))
        self._become(_with_port(self.topology, changed))

    def set_port_up(self, name: str, up: bool) -> None:
        """The same for one end of a link: pulls the plug there."""
        self.perform([SetLinkState(self.namespace_of(self.port(name)), name, up)])

    def _link(self, a: str, b: str) -> Link:
        for link in self.topology.links:
            if {link.a.node, link.b.node} == {a, b}:
                return link
        known = [f"{link.a.node}-{link.b.node}" for link in self.topology.links]
        raise TopologyError(
            [Problem("", f"there is no link {a}-{b}", did_you_mean(f"{a}-{b}", known))]
        )

    def perform(self, operations: tuple[Operation, ...] | list[Operation]) -> None:
        """Performs operations in order. CommandError names the one that failed and what it means."""
        try:
            self.machine.agent.perform(operation.request() for operation in operations)
        except AgentFailure as failure:
            if failure.index is None:
                raise
            failed = operations[failure.index]
            raise CommandError(
                f"{failed.describe()}: {failure.what}", output="\n".join(failed.commands())
            ) from None

    # -- what a record needs to know ---------------------------------------------------------------

    def provenance(
        self,
        *,
        commands: Sequence[str] | None = None,
        parameters: Mapping[str, Any] | None = None,
    ) -> Provenance:
        """The origin of what is measured here; looks for silent limits first. `commands` are all that
        were started, unless you give others."""
        from .provenance import provenance_of

        self._look_for_silent_limits()
        return provenance_of(self, commands=commands, parameters=parameters)

    def _look_for_silent_limits(self) -> None:
        """What held the network back without any queue counting it is a warning in the record."""
        namespaces = list(dict.fromkeys(node.namespace for node in self._nodes.values()))
        netstats = self.read([["file", name, "/proc/net/netstat"] for name in namespaces])
        texts = {name: text.decode() for name, text in zip(namespaces, netstats, strict=True)}
        for warning in warnings_of(self._dropped(namespaces) - self._dropped_before, texts):
            if warning not in self.warnings:
                self.warnings.append(warning)

    def _dropped(self, namespaces: Sequence[str] = ()) -> int:
        """Packets that no queue has counted. Our own kernel's ports have room for all."""
        sources = [["file", ROOT, "/proc/net/softnet_stat"]]
        if self._is_native:
            sources += [["file", name, "/proc/net/dev"] for name in namespaces]
        softnet, *devices = (part.decode() for part in self.read(sources))
        return dropped_packets(softnet) + sum(map(dropped_at_ports, devices))

    # -- looking ----------------------------------------------------------------------------------

    def are_busy(self, processes: Sequence[Process]) -> list[bool]:
        """Of each, whether it does something. A shell that waits for a line in its terminal does not,
        unless something of its own runs in the background. Looking takes some 20 us of virtual time."""
        return self.machine.agent.are_busy([process.number for process in processes])

    def read(self, sources: Sequence[Sequence[object]]) -> list[bytes]:
        """Counters at this instant; see `agent.counters`."""
        data = self.machine.agent.read(sources)
        parts, position = [], 0
        while position < len(data):
            length = int.from_bytes(data[position : position + 4], "little")
            parts.append(data[position + 4 : position + 4 + length])
            position += 4 + length
        return parts

    def _ports(self) -> list[Port]:
        return [port for link in self.topology.links for port in link.ports]

    def _verify(self) -> None:
        self._verify_ports(self._ports())

    def _verify_ports(self, ports: list[Port]) -> None:
        shaped = [(self.namespace_of(port), port) for port in ports if shape_lines(port)]

        def show(namespace: str) -> str:
            ours = LiveNode(self, namespace, namespace, is_noted=False)
            return ours.run(["tc", "-j", "qdisc", "show"]).output

        check_shaping(shaped, show)


def _absolute(folder: Path) -> Path:
    try:
        return folder.resolve()
    except FileNotFoundError:
        raise RequirementError(
            f"working folder {folder}: the folder that you are in does not exist any more",
            "change to another one",
        ) from None


def _with_port(topology: Topology, changed: Port) -> Topology:
    def put(port: Port) -> Port:
        return changed if port.name == changed.name else port

    links = tuple(replace(link, a=put(link.a), b=put(link.b)) for link in topology.links)
    return replace(topology, links=links)
