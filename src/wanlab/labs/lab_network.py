"""The network of a unit while its steps are performed, with the terminals in it.

The machine boots when a step first needs it: with the topology if that step is the GUI's Run, and
without nodes if something is typed into the client's terminal before.
"""

from __future__ import annotations

import posixpath
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from wanlab import Network, Topology
from wanlab.errors import WanlabError, did_you_mean
from wanlab.machine.compiled_modules import compile_libraries_ahead
from wanlab.machine.embedded import protecting_mode
from wanlab.network import NO_CHOICE, MachineChoice

from . import grade, student_files
from .prompt import VARIABLES, RemotePrompt
from .shell import LabShell
from .unit import CLIENT, Unit

COURSE = Path(__file__).parent / "units"
"""Hidden from submissions, because it contains the solutions."""
GRADING = "a submission cannot be graded"
"""The beginning of the error if its program could take over the machine's kernel."""
SYSCTLS = {
    "net.ipv4.tcp_rmem": "10240 87380 16777216",
    "net.ipv4.tcp_wmem": "10240 87380 16777216",
    "net.ipv4.tcp_congestion_control": "cubic",
}
"""Kernel parameters of the course's machine."""


def network_of(
    unit: Unit,
    topology: Topology,
    folder: Path,
    *,
    seed: int,
    clock: str,
    memory_bytes: int | None = None,
    choice: MachineChoice = NO_CHOICE,
    visible_folders: Sequence[Path] = (),
    guest_folder: str = "",
) -> Network:
    """Return the network of a unit, not yet started. `folder` is /home/admin in the machine."""
    return Network(
        topology,
        clock=clock,  # type: ignore[arg-type]
        wire=unit.wire,  # type: ignore[arg-type]
        seed=seed,
        folder=folder,
        sysctls={**SYSCTLS, **unit.sysctls},
        line_rate=0 if unit.line_rate == "0" else unit.line_rate,
        memory=memory_bytes,
        kernel=choice.kernel,
        traps=choice.traps,
        cpu=choice.cpu,
        visible_folders=visible_folders,
        guest_folder=guest_folder,
    )


class LabNetwork:
    """A network that the GUI runs and stops, while the client's terminal stays."""

    def __init__(
        self,
        unit: Unit,
        folder: Path,
        *,
        guest_folder: str = "",
        seed: int,
        clock: str,
        confines: bool = False,
        session: Path | bool | None = None,
        memory_bytes: int | None = None,
        start_jitter_ns: int = 0,
        choice: MachineChoice = NO_CHOICE,
    ) -> None:
        self._unit = unit
        self._session = session
        self._memory_bytes = memory_bytes
        self._confines = confines
        if confines:
            choice = replace(choice, traps=protecting_mode(GRADING, choice.traps))
        self._choice = choice
        self.programs: list[dict[str, str]] = []
        """The programs that the checks run, as they were before anything was typed."""
        self._folder = folder
        self._guest_folder = guest_folder
        self._seed = seed
        self._clock = clock
        self._environment = student_files.environment(seed, start_jitter_ns)
        self._network: Network | None = None
        self._prompt: RemotePrompt | None = None
        self._shells: dict[str, LabShell] = {}
        self._is_running = False

    @property
    def network(self) -> Network:
        """The network; it boots when it is first needed."""
        if self._network is None:
            self._boot(Topology())
        assert self._network is not None
        return self._network

    @property
    def has_booted(self) -> bool:
        return self._network is not None

    @property
    def now_ns(self) -> int:
        """The network's time; 0 before it has booted."""
        return self._network.now_ns if self._network is not None else 0

    @property
    def prompt(self) -> RemotePrompt:
        """Mininet's prompt in the machine."""
        assert self._prompt is not None, "the network has not booted"
        return self._prompt

    def _boot(self, topology: Topology) -> None:
        compile_libraries_ahead()
        network = network_of(
            self._unit,
            topology,
            self._folder,
            seed=self._seed,
            clock=self._clock,
            memory_bytes=self._memory_bytes,
            choice=self._choice,
            guest_folder=self._guest_folder,
        )
        if self._session:
            network.session.record(self._session)
        network.start()
        self._network = network
        student_files.link_home(network)
        if self._confines:
            self.programs = network.program_files(grade.programs_of(self._unit))
            network.confine_programs(student_files.HOME, [COURSE, self._unit.folder])
        folder = posixpath.join(student_files.HOME, student_files.folder_of(self._unit))
        self._prompt = RemotePrompt(network, folder, self._environment)

    def run_topology(self, topology: Topology) -> None:
        """Start the topology's nodes and links, as the GUI's Run does."""
        if self._is_running:
            return
        if self._network is None:
            self._boot(topology)
        else:
            self._network.add(*topology.nodes, *topology.links)
        self._is_running = True

    def stop_topology(self) -> None:
        """Remove the nodes and close their terminals, as the GUI's Stop does."""
        if self._network is None or not self._is_running:
            return
        for name in [name for name in self._shells if name != CLIENT]:
            self._shells.pop(name).close()
        if self._prompt is not None:
            self._prompt.close()
        for node in self._network.topology.nodes:
            self._network.remove_node(node.name)
        self._is_running = False

    def end_confinement(self) -> list[str]:
        """End all terminals and processes; return the paths of programs that were changed."""
        network = self.network
        changed = {
            student_files.machine_path(self._folder, path)
            for path in network.changed_programs(self.programs)
        }
        network.end_confinement()
        self._shells.clear()
        return sorted(changed)

    def shell(self, name: str, topology: Topology) -> LabShell:
        """Return the terminal of a node, or the client's; it opens when it is first used.

        A node's terminal needs the topology to run.
        """
        shell = self._shells.get(name)
        if shell is not None and not shell.has_ended:
            return shell
        if name != CLIENT:
            self.run_topology(topology)
        network = self.network
        names = [node.name for node in network.topology.nodes]
        if name != CLIENT and name not in names:
            raise WanlabError(f"there is no terminal {name}", did_you_mean(name, names))
        node = network.root if name == CLIENT else network[name]
        folder = student_files.HOME
        environment = {**self._environment, **VARIABLES, "PWD": folder}
        self._shells[name] = LabShell(network, name, node.start, folder, environment)
        return self._shells[name]

    def open_shells(self) -> list[LabShell]:
        """Return the terminals that are open, in the order in which they were opened."""
        return [shell for shell in self._shells.values() if not shell.has_ended]

    def client_shell(self) -> LabShell | None:
        """Return the client's terminal if it has been opened."""
        return self._shells.get(CLIENT)

    def release(self) -> Network:
        """Return the running network, which the caller must stop. Its terminals stay open."""
        network = self.network
        self.prompt.close()
        self._network = None
        return network

    def close(self) -> None:
        """End the machine and everything that runs in it."""
        if self._network is not None:
            self._network.stop()
            self._network = None
