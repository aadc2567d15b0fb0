"""The calls to a machine's agent, one method each.

Each method has the name and the arguments of the agent's function for it (`calls_of` in
`wanlab.agent.serve`). It returns when the agent has answered. Every method raises AgentFailure if the
agent cannot do it, and MachineError if the machine ends.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, cast

from .working_folder import padded

if TYPE_CHECKING:
    from wanlab.agent.namespaces import NamespacePaths
    from wanlab.agent.processes import InputState
    from wanlab.agent.root import EmbeddedRoot, GuestEnvironment
    from wanlab.agent.serve import AgentDescription
    from wanlab.agent.watches import WatchDescription
    from wanlab.operations import Request

Source = Sequence[object]
"""A description of the counter to read: see `wanlab.agent.counters`."""


class Call(Protocol):
    """Makes a call by its name, and returns what the agent answers."""

    def __call__(self, name: str, /, **arguments: object) -> object: ...


class AgentClient:
    """Translates methods into calls."""

    def __init__(self, call: Call) -> None:
        self._call = call

    def prepare(
        self,
        environment: Mapping[str, str],
        embedded_root: EmbeddedRoot | None = None,
        guest_environment: GuestEnvironment | None = None,
    ) -> AgentDescription:
        """Make the file system and install the guest environment. The first call to an agent."""
        return cast(
            "AgentDescription",
            self._call(
                "prepare",
                environment=dict(environment),
                embedded_root=embedded_root,
                guest_environment=guest_environment,
            ),
        )

    def perform(self, operations: Iterable[Request]) -> None:
        """Perform operations in order. AgentFailure.index says which one failed."""
        self._call("perform", operations=list(operations))

    # -- processes --------------------------------------------------------------------------------

    def start(
        self,
        number: int,
        node: str,
        arguments: Sequence[str],
        folder: str,
        environment: Mapping[str, str],
        stdin: bool,
        terminal: tuple[int, int] | None,
        merge_stderr: bool = False,
        credit: int | None = None,
    ) -> int:
        """Start a process under `number` (`Channel.new_process`) and return its pid in the machine."""
        return cast(
            "int",
            self._call(
                "start",
                number=number,
                node=node,
                arguments=list(arguments),
                folder=padded(folder),
                environment=dict(environment),
                stdin=stdin,
                terminal=terminal,
                merge_stderr=merge_stderr,
                credit=credit,
            ),
        )

    def signal(self, number: int, signal_number: int) -> bool:
        """Signal a process and its descendants; False if it has ended."""
        return cast("bool", self._call("signal", number=number, signal_number=signal_number))

    def resize(self, number: int, rows: int, columns: int) -> None:
        self._call("resize", number=number, rows=rows, columns=columns)

    def input_state(self, number: int) -> InputState:
        return cast("InputState", self._call("input_state", number=number))

    def waits_for_input(self, number: int) -> bool:
        return bool(self._call("waits_for_input", number=number))

    def grant_credit(self, number: int, more: int) -> None:
        """Allow `more` further bytes of a process's output to be read."""
        self._call("grant_credit", number=number, more=more)

    def are_busy(self, numbers: Sequence[int]) -> list[bool]:
        return cast("list[bool]", self._call("are_busy", numbers=list(numbers)))

    # -- the sandbox ------------------------------------------------------------------------------

    def confine(
        self, working_folder: str, home: str, visible: Sequence[str], hidden: Sequence[str]
    ) -> None:
        """Start every process in a sandbox from now on: see `wanlab.agent.sandbox`."""
        self._call(
            "confine",
            working_folder=working_folder,
            home=home,
            visible=list(visible),
            hidden=list(hidden),
        )

    def end_confinement(self) -> None:
        """Kill all processes of the sandbox, and start processes outside of it again."""
        self._call("end_confinement")

    def program_files(self, names: Iterable[str], path: str) -> list[dict[str, str]]:
        """Return where programs are found in PATH, and the digests of their files."""
        return cast(
            "list[dict[str, str]]", self._call("program_files", names=list(names), path=path)
        )

    def changed_programs(self, programs: Sequence[dict[str, str]], path: str) -> list[str]:
        """Return the programs that the sandbox's processes have changed for themselves."""
        programs = list(programs)
        return cast("list[str]", self._call("changed_programs", programs=programs, path=path))

    def written_files(self, keep: str) -> list[list[Any]]:
        """Return path and size of each file that is lost with the machine; copy them to a folder."""
        return cast("list[list[Any]]", self._call("written_files", keep=keep))

    # -- nodes ------------------------------------------------------------------------------------

    def adopt(self, nodes: Mapping[str, NamespacePaths]) -> None:
        """Use the namespaces of nodes that another agent made."""
        self._call("adopt", nodes=dict(nodes))

    def listen(self) -> str:
        """Answer programs that are forked from this one; return the address of the socket."""
        return cast("str", self._call("listen"))

    def paths(self, node: str) -> NamespacePaths:
        return cast("NamespacePaths", self._call("paths", node=node))

    # -- counters ---------------------------------------------------------------------------------

    def read(self, sources: Sequence[Source]) -> bytes:
        return cast("bytes", self._call("read", sources=list(sources)))

    def watch(
        self,
        number: int,
        sources: Sequence[Source],
        streams: Sequence[Mapping[str, object]],
        every_ns: int,
        drain_ns: int,
        is_clock_read: bool,
    ) -> WatchDescription:
        """Begin a watch under `number` (`Channel.new_process`)."""
        return cast(
            "WatchDescription",
            self._call(
                "watch",
                number=number,
                sources=list(sources),
                streams=list(streams),
                every_ns=every_ns,
                drain_ns=drain_ns,
                is_clock_read=is_clock_read,
            ),
        )

    def flush(self, number: int) -> None:
        self._call("flush", number=number)

    def snapshot(self, number: int, time_ns: int) -> None:
        self._call("snapshot", number=number, time_ns=time_ns)

    def unwatch(self, number: int, time_ns: int) -> list[int]:
        return cast("list[int]", self._call("unwatch", number=number, time_ns=time_ns))
