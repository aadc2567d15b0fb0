"""Starting a network: boot the machine, perform the plan, let it settle, verify, announce.

How long the agent takes to start depends on the computer, and what follows must not. So a machine
on virtual time settles: the first half of the plan begins at 1 s of the machine's clock, the second
half at READY_NS, and the network's time 0 is the next full second. A machine that was running
already and carries no nodes yet has nothing to settle and loses no time.
"""

from __future__ import annotations

from collections.abc import Callable

from wanlab.machine import READY_NS
from wanlab.plan import settling_point

from .announcement import namespace_paths
from .compatibility import refuse_missing_programs, refuse_new_queues
from .host_service import HostService
from .kernel_limits import SilentDrops, memory_limits, neighbour_limits
from .live_topology import LiveTopology
from .options import start_machine
from .runtime import Runtime

SECOND_NS = 1_000_000_000
ProgressListener = Callable[[int, int], None]
"""Called with the number of operations performed so far, and the number of all operations."""


class Startup:
    """The steps that bring a network to life."""

    def __init__(
        self,
        runtime: Runtime,
        live: LiveTopology,
        host_service: HostService,
        silent_drops: SilentDrops,
        on_progress: ProgressListener = lambda done, of: None,
    ) -> None:
        self._runtime = runtime
        self._live = live
        self._host_service = host_service
        self._silent_drops = silent_drops
        self._on_progress = on_progress
        self._performed = 0

    def boot(self) -> None:
        """Start the machine and serve its requests. RequirementError if a program is missing."""
        refuse_missing_programs(self._live.topology)
        recording = self._runtime.recording
        try:
            machine = start_machine(self._runtime.options)
        except BaseException:
            if recording is not None:
                recording.abandon()
            raise
        self._runtime.attach(machine)
        refuse_new_queues(self._live.topology, machine.describe()["kernel_release"])
        self._host_service.attach(machine.channel)
        if recording is not None:
            recording.begin(machine, self._live.topology)
        self._live.allow_outside_connections()

    def adopt_nodes(self) -> None:
        """Use the nodes that the machine carries already."""
        self._runtime.machine.agent.adopt(namespace_paths(self._live.topology))

    def build(self) -> None:
        """Perform the plan, verify and announce it, and begin at time 0."""
        settles = self._settles()
        if settles:
            self._let_pass(until_ns=SECOND_NS)
        self._raise_limits()
        middle = settling_point(self._live.plan)
        self._live.perform(self._live.plan[:middle], self._note_performed)
        if settles:
            self._let_pass(until_ns=READY_NS - SECOND_NS)
        self._live.perform(self._live.plan[middle:], self._note_performed)
        self._live.verify(self._live.ports)
        self._live.announce()
        self._begin(settles)

    def _note_performed(self, count: int) -> None:
        self._performed += count
        self._on_progress(self._performed, len(self._live.plan))

    def _settles(self) -> bool:
        options = self._runtime.options
        has_work = not options.traits.is_shared or bool(self._live.topology.nodes)
        return options.clock == "virtual" and has_work

    def _let_pass(self, until_ns: int) -> None:
        machine = self._runtime.machine
        machine.run(max(machine.now_ns, until_ns), lambda: False)

    def _raise_limits(self) -> None:
        options = self._runtime.options
        if not options.traits.is_shared:
            self._runtime.perform([*memory_limits(options.memory_bytes), *neighbour_limits()])

    def _begin(self, settles: bool) -> None:
        """Set the epoch, and start the traces and schedules of links."""
        now_ns = self._runtime.machine.now_ns
        next_second_ns = -(-now_ns // SECOND_NS) * SECOND_NS
        self._runtime.epoch_ns = max(READY_NS, next_second_ns) if settles else now_ns
        self._live.start_varying(self._live.ports)
        if settles:
            self._let_pass(until_ns=self._runtime.epoch_ns)
        self._runtime.note("began")
