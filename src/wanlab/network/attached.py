"""A network seen from inside the machine that carries it.

Whoever starts a network outside leaves its topology in the machine, as /run/wanlab/network.json. A
program inside, such as a prompt, takes it from there and the nodes from the agent that made them.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, cast

from wanlab.errors import RequirementError
from wanlab.fields import Fields, Problems
from wanlab.operations import (
    ROOT,
    WriteFile,
)
from wanlab.topology.files import plain
from wanlab.topology.model import Topology

from .host_service import call_host

if TYPE_CHECKING:
    from wanlab.agent.namespaces import NamespacePaths

NETWORK_FILE = Path("/run/wanlab/network.json")


def announcement(topology: Topology) -> WriteFile:
    """Leaves the topology in the machine."""
    return WriteFile(str(NETWORK_FILE), json.dumps(plain.topology_to_plain(topology)) + "\n")


def announced() -> Topology:
    """The topology of the network that this machine carries."""
    try:
        text = NETWORK_FILE.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise RequirementError(
            "this machine carries no network that was started outside",
            "Network.attach() is for programs inside `wanlab exec --topo TOPOLOGY`",
        ) from None
    return plain.read_topology(Fields(json.loads(text), "", Problems()))


def places_of(topology: Topology) -> dict[str, NamespacePaths]:
    """Where the namespaces of all its hosts and routers are found, and the machine's root ones."""
    names = [node.name for node in (*topology.hosts, *topology.routers)]
    return {
        name: cast("NamespacePaths", call_host({"do": "paths", "node": name}))
        for name in (ROOT, *names)
    }
