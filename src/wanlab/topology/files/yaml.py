"""wanlab's own format for topologies, in YAML: short, with units, and able to say everything.

    name: two sites
    ip_base: 10.0.0.0/8
    nodes:
      - {host: h1, ip: 10.0.1.1/24, default_route: 10.0.1.254}
      - {host: h2, ip: 10.0.2.1/24, default_route: 10.0.2.254}
      - {switch: s1}
      - router: r1
        routes: [192.168.0.0/16 via 10.0.2.7]
    links:
      - {link: [h1, s1]}
      - link: [s1, r1]                # a is s1, b is r1
        rate: 100Mbps                 # both directions
        delay: 20ms
        queue: {kind: fifo, limit: 250KB}
        a_to_b: {loss: 0.1%}          # from s1 to r1, besides
        b_port: {ip: 10.0.1.254/24}
      - link: [r1, h2]
        queue: fq_codel
        rate: 1Gbps
        a_port: {ip: 10.0.2.254/24, mtu: 9000}

A node begins with its kind (host, switch, router, controller); its other fields are those of the
classes in `wanlab.topology.model`. A link's words are those of `wanlab.topology.words`, and a port
takes number, name, ip, mac, speed and mtu, a switch's port also vlan and trunks, any other nic, its
card: `{tso: off, gro: on, moderation: 50us}`. A router takes `frr`
(the text of a frr.conf) or `frr_file` (its path). `extra` keeps what another format said.

Texts stay texts: only `true`, `false`, `null` and decimal numbers mean something else, so that a MAC
address is not taken for a number of base 60 and a host may be called `no`.
"""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import yaml

from wanlab.errors import Problem, TopologyError
from wanlab.topology.check import ensure
from wanlab.topology.files.fields import Fields, Filled, Problems, accept
from wanlab.topology.files.plain import read_topology, topology_to_plain
from wanlab.topology.model import Source, Topology

WIDTH = 100


def load(
    text: str, file: str = "", *, folder: Path | None = None, filled: Filled | None = None
) -> Topology:
    """The topology that a YAML text describes. Other files are looked for beside it, or in `folder`;
    `filled` makes of what is written what is meant, where that has placeholders."""
    reader = _Reader()
    data = reader.read(text, file)
    data = filled(data) if filled else data
    problems = Problems(reader.place, folder or (Path(file).parent if file else None))
    problems.extend(reader.problems)
    topology = read_topology(Fields(data, "", problems))
    places = {path: reader.place(path) for path in reader.lines}
    return accept(replace(topology, source=Source(file=file, places=places)), problems, file)


def dump(topology: Topology) -> str:
    """The YAML text of a topology."""
    return yaml.dump(
        topology_to_plain(ensure(topology)),
        Dumper=_PlainDumper,
        sort_keys=False,
        default_flow_style=None,
        allow_unicode=True,
        width=WIDTH,
    )


def read_plain(text: str, file: str = "") -> Any:
    """What a YAML text says, whatever it is about; TopologyError, with the line, if it is none."""
    reader = _Reader()
    data = reader.read(text, file)
    if reader.problems:
        raise TopologyError(reader.problems, file)
    return data


def dump_plain(data: Any) -> str:
    """A YAML text that says it."""
    return yaml.dump(data, Dumper=_PlainDumper, sort_keys=False, allow_unicode=True, width=WIDTH)


_STANDARD = "tag:yaml.org,2002:"
_UNUSUAL_LINE_ENDS = {"\x85", "\u2028", "\u2029"}


class _PlainDumper(yaml.SafeDumper):
    """Repeats what occurs twice, instead of referring to it."""

    def ignore_aliases(self, data: Any) -> bool:
        return True

    def represent_text(self, data: str) -> yaml.ScalarNode:
        """In double quotes, and escaped, where it has line ends that YAML 1.1 would join."""
        style = '"' if _UNUSUAL_LINE_ENDS & set(data) else None
        return self.represent_scalar(f"{_STANDARD}str", data, style=style)


class _PlainLoader(yaml.SafeLoader):
    """Takes fewer texts for something else than YAML 1.1 does."""

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        """Refuses references: a few lines of them can stand for more than fits into memory."""
        if self.check_event(yaml.AliasEvent):
            mark = self.peek_event().start_mark  # type: ignore[no-untyped-call]
            raise yaml.MarkedYAMLError(
                problem="references (*name) are not used here", problem_mark=mark
            )
        return super().compose_node(parent, index)


_PlainDumper.add_representer(str, _PlainDumper.represent_text)
_MEANINGS = {
    "null": (r"~|null|", ["~", "n", ""]),
    "bool": (r"true|false", ["t", "f"]),
    "int": (r"-?(?:0|[1-9][0-9]{0,999})", list("-0123456789")),
    "float": (r"-?[0-9]+\.[0-9]*(?:e[-+][0-9]+)?", list("-0123456789")),
}
_PlainLoader.yaml_implicit_resolvers = {}
for _tag, (_pattern, _beginnings) in _MEANINGS.items():
    _PlainLoader.add_implicit_resolver(
        f"{_STANDARD}{_tag}", re.compile(f"(?:{_pattern})$"), _beginnings
    )


class _Reader:
    """Reads YAML and remembers the line of everything."""

    def __init__(self) -> None:
        self.lines: dict[str, int] = {}
        self.problems: list[Problem] = []

    def place(self, path: str) -> str:
        """ "line 7 (links[2].rate)"; for what is missing, the line of what should have it."""
        known = path
        while known and known not in self.lines:
            known = known.rpartition(".")[0]
        line = f"line {self.lines.get(known, 1)}"
        return f"{line} ({path})" if path else line

    def read(self, text: str, file: str) -> Any:
        try:
            loader = _PlainLoader(text)
            node = loader.get_single_node()
            return None if node is None else self._value(loader, node, "")
        except yaml.MarkedYAMLError as error:
            mark = error.problem_mark or error.context_mark
            place = f"line {mark.line + 1}, column {mark.column + 1}" if mark else ""
            what = f"this is not YAML: {error.problem or error.context}"
            raise TopologyError([Problem(place, what)], file) from None
        except yaml.YAMLError as error:
            what = f"this is not YAML: {str(error).splitlines()[0]}"
            raise TopologyError([Problem("", what)], file) from None
        except (RecursionError, ValueError) as error:
            problem = Problem("", f"this is not YAML of a topology: {error}")
            raise TopologyError([problem], file) from None

    def _value(self, loader: _PlainLoader, node: yaml.Node, path: str) -> Any:
        self.lines.setdefault(path, node.start_mark.line + 1)
        if node.tag.removeprefix(_STANDARD) not in (*_MEANINGS, "str", "seq", "map"):
            raise yaml.MarkedYAMLError(
                problem=f"the tag {node.tag} is not used here", problem_mark=node.start_mark
            )
        if isinstance(node, yaml.MappingNode):
            return self._mapping(loader, node, path)
        if isinstance(node, yaml.SequenceNode):
            return [self._value(loader, item, f"{path}[{i}]") for i, item in enumerate(node.value)]
        return loader.construct_object(node)

    def _mapping(self, loader: _PlainLoader, node: yaml.MappingNode, path: str) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for key_node, value_node in node.value:
            key = key_node.value if isinstance(key_node, yaml.ScalarNode) else "?"
            inside = f"{path}.{key}" if path else key
            if key in found:
                place = f"line {key_node.start_mark.line + 1} ({inside})"
                self.problems.append(Problem(place, f'"{key}" stands here twice', "keep one"))
            self.lines[inside] = key_node.start_mark.line + 1
            found[key] = self._value(loader, value_node, inside)
        return found
