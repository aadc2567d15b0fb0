"""The topology of a network, readable inside the machine that carries it.

A network leaves its topology in its machine as /run/wanlab/network.json. A program inside, such as
a prompt, reads it there, and asks the agent that made the nodes where their namespaces are.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, cast

from wanlab.errors import RequirementError
from wanlab.fields import Fields, Problems
from wanlab.operations import ROOT, WriteFile
from wanlab.topology.files import plain
from wanlab.topology.model import Topology

from .host_service import call_host

if TYPE_CHECKING:
    from wanlab.agent.namespaces import NamespacePaths

NETWORK_FILE = Path("/run/wanlab/network.json")


def announcement(topology: Topology) -> WriteFile:
    """Return the operation that leaves the topology in the machine."""
    return WriteFile(str(NETWORK_FILE), json.dumps(plain.topology_to_plain(topology)) + "\n")


def read_announcement() -> Topology:
    """Inside a machine: return the topology of the network that it carries.

    RequirementError if it carries none that was started outside.
    """
    try:
        text = NETWORK_FILE.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise RequirementError(
            "this machine has no network to attach to",
            "Network.attach() is for programs inside `wanlab exec --topo TOPOLOGY`",
        ) from None
    return plain.read_topology(Fields(json.loads(text), "", Problems()))


def namespace_paths(topology: Topology) -> dict[str, NamespacePaths]:
    """Inside a machine: return the paths of the namespaces of its root, hosts and routers."""
    names = [node.name for node in (*topology.hosts, *topology.routers)]
    return {
        name: cast("NamespacePaths", call_host({"do": "paths", "node": name}))
        for name in (ROOT, *names)
    }
