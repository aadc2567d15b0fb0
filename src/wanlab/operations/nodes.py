"""Operations on nodes: namespaces and their settings."""

from __future__ import annotations

import shlex
from dataclasses import dataclass

from .operation import Operation, here_document, in_node, namespace_name, netns_option


@dataclass(frozen=True)
class AddNamespace(Operation):
    """Make the network namespace of a host or router, with `lo` up."""

    node: str

    verb = "add_namespace"

    def describe(self) -> str:
        return f"node {self.node}"

    def commands(self) -> list[str]:
        return [f"ip netns add {self.node}", f"ip -n {self.node} link set lo up"]


@dataclass(frozen=True)
class RemoveNamespace(Operation):
    """Remove a node with its ports and its processes."""

    node: str

    verb = "remove_namespace"

    def describe(self) -> str:
        return f"remove node {self.node}"

    def commands(self) -> list[str]:
        return [f"ip netns pids {self.node} | xargs -r kill -9", f"ip netns del {self.node}"]


@dataclass(frozen=True)
class AddRoute(Operation):
    """Add a route; `route` has the words that follow `ip route add`."""

    node: str
    route: str

    verb = "add_route"

    def describe(self) -> str:
        return f"route {self.route} of {namespace_name(self.node)}"

    def commands(self) -> list[str]:
        return [f"ip {netns_option(self.node)}route add {self.route}"]


@dataclass(frozen=True)
class SetSysctl(Operation):
    """Set a kernel parameter in a node's network namespace."""

    node: str
    key: str
    value: str

    verb = "set_sysctl"

    def describe(self) -> str:
        return f"{self.key} = {self.value} in {namespace_name(self.node)}"

    def commands(self) -> list[str]:
        return [in_node(self.node, f"sysctl -qw {shlex.quote(f'{self.key}={self.value}')}")]


@dataclass(frozen=True)
class SetCpu(Operation):
    """Give a node processors: the table of what its work costs (`wanlab.topology.cpu`)."""

    node: str
    table: tuple[int, ...]

    verb = "set_cpu"

    def describe(self) -> str:
        return f"processor of {self.node}"

    def commands(self) -> list[str]:
        return [
            f"# {self.node} has a processor of wanlab's kernel: {' '.join(map(str, self.table))}"
        ]


@dataclass(frozen=True)
class WriteFile(Operation):
    """Replace the content of a file."""

    path: str
    content: str

    verb = "write_file"

    def describe(self) -> str:
        return f"file {self.path}"

    def commands(self) -> list[str]:
        return [here_document(f"cat > {shlex.quote(self.path)}", self.content)]


@dataclass(frozen=True)
class RunStartCommand(Operation):
    """Run the start command that the user gave a node, in the working folder."""

    node: str
    command: str
    folder: str = ""
    """The folder in which it runs. The plan does not know it, so the network fills it in."""

    verb = "run_start_command"
    may_fail = True

    def describe(self) -> str:
        return f"start command of {namespace_name(self.node)}: {self.command}"

    def commands(self) -> list[str]:
        return [in_node(self.node, f"sh -c {shlex.quote(self.command)}")]
