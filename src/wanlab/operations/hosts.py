"""Operations that only some hosts need: private directories, VLAN interfaces, interfaces of the
computer, CPU limits.
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass

from .operation import Operation, namespace_name, netns_option

MOUNTS = "/run/mounts"
CGROUPS = "/sys/fs/cgroup"
PERIOD_US = 100_000


@dataclass(frozen=True)
class AddPrivateDirectory(Operation):
    """Mount a directory that only this node sees: `backing`, or an empty one in memory."""

    node: str
    mount: str
    backing: str | None = None

    verb = "add_private_directory"

    def describe(self) -> str:
        return f"private directory {self.mount} of {self.node}"

    def commands(self) -> list[str]:
        mount, backing = shlex.quote(self.mount), shlex.quote(self.backing or "")
        namespace = f"{MOUNTS}/{self.node}"
        enter = f"nsenter --net=/run/netns/{self.node} --mount={namespace}"
        return [
            f"mountpoint -q {MOUNTS} || {{ mkdir -p {MOUNTS}; mount --bind {MOUNTS} {MOUNTS}; "
            f"mount --make-private {MOUNTS}; }}",
            f"[ -e {namespace} ] || {{ touch {namespace}; unshare --mount={namespace} true; }}",
            f"mkdir -p {mount}" + (f" {backing}" if self.backing else ""),
            f"{enter} mount --bind {backing} {mount}"
            if self.backing
            else f"{enter} mount -t tmpfs tmpfs {mount}",
        ]


@dataclass(frozen=True)
class AddVlanInterface(Operation):
    """Add an interface for the tagged packets of one VLAN on a port."""

    node: str
    port: str
    vlan: int
    interface: str

    verb = "add_vlan_interface"

    def describe(self) -> str:
        return f"VLAN {self.vlan} of {self.port}"

    def commands(self) -> list[str]:
        option = netns_option(self.node)
        return [
            f"ip {option}link add link {self.port} name {self.interface} type vlan id {self.vlan}",
            f"ip {option}link set {self.interface} up",
        ]


@dataclass(frozen=True)
class MoveInterface(Operation):
    """Move an interface of the computer into a node; for a switch, into the root namespace."""

    interface: str
    node: str

    verb = "move_interface"

    def describe(self) -> str:
        return f"the computer's {self.interface} in {namespace_name(self.node)}"

    def commands(self) -> list[str]:
        move = [f"ip link set {self.interface} netns {self.node}"] if self.node else []
        return [*move, f"ip {netns_option(self.node)}link set {self.interface} up"]


@dataclass(frozen=True)
class LimitCpu(Operation):
    """Limit the CPU time of a node's processes (control groups, version 2).

    `share` is a fraction of all CPUs together, 0 to 1. `cores` lists the CPUs to run on: "0,2-3".
    """

    node: str
    share: float | None = None
    cores: str | None = None

    verb = "limit_cpu"

    def describe(self) -> str:
        share = "" if self.share is None else f" {self.share:g} of the computer"
        cores = f" cores {self.cores}" if self.cores else ""
        return f"CPU of {self.node}:{share}{cores}"

    def commands(self) -> list[str]:
        group = f"{CGROUPS}/{self.node}"
        quota = f"$(awk 'BEGIN {{ print int({self.share or 0:g} * '$(nproc)' * {PERIOD_US}) }}')"
        controllers = [*(["+cpu"] if self.share else []), *(["+cpuset"] if self.cores else [])]
        return [
            f"echo '{' '.join(controllers)}' > {CGROUPS}/cgroup.subtree_control",
            f"mkdir -p {group}",
            *([f'echo "{quota} {PERIOD_US}" > {group}/cpu.max'] if self.share else []),
            *([f"echo {self.cores} > {group}/cpuset.cpus"] if self.cores else []),
        ]
