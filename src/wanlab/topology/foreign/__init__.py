"""Import topologies of other programs, as far as wanlab has the same features.

    containerlab   `*.clab.yml`, or any YAML file with its fields
    GNS3           `*.gns3`, and portable projects (`*.gns3project`)

Every other feature becomes a note for the user: nothing is dropped silently. Files that a topology
names, such as a `frr.conf`, are read if they are in its folder.
"""

from __future__ import annotations

import io
import re
import zipfile
from dataclasses import dataclass, replace
from pathlib import Path

from wanlab.errors import Problem, WanlabError
from wanlab.input_file import read_input
from wanlab.topology.addresses import number_ports
from wanlab.topology.check import check
from wanlab.topology.check_nodes import is_name
from wanlab.topology.file_names import CONTAINERLAB, YAML, is_archive, program_by_name
from wanlab.topology.foreign.names import FittingNames
from wanlab.topology.foreign.project_files import MAX_FILE_BYTES, ReadFile, text_below
from wanlab.topology.large_inputs import reading_topology
from wanlab.topology.layout import arranged
from wanlab.topology.model import Host, Link, Port, Topology

_PROJECT_FILE = "project.gns3"
# Our own YAML has the nodes at the top, as a list.
_CLAB_FIELDS = re.compile(r"^topology:\s*(#.*)?$", re.MULTILINE)


@dataclass(frozen=True)
class Imported:
    """A topology of another program, and notes about everything that was not imported."""

    program: str
    topology: Topology
    notes: tuple[Problem, ...]


def program_of(name: str, text: str = "") -> str:
    """Return the program that wrote a topology, by the file's name or its text; "" if it is unknown."""
    if program := program_by_name(name):
        return program
    is_yaml = name.lower().endswith(YAML)
    return CONTAINERLAB if is_yaml and _CLAB_FIELDS.search(text) else ""


def import_file(path: Path) -> Imported:
    """Import the topology in a file. WanlabError if the file has none, or cannot be read."""
    folder = path.absolute().parent
    return import_content(read_input(path), path, lambda name: text_below(folder, name))


def import_content(data: bytes, path: Path, read_file: ReadFile) -> Imported:
    """Import the topology in the content of a file; `read_file` reads those beside it."""
    if is_archive(path.name):
        return _import_archive(data, path)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise WanlabError(f"{path} is not UTF-8 text", "is it a topology?") from None
    return import_text(text, str(path), read_file)


@reading_topology()
def import_text(text: str, name: str, read_file: ReadFile = lambda name: None) -> Imported:
    """Import the topology in a text. WanlabError if the text is not one of a known program."""
    program = program_of(name, text)
    if not program:
        raise WanlabError(
            f"{name} is not a topology of containerlab or GNS3",
            "their files end in .clab.yml, .gns3 or .gns3project",
        )
    if program == CONTAINERLAB:
        from wanlab.topology.foreign.containerlab import read
    else:
        from wanlab.topology.foreign.gns3 import read
    topology, notes = read(text, name, read_file)
    topology = _with_port_names(_with_host_addresses(topology))
    notes += [
        Problem(host.name, "has no address in the file, and gets none")
        for host in topology.hosts
        if not host.ip
    ]
    positions = {(node.x, node.y) for node in topology.nodes}
    topology = arranged(topology) if len(positions) == 1 else topology
    return Imported(program, topology, (*_grouped(notes), *check(topology)))


def _with_host_addresses(topology: Topology) -> Topology:
    """Move the address of each host's first port to the host, where the properties show it.

    A host without an address gets none, as in the program that the file is from: one by rule would
    be in the way of those that its user sets, as 10.0.0.1/8 is of a network 10.1.0.0/24.
    """
    first = {
        name: ports[0] for host in topology.hosts if (ports := topology.ports(name := host.name))
    }
    nodes = tuple(
        replace(node, ip=first[node.name].ip or "")
        if node.name in first and isinstance(node, Host)
        else node
        for node in topology.nodes
    )

    def without(port: Port) -> Port:
        has_moved = port.ip is not None and first.get(port.node) is port
        return replace(port, ip=None) if has_moved else port

    links = tuple(_with_ports(link, without(link.a), without(link.b)) for link in topology.links)
    return replace(topology, nodes=nodes, links=links)


def _with_ports(link: Link, a: Port, b: Port) -> Link:
    return link if a is link.a and b is link.b else replace(link, a=a, b=b)


def _with_port_names(topology: Topology) -> Topology:
    """Name the ports whose automatic names would be too long."""
    names = FittingNames()
    numbered = number_ports(topology).links
    for link in numbered:
        for port in link.ports:
            if is_name(port.name or ""):
                names.fit(port.name or "")

    def named(port: Port, by_rule: Port) -> Port:
        if is_name(by_rule.name or ""):
            return port
        return replace(port, name=names.fit(f"{port.node[:9]}-eth{by_rule.number}"))

    links = tuple(
        _with_ports(link, named(link.a, by_rule.a), named(link.b, by_rule.b))
        for link, by_rule in zip(topology.links, numbered, strict=True)
    )
    return replace(topology, links=links)


def _grouped(notes: list[Problem]) -> tuple[Problem, ...]:
    """Merge notes that differ only in their positions."""
    places: dict[Problem, list[str]] = {}
    for note in notes:
        places.setdefault(replace(note, place=""), []).append(note.place)
    return tuple(
        replace(note, place=", ".join(dict.fromkeys(filter(None, names))))
        for note, names in places.items()
    )


def _import_archive(data: bytes, path: Path) -> Imported:
    """Import a portable project of GNS3: an archive with the project and its files."""
    try:
        archive = zipfile.ZipFile(io.BytesIO(data))
    except zipfile.BadZipFile:
        raise WanlabError(f"{path} is not a portable project of GNS3") from None

    def read_file(name: str) -> str | None:
        try:
            if archive.getinfo(name).file_size > MAX_FILE_BYTES:
                return None
            return archive.read(name).decode("utf-8")
        except (KeyError, ValueError, RuntimeError, OSError, zipfile.BadZipFile):
            return None

    with archive:
        text = read_file(_PROJECT_FILE)
        if text is None:
            raise WanlabError(f"{path} has no {_PROJECT_FILE}", "is it a portable project of GNS3?")
        return import_text(text, str(path), read_file)
