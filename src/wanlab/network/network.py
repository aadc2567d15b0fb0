"""A live network: a topology in a machine.

    with Network(topology, seed=1) as net:
        server = net["h2"].start("iperf3 -s")
        print(net["h1"].run("ping -c 3 h2").output)
        net.run_for("10s")

On virtual time, time passes only in calls that ask for it: `run_for`, `run_until`, `run`, `wait`.
On the real clock these calls wait, and time passes between them, too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, ParamSpec, Self, Unpack

from wanlab.errors import RequirementError, WanlabError
from wanlab.machine import Clock, Machine, MachineKind
from wanlab.machine.guest_environment import required_folders
from wanlab.notebook import time_line
from wanlab.operations import ROOT, Operation
from wanlab.plan import Wire
from wanlab.topology import ConditionWords, ensure, load, resolve
from wanlab.topology.cpu import Processor
from wanlab.topology.model import Link, Node, Port, Topology
from wanlab.topology.nic import Nic
from wanlab.units import format_time, parse_time

from .announcement import read_announcement
from .compatibility import refuse_incompatible
from .host_service import HostService
from .kernel_limits import SilentDrops
from .live_session import LiveSession, replaying_network
from .live_topology import LiveTopology
from .node import LiveNode
from .options import NetworkOptions
from .outside_connections import OutsideConnections
from .process import Process, ProcessLog, failed_program_warnings
from .runtime import Runtime, TimeListener
from .startup import ProgressListener, Startup
from .timers import Timer

if TYPE_CHECKING:
    from wanlab.record import Provenance
    from wanlab.session import RecordedSession

    from .replay import OnOutput

STOP_COMMAND_LIMIT = "60s"

Arguments = ParamSpec("Arguments")


class Network:
    """A network that runs inside its `with` block; everything in it ends with the block.

    topology    a Topology, or the path of its file.
    machine     "embedded": our own kernel, booted for it.
                "here": the machine that this program runs in. Default: "here" if there is one.
    clock       "virtual": time passes only when asked, and results do not depend on the computer.
                "real": the computer's clock. "here": its machine's clock.
    wire        "mtu": every packet has at most one MTU, as on a real wire.
                "gso": up to 64 KB, as on veth.
    nic         the NIC of hosts and routers where the topology sets none: a Nic, or
                {"tso": "off", "gro": "on", "coalescing": "50us"}.
    cpu         the processor of hosts and routers: "free" (computing takes no time), the name of a model
                or its file, or {"model": "server-2019", "cores": 2, "speed": 0.1}. Default: "free".
    seed        of all random numbers in the machine's kernel.
    folder      the working folder, which programs share with you. Default: the current folder.
    guest_folder
                where programs in the embedded machine see the working folder. Default: the same path.
    sysctls     kernel parameters of every node.
    line_rate   the speed of ports where the topology sets none; 0 means no limit.
    memory      of the machine. Default: 2 GiB, and 2 MiB for each node.
    allow_connect
                addresses that programs inside may connect to: ["127.0.0.1:6653"] of your computer.
                Otherwise they reach only controllers that the topology marks as "outside".
    visible_folders
                your folders below /tmp, /run or /dev that programs may read. (A machine has its own
                /tmp, /run and /dev. The rest of your computer is visible in any case.)
    session     a file that records all input and output of the machine: see `Network.replay`. With
                True the session is kept without a file, for `session.rewind` and `session.branch`;
                inside a machine True has no effect.
    kernel      of the embedded machine: "6.12", "7.3", a variant of your own (`wanlab kernel list`),
                or the folder of an image. Default: --kernel or WANLAB_KERNEL, then the topology's.
    traps       how the embedded machine's kernel takes over system calls: "ptrace", "inprocess" or
                "seccomp". It decides how fast a run is and who protects the kernel, not its results.
                Default: --traps or WANLAB_TRAPS, then the best mode that is possible.
    """

    def __init__(
        self,
        topology: Topology | str | Path,
        *,
        machine: MachineKind | None = None,
        clock: Clock | None = None,
        wire: Wire | None = None,
        nic: Nic | Mapping[str, object] | None = None,
        cpu: Processor | str | Mapping[str, object] | None = None,
        seed: int | None = None,
        folder: str | Path = ".",
        guest_folder: str = "",
        sysctls: Mapping[str, str] | None = None,
        memory: str | int | None = None,
        line_rate: str | int | None = None,
        allow_connect: Sequence[str] = (),
        visible_folders: Sequence[str | Path] = (),
        session: str | Path | bool = False,
        kernel: str | None = None,
        traps: str | None = None,
    ) -> None:
        if isinstance(topology, str | Path):
            topology = load(topology)
        topology = resolve(ensure(topology))
        options = NetworkOptions.resolved(
            node_count=len(topology.nodes),
            machine=machine,
            clock=clock,
            wire=wire,
            nic=nic,
            cpu=cpu,
            seed=seed,
            folder=folder,
            guest_folder=guest_folder,
            sysctls=sysctls,
            memory=memory,
            line_rate=line_rate,
            allow_connect=allow_connect,
            visible_folders=visible_folders,
            kernel=kernel,
            kernel_of_topology=topology.kernel,
            cpu_of_topology=topology.cpu,
            traps=traps,
        )
        refuse_incompatible(topology, options.clock)
        self.host_service = HostService()
        """Handlers for the requests of programs in the machine."""
        self._runtime = Runtime(options)
        self._process_log = ProcessLog()
        self._outside_connections = OutsideConnections(self._runtime, self.host_service)
        self._live = LiveTopology(
            topology, self._runtime, self._process_log, self._outside_connections
        )
        self._silent_drops = SilentDrops(self._runtime)
        self._is_attached = False
        self.on_building: ProgressListener = lambda done, of: None
        """Called while the network is built, with the operations performed and all operations."""
        self.root = LiveNode(self._runtime, "root", ROOT, self._process_log)
        """The machine's root namespace, which holds the switch ports. The course's "client" terminal
        runs there."""
        self.session: LiveSession[Network] = LiveSession(
            self,
            self._runtime,
            self._live,
            self._process_log,
            self._outside_connections,
            session,
        )
        """Records the session, and goes back in time: `net.session.rewind("10s")`."""

    @classmethod
    def attach(cls) -> Network:
        """Inside a machine: return the network that it was started with.

        That network keeps running when the returned handle is closed.
        """
        # The machine may run another kernel than the topology names: --kernel takes precedence.
        network = cls(replace(read_announcement(), kernel=""), machine="here")
        network._is_attached = True
        return network

    @classmethod
    def replay(
        cls,
        session: str | Path | RecordedSession,
        *,
        until: str | int | None = None,
        folder: str | Path | None = None,
        record: str | Path | bool = False,
        anyway: bool = False,
        speed: float | None = None,
        on_output: OnOutput | None = None,
        kernel: str = "",
        traps: str | None = None,
    ) -> Self:
        """Return a network that replays a session, up to `until` on its clock, when it starts.

        After that, it can be used like any other network.

            with Network.replay("ping.wanlab", until="5s") as net:
                net.set_link("s1", "s2", loss="5%")
                net.run_for("10s")

        folder     an empty folder to work in; by default a temporary one, which is removed when the
                   network stops
        record     a file for the whole session, the replayed part included; True: no file
        anyway     accept another kernel, on which the session may run differently
        speed      at most this many seconds of the network per real second
        on_output  called with the output of processes during the replay
        kernel     the default kernel, which replays its own sessions and those of kernels not known here
        traps      as in Network; a session that was recorded in one mode can be replayed in another

        SessionError or RequirementError if this computer cannot replay the session.
        """
        from . import branching

        goal = branching.replay_goal(
            session, until, anyway=anyway, speed=speed, on_output=on_output, kernel=kernel
        )
        return replaying_network(cls, goal, folder=folder, record=record, traps=traps)

    # -- properties -------------------------------------------------------------------------------

    @property
    def options(self) -> NetworkOptions:
        """What the user chose, and the machine's defaults for the rest."""
        return self._runtime.options

    @property
    def topology(self) -> Topology:
        return self._live.topology

    @property
    def plan(self) -> tuple[Operation, ...]:
        """The operations that build the topology as it is now."""
        return self._live.plan

    @property
    def machine_kind(self) -> MachineKind:
        return self.options.machine_kind

    @property
    def clock(self) -> Clock:
        return self.options.clock

    @property
    def wire(self) -> Wire:
        return self.options.wire

    @property
    def cpu(self) -> Processor | None:
        """The processor of hosts and routers; None: computing takes no time."""
        return self.options.cpu

    @property
    def seed(self) -> int | None:
        return self.options.seed

    @property
    def folder(self) -> Path:
        return self.options.folder

    @property
    def line_rate_bps(self) -> int:
        return self.options.line_rate_bps

    # -- start and stop ---------------------------------------------------------------------------

    def __enter__(self) -> Network:
        if not self.is_running:
            self.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            if kind is None and not self._is_attached:
                self._run_stop_commands()
                with suppress(WanlabError):  # the machine may have ended before
                    self._look_for_warnings()
        finally:
            self.stop()

    def start(self) -> None:
        """Boot the machine, perform the plan, and begin at time 0."""
        self.on_time = self.on_time or time_line()
        startup = Startup(
            self._runtime, self._live, self.host_service, self._silent_drops, self.on_building
        )
        self.session.begin()
        try:
            startup.boot()
            if self.session.goal is not None:
                self.session.perform_again()
            elif self._is_attached:
                startup.adopt_nodes()
            else:
                startup.build()
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """End the machine and everything in it."""
        self._runtime.close()
        self._outside_connections.close()
        self.session.remove_own_folder()

    def _run_stop_commands(self) -> None:
        for node in self.topology.nodes:
            if node.stop_command:
                self[node.name].run(node.stop_command, timeout=STOP_COMMAND_LIMIT)

    @property
    def is_running(self) -> bool:
        return self._runtime.is_running

    @property
    def machine(self) -> Machine:
        """The machine; CommandError if the network is not running."""
        return self._runtime.machine

    @property
    def environment(self) -> dict[str, str]:
        """The environment variables that every process starts with."""
        return self.machine.environment

    def end_stalled_process(self) -> None:
        """Kill the process that computes without a pause and so keeps virtual time from passing.

        May be called from a signal handler.
        """
        self.machine.end_stalled_process()

    def kill(self) -> None:
        """End the machine at once, whatever it is doing; `stop` is still needed.

        May be called from another thread. Calls underway raise MachineError.
        """
        self.machine.kill()

    # -- nodes and processes ----------------------------------------------------------------------

    def __getitem__(self, name: str) -> LiveNode:
        """Return a node by its name; TopologyError if there is none."""
        return self._live.node(name)

    def port(self, name: str) -> Port:
        """Return a port by its name, "s1-eth2"; TopologyError if there is none."""
        return self._live.port(name)

    def namespace_of(self, port: Port) -> str:
        return self._live.namespace_of(port)

    @property
    def commands(self) -> list[str]:
        """The commands that were started in nodes, in order, as one would type them: "h1$ iperf3 -c
        h3"."""
        return self._process_log.commands

    @property
    def on_process(self) -> Callable[[Process], None] | None:
        """Called with each process that a node has started."""
        return self._process_log.on_process

    @on_process.setter
    def on_process(self, listener: Callable[[Process], None] | None) -> None:
        self._process_log.on_process = listener

    def are_busy(self, processes: Sequence[Process]) -> list[bool]:
        """Return for each process whether it is doing something; takes some 20 us of virtual time.

        A shell that waits for a line in its terminal is not busy, unless one of its own processes
        runs in the background.
        """
        return self.machine.agent.are_busy([process.number for process in processes])

    # -- programs of others -----------------------------------------------------------------------

    def confine_programs(self, home: str = "", hidden: Sequence[str | Path] = ()) -> None:
        """Start every program in a sandbox from now on, until `end_confinement`.

        Programs in it can change nodes, links and kernel parameters like any other program, but their
        changes to files are discarded when the sandbox ends. They see the computer's programs and the
        working folder, which also appears at `home`. `hidden` names further paths to hide.
        RequirementError unless the machine is embedded and in ptrace mode: in the others, programs
        could take over its kernel.
        """
        if self.options.traits.is_shared:
            raise RequirementError(
                "programs can be confined only in the embedded machine",
                "start the network from outside",
            )
        if not self.machine.traits.protects_kernel:
            raise RequirementError(
                "programs cannot be confined in a machine that runs without ptrace",
                'start it with traps="ptrace"',
            )
        folder = self.options.guest_folder
        visible = [*required_folders(), *self.options.visible_folders]
        self.machine.agent.confine(folder, home or folder, visible, [str(p) for p in hidden])

    def end_confinement(self) -> None:
        """Kill everything that runs in the sandbox; start programs outside of it again."""
        self.machine.agent.end_confinement()

    def program_files(self, names: Sequence[str]) -> list[dict[str, str]]:
        """Return the path of each program in the machine, and the SHA-256 of its file."""
        return self.machine.agent.program_files(names, self.environment["PATH"])

    def changed_programs(self, programs: Sequence[dict[str, str]]) -> list[str]:
        """Return the paths of programs and of their libraries that differ in the sandbox."""
        return self.machine.agent.changed_programs(programs, self.environment["PATH"])

    # -- time -------------------------------------------------------------------------------------

    @property
    def now_ns(self) -> int:
        """Time since the network began."""
        return self._runtime.now_ns

    @property
    def on_time(self) -> TimeListener | None:
        """Called repeatedly while time passes, with the network's time in ns and, if it is known, the
        time at which waiting ends; once more at the end, with both equal."""
        return self._runtime.on_time

    @on_time.setter
    def on_time(self, listener: TimeListener | None) -> None:
        self._runtime.on_time = listener

    def run_for(self, duration: str | int) -> None:
        """Let time pass: "10s", "250ms", or ns."""
        self._runtime.run_until(self.now_ns + parse_time(duration))

    def run_until(self, time: str | int) -> None:
        """Let time pass until the network's clock shows `time`; return at once if it already
        does."""
        self._runtime.run_until(parse_time(time))

    def run_until_condition(
        self, condition: Callable[[], bool], limit_ns: int | None = None
    ) -> None:
        """Let time pass until `condition()` is true, but at most for `limit_ns`.

        `condition` is called again whenever a process has written something.
        """
        self._runtime.run_until_condition(condition, limit_ns)

    def run_to_next_event(self, limit_ns: int) -> None:
        """Let virtual time pass until the next event in the machine's kernel (a packet that arrives,
        a timer that expires) has happened, but at most for `limit_ns`."""
        self._runtime.run_to_next_event(limit_ns)

    def after(
        self,
        delay: str | int,
        action: Callable[Arguments, object],
        *arguments: Arguments.args,
        **keywords: Arguments.kwargs,
    ) -> Timer:
        """Call `action` after `delay` of virtual time, and return a timer that can be cancelled.

            net.after("2s", net.set_link_up, "s1", "s2", False)
            net["h1"].run("ping -c 5 h2")

        Exceptions propagate from the call that lets the time pass.
        """
        return self._runtime.after(delay, partial(action, *arguments, **keywords), is_users=True)

    def pace_to_real(self, wanted: bool = True, *, speed: float = 1.0) -> None:
        """Keep virtual time from running ahead of the real clock, for people who watch.

        `speed`: network seconds per real second at most; 0.01 is slow motion.
        """
        self._runtime.pace_to_real(wanted, "the user", speed)

    # -- changes ----------------------------------------------------------------------------------

    def add(self, *elements: Node | Link) -> None:
        """Add nodes and links to the running network. Switches learn of their new ports at once."""
        self._live.add(*elements)

    def remove_link(self, port: str, *, keep_addresses: bool = True) -> None:
        """Remove the link that has a port of this name.

        A host without another link keeps its addresses for its next one if `keep_addresses` is true.
        """
        self._live.remove_link(port, keep_addresses=keep_addresses)

    def remove_node(self, name: str) -> None:
        """Remove a node with its links and its processes."""
        self._live.remove_node(name)

    def set_link(self, a: str, b: str, **words: Unpack[ConditionWords]) -> None:
        """Change conditions of the link between two nodes in both directions: rate="10Mbps",
        delay="20ms", loss="1%", queue="fq_codel", ... The others stay as they are."""
        self._live.set_link(a, b, words)

    def set_port(self, name: str, **words: Unpack[ConditionWords]) -> None:
        """Change conditions of the packets that leave through one port; the others stay as they
        are."""
        self._live.set_port(name, words)

    def set_link_up(self, a: str, b: str, up: bool) -> None:
        """Take the link between two nodes down, or up again; addresses and routes stay."""
        self._live.set_link_up(a, b, up)

    def set_port_up(self, name: str, up: bool) -> None:
        """Take one end of a link down, or up again, as if its cable were unplugged."""
        self._live.set_port_up(name, up)

    def set_port_speed(self, name: str, speed: str | int) -> None:
        """Change the line rate of one port; 0 means no limit."""
        self._live.set_port_speed(name, speed)

    def set_cpu_share(self, node: str, share: float) -> None:
        """Change the speed of a node's processor: 0.1 makes all its work take ten times as long.

        WanlabError if nodes have no processor.
        """
        self._live.set_cpu_share(node, share)

    def perform(self, operations: Sequence[Operation]) -> None:
        """Perform operations in order. CommandError names the one that failed and shows its
        commands."""
        self._runtime.perform(operations)

    # -- warnings ---------------------------------------------------------------------------------

    @property
    def warnings(self) -> list[str]:
        """What limits measurements in this network, or has failed in it.

        The kernel is asked for packets that were dropped in silence, for queues that have another
        effect than they seem to have, and for changed programs when the `with` block ends and for a
        record's provenance.
        """
        if self.is_running:
            self._live.add_warnings(self._preemption_warnings())
        self._live.add_warnings(failed_program_warnings(self._runtime))
        return list(self._live.warnings)

    def add_warnings(self, warnings: Sequence[str]) -> None:
        """Add warnings of a measurement to those of the network, each once."""
        self._live.add_warnings(warnings)

    def look_at_queues(self, namespace: str | None = None) -> list[str]:
        """Return a warning for each queue that has another effect than it seems to have, and add them
        to `warnings`.

        `namespace`: look only at the ports in it; "" has those of switches.
        """
        from .queue_warnings import queue_warnings

        namespaces = self._namespaces() if namespace is None else [namespace]
        found = queue_warnings(self._runtime, self.topology, namespaces)
        self._live.add_warnings(found)
        return found

    def _namespaces(self) -> list[str]:
        return list(dict.fromkeys([ROOT, *(node.namespace for node in self._live.nodes.values())]))

    def _look_for_warnings(self) -> None:
        from .changed_programs import changed_program_warnings

        namespaces = self._namespaces()
        self.look_at_queues()
        self._live.add_warnings(list(self._silent_drops.warnings(namespaces)))
        self._live.add_warnings(changed_program_warnings(self._runtime))

    def _preemption_warnings(self) -> list[str]:
        """Warn of the first preemption only: nothing after it is repeatable in any case."""
        return [
            f"not repeatable from {format_time(max(first.time_ns - self._runtime.epoch_ns, 0))}: "
            f"{first.program} computed without system calls"
            for first in self.machine.preemptions[:1]
        ]

    # -- measurements -----------------------------------------------------------------------------

    def read(self, sources: Sequence[Sequence[object]]) -> list[bytes]:
        """Read counters at this instant, one part for each source; see `agent/counters.py`."""
        return self._runtime.read(sources)

    def provenance(
        self,
        *,
        commands: Sequence[str] | None = None,
        parameters: Mapping[str, object] | None = None,
    ) -> Provenance:
        """Return the origin of measurements in this network, after checking for silent drops.

        `commands`: by default all that were started in nodes.
        """
        from .provenance import provenance_of

        self._look_for_warnings()
        return provenance_of(
            self.machine,
            self.options,
            self.topology,
            commands=self.commands if commands is None else commands,
            warnings=self.warnings,
            parameters=parameters or {},
        )
