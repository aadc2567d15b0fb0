"""Operations that give a node more than ports and addresses: folders of its own, VLAN interfaces,
interfaces of the computer, a share of its processors. As in `operations`, and for the same readers.
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass

from .operations import Operation

MOUNTS = "/run/mounts"
GROUPS = "/sys/fs/cgroup"
PERIOD_US = 100_000


@dataclass(frozen=True)
class AddPrivateDirectory(Operation):
    """A folder that is another one in this node: `kept_in`, or an empty one in memory."""

    node: str
    mount: str
    kept_in: str | None = None

    name = "add_private_directory"

    def describe(self) -> str:
        return f"private directory {self.mount} of {self.node}"

    def commands(self) -> list[str]:
        mount, kept_in = shlex.quote(self.mount), shlex.quote(self.kept_in or "")
        own = f"{MOUNTS}/{self.node}"
        inside = f"nsenter --net=/run/netns/{self.node} --mount={own}"
        return [
            f"mountpoint -q {MOUNTS} || {{ mkdir -p {MOUNTS}; mount --bind {MOUNTS} {MOUNTS}; "
            f"mount --make-private {MOUNTS}; }}",
            f"[ -e {own} ] || {{ touch {own}; unshare --mount={own} true; }}",
            f"mkdir -p {mount}" + (f" {kept_in}" if self.kept_in else ""),
            f"{inside} mount --bind {kept_in} {mount}"
            if self.kept_in
            else f"{inside} mount -t tmpfs tmpfs {mount}",
        ]


@dataclass(frozen=True)
class AddVlanInterface(Operation):
    """An interface for the packets of one VLAN that pass a port with their tags."""

    node: str
    port: str
    vlan: int
    interface: str

    name = "add_vlan_interface"

    def describe(self) -> str:
        return f"VLAN {self.vlan} of {self.port}"

    def commands(self) -> list[str]:
        where = f"-n {self.node} " if self.node else ""
        return [
            f"ip {where}link add link {self.port} name {self.interface} type vlan id {self.vlan}",
            f"ip {where}link set {self.interface} up",
        ]


@dataclass(frozen=True)
class TakeInterface(Operation):
    """Moves an interface of the computer into a node; for a switch, into the root namespace."""

    interface: str
    node: str

    name = "take_interface"

    def describe(self) -> str:
        return f"the computer's {self.interface} in {self.node or 'root'}"

    def commands(self) -> list[str]:
        where = f"-n {self.node} " if self.node else ""
        moved = [f"ip link set {self.interface} netns {self.node}"] if self.node else []
        return [*moved, f"ip {where}link set {self.interface} up"]


@dataclass(frozen=True)
class LimitProcessor(Operation):
    """How much of the computer's processors what runs in a node may use (control groups, version 2).

    `share`: of all of them together, 0 to 1. `cores`: which ones, "0,2-3".
    """

    node: str
    share: float | None = None
    cores: str | None = None

    name = "limit_processor"

    def describe(self) -> str:
        share = "" if self.share is None else f" {self.share:g} of the computer"
        cores = f" cores {self.cores}" if self.cores else ""
        return f"processors of {self.node}:{share}{cores}"

    def commands(self) -> list[str]:
        group = f"{GROUPS}/{self.node}"
        quota = f"$(awk 'BEGIN {{ print int({self.share or 0:g} * '$(nproc)' * {PERIOD_US}) }}')"
        wanted = [*(["+cpu"] if self.share else []), *(["+cpuset"] if self.cores else [])]
        return [
            f"echo '{' '.join(wanted)}' > {GROUPS}/cgroup.subtree_control",
            f"mkdir -p {group}",
            *([f'echo "{quota} {PERIOD_US}" > {group}/cpu.max'] if self.share else []),
            *([f"echo {self.cores} > {group}/cpuset.cpus"] if self.cores else []),
        ]
