"""A topology as an editor has it: things with ids that outlive their names, and texts beside them.

    {"nodes": [{"id": "n1", "kind": "host", "name": "h1", "x": 100, "y": 100, "options": {...}}],
     "links": [{"id": "l1", "a": "n1", "b": "n2", "options": {...both directions...},
                "a_options": {...the port at a, and what leaves through it...}, "b_options": {...}}],
     "labels": [{"id": "t1", "text": "...", "x": 0, "y": 0}],
     "preferences": {"name": "", "ip_base": "10.0.0.0/8", "clock": "virtual", "wire": "mtu", "seed": 1,
                     "pace": "real", "application": {...MiniEdit's...}, "extra": {...}}}

Options are the words of our YAML format. What a switch obeys is drawn as a link to a controller. A
switch that reports as the preferences say has `"sflow": true` (`"netflow": true`), one that speaks
what they say no "protocols". Labels and preferences that a topology has no field for are in its
`extra`, so every format of files keeps them.

A drawing may be wrong: `read_drawing` understands what it can, and finds the rest.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, TypedDict

from wanlab.errors import Problem
from wanlab.fields import Fields, Problems
from wanlab.topology.check import undamaged_problems
from wanlab.topology.files.mn_preferences import (
    APPLICATION,
    Preferences,
    preferences_of,
    read_preferences,
)
from wanlab.topology.files.plain import (
    NODE_KINDS,
    link_to_plain,
    mapping_in,
    node_to_plain,
    read_link,
    read_node,
)
from wanlab.topology.model import Controller, Link, Node, Source, Switch, Topology
from wanlab.topology.words import CONDITION_WORDS

Drawing = dict[str, Any]

RUN = {"clock": "virtual", "wire": "mtu", "seed": 1, "pace": "real"}
"""How a network is run, unless a drawing says otherwise."""
COLLECTORS = ("netflow", "sflow")
IN_BOTH = ("extra", *CONDITION_WORDS)


class Label(TypedDict):
    """A text on the canvas."""

    text: str
    x: float
    y: float


@dataclass(frozen=True)
class Fault:
    """What is wrong with one thing of a drawing: its id ("" is the whole), and its field as the
    drawing has it ("name", "options.ip", "a_options.rate", "preferences.ip_base")."""

    id: str
    field: str
    what: str
    hint: str = ""


# -- from a topology --------------------------------------------------------------------------------


def draw(topology: Topology) -> Drawing:
    """The drawing of a topology."""
    extra = dict(topology.extra)
    application = mapping_in(extra, "application")
    extra.pop("application", None)
    labels = labels_in(extra)
    if labels or extra.get("labels") == []:
        del extra["labels"]
    run = mapping_in(extra, "run")
    if run.keys() <= RUN.keys() and isinstance(extra.get("run"), Mapping):
        del extra["run"]
    else:
        run = {}
    preferences = preferences_of({**APPLICATION, **application})
    ids = {node.name: f"n{number}" for number, node in enumerate(topology.nodes, start=1)}
    obeyed = [
        (ids[node.name], ids[name])
        for node in topology.switches
        for name in node.controllers
        if name in ids and isinstance(topology.node(name), Controller)
    ]
    ends = [(ids[link.a.node], ids[link.b.node], _link_options(link)) for link in topology.links]
    ends += [(switch, controller, {}) for switch, controller in obeyed]
    nothing: Drawing = {"options": {}, "a_options": {}, "b_options": {}}
    return {
        "nodes": [_draw_node(node, ids, preferences) for node in topology.nodes],
        "links": [
            {"id": f"l{number}", "a": a, "b": b, **nothing, **options}
            for number, (a, b, options) in enumerate(ends, start=1)
        ],
        "labels": [{"id": f"t{number}", **label} for number, label in enumerate(labels, start=1)],
        "preferences": {
            "name": topology.name,
            "ip_base": topology.ip_base,
            **RUN,
            **run,
            "application": {
                key: value
                for key, value in {**APPLICATION, **application}.items()
                if key != "ipBase"
            },
            "extra": extra,
        },
    }


def labels_in(extra: Mapping[str, object]) -> list[Label]:
    """Return the labels of a drawing; another program may have left something else in their place."""
    labels = extra.get("labels")
    if not isinstance(labels, list) or not all(_is_label(label) for label in labels):
        return []
    return labels


def _is_label(label: object) -> bool:
    return (
        isinstance(label, Mapping)
        and label.keys() == {"text", "x", "y"}
        and isinstance(label["text"], str)
    )


def _draw_node(node: Node, ids: Mapping[str, str], preferences: Preferences) -> Drawing:
    options = node_to_plain(node)
    del options[node.kind_of_node]
    options.pop("x", None)
    options.pop("y", None)
    if isinstance(node, Switch):
        _leave_to_preferences(node, options, preferences)
        others = [name for name in node.controllers if name not in ids]
        options.pop("controllers", None)
        options |= {"controllers": others} if others else {}
    return {
        "id": ids[node.name],
        "kind": node.kind_of_node,
        "name": node.name,
        "x": node.x,
        "y": node.y,
        "options": options,
    }


def _leave_to_preferences(node: Switch, options: Drawing, preferences: Preferences) -> None:
    if node.kind != "ovs":
        return
    if node.protocols == preferences.protocols:
        options.pop("protocols", None)
    elif not node.protocols:
        options["protocols"] = []
    asked = _asked_in_vain(options)
    for word in COLLECTORS:
        wanted = getattr(preferences, word)
        if wanted and getattr(node, word) == wanted:
            options[word] = True
        elif asked.get(word) == "1":
            options[word] = True
            del asked[word]
    if "extra" in options and not options["extra"].get("opts", True):
        del options["extra"]["opts"]
    if not options.get("extra", True):
        del options["extra"]


def _asked_in_vain(options: Drawing) -> Drawing:
    """What a file of MiniEdit's asked of a switch, where its preferences name no target."""
    extra = options.get("extra", {})
    if not isinstance(extra.get("opts"), Mapping):
        return {}
    options["extra"] = {**extra, "opts": dict(extra["opts"])}
    opts: Drawing = options["extra"]["opts"]
    return opts


def _link_options(link: Link) -> Drawing:
    plain = link_to_plain(link)
    return {
        "options": {word: value for word, value in plain.items() if word in IN_BOTH},
        "a_options": mapping_in(plain, "a_port") | mapping_in(plain, "a_to_b"),
        "b_options": mapping_in(plain, "b_port") | mapping_in(plain, "b_to_a"),
    }


# -- to a topology ----------------------------------------------------------------------------------


def read_drawing(drawing: Drawing) -> tuple[Topology, list[Fault]]:
    """The topology, as far as it can be understood, and everything that is wrong. Ends of links are
    ids of nodes that are there."""
    return _Reader(drawing).read()


class _Reader:
    def __init__(self, drawing: Drawing) -> None:
        self._nodes: list[Drawing] = drawing["nodes"]
        by_id = {node["id"]: node for node in self._nodes}
        self._names = {node["id"]: node["name"] for node in self._nodes}
        self._controllers = {id for id, node in by_id.items() if node["kind"] == "controller"}
        self._switches = {id for id, node in by_id.items() if node["kind"] == "switch"}
        self._links: list[Drawing] = []
        self._control: list[Drawing] = []
        for link in drawing["links"]:
            is_control = bool({link["a"], link["b"]} & self._controllers)
            (self._control if is_control else self._links).append(link)
        self._labels: list[Drawing] = drawing["labels"]
        self._preferences: Drawing = drawing["preferences"]
        self._problems = Problems()
        self._faults: list[Fault] = []

    def read(self) -> tuple[Topology, list[Fault]]:
        application = Fields(self._preferences["application"], "application", self._problems)
        meant = read_preferences(application)
        obeyed = dict(self._obeyed())
        topology = Topology(
            name=self._preferences["name"],
            ip_base=self._preferences["ip_base"],
            nodes=tuple(self._node(i, node, meant, obeyed) for i, node in enumerate(self._nodes)),
            links=tuple(self._link(i, link) for i, link in enumerate(self._links)),
            extra=self._extra(application),
            source=Source(places={path: path for path in self._paths()}),
        )
        found = undamaged_problems(topology, self._problems)
        self._faults += [self._fault(problem) for problem in (*self._problems, *found)]
        return topology, self._faults

    def _extra(self, application: Fields) -> Drawing:
        said = application.rest_unlike(APPLICATION)
        labels = [{key: label[key] for key in ("text", "x", "y")} for label in self._labels]
        run = {key: self._preferences[key] for key in RUN if self._preferences[key] != RUN[key]}
        return {
            **self._preferences["extra"],
            **({"application": said} if said else {}),
            **({"labels": labels} if labels else {}),
            **({"run": run} if run else {}),
        }

    def _obeyed(self) -> Iterator[tuple[str, list[str]]]:
        """For each switch the names of its controllers."""
        obeyed: dict[str, list[str]] = {}
        for link in self._control:
            a, b = link["a"], link["b"]
            switch, controller = (b, a) if a in self._controllers else (a, b)
            if switch not in self._switches:
                what = f"{self._names[controller]} is a controller, and {self._names[switch]} no switch"
                self._faults.append(
                    Fault(link["id"], "", what, "a controller is linked to switches only")
                )
                continue
            if self._names[controller] in obeyed.setdefault(switch, []):
                what = f"{self._names[switch]} is linked to {self._names[controller]} already"
                self._faults.append(Fault(link["id"], "", what, "delete one of the two"))
                continue
            for part in ("options", "a_options", "b_options"):
                for word in link[part]:
                    what = f"a link to a controller has no {word}"
                    hint = "it shows what a switch obeys; packets take the links between nodes"
                    self._faults.append(Fault(link["id"], f"{part}.{word}", what, hint))
            obeyed[switch].append(self._names[controller])
        yield from obeyed.items()

    def _node(
        self, index: int, node: Drawing, meant: Preferences, obeyed: Mapping[str, list[str]]
    ) -> Node:
        options = dict(node["options"])
        in_vain = [word for word in COLLECTORS if options.get(word) is True]
        if node["kind"] == "switch":
            options = _with_preferences(options, meant)
            controllers = [*options.pop("controllers", []), *obeyed.get(node["id"], [])]
            options |= {"controllers": controllers} if controllers else {}
        place = {"x": node["x"], "y": node["y"]}
        plain = {node["kind"]: node["name"], **options, **place}
        read = read_node(Fields(plain, f"nodes[{index}]", self._problems))
        if not node["name"]:
            read = replace(read, name="")
        asked = {word: "1" for word in in_vain if getattr(read, word, None) is None}
        if asked and isinstance(read, Switch):
            opts = mapping_in(read.extra, "opts") | asked
            read = replace(read, extra={**read.extra, "opts": opts})
        return read

    def _link(self, index: int, link: Drawing) -> Link:
        plain = {"link": [self._names[link["a"]], self._names[link["b"]]], **link["options"]}
        for part, port, way in (
            ("a_options", "a_port", "a_to_b"),
            ("b_options", "b_port", "b_to_a"),
        ):
            options = link[part]
            plain[way] = {word: options[word] for word in options if word in CONDITION_WORDS}
            plain[port] = {word: options[word] for word in options if word not in CONDITION_WORDS}
        return read_link(Fields(plain, f"links[{index}]", self._problems))

    def _paths(self) -> Iterator[str]:
        """All that `check` may name."""
        yield "ip_base"
        for index, node in enumerate(self._nodes):
            yield f"nodes[{index}]"
            for field in fields(NODE_KINDS[node["kind"]]):
                yield f"nodes[{index}].{field.name}"
        for index in range(len(self._links)):
            yield f"links[{index}]"
            for field_name in ("a", "b", "a_port", "b_port", *CONDITION_WORDS):
                yield f"links[{index}].{field_name}"

    def _fault(self, problem: Problem) -> Fault:
        id, field = self._place(problem.place)
        return Fault(id, field, problem.what, problem.hint)

    def _place(self, path: str) -> tuple[str, str]:
        found = _PATH.fullmatch(path)
        if found is None:
            return "", f"preferences.{path}" if path else ""
        field = found["field"] or ""
        first, _, rest = field.partition(".")
        if found["list"] == "nodes":
            node = self._nodes[int(found["index"])]
            if first in (node["kind"], "name"):
                return node["id"], "name"
            return node["id"], field if first in ("", "x", "y") else f"options.{field}"
        link = self._links[int(found["index"])]
        if first in ("", "a", "b", "link"):
            return link["id"], "" if first == "link" else first
        if first in _PARTS:
            return link["id"], f"{_PARTS[first]}.{rest}" if rest else _PARTS[first]
        for part in ("options", "a_options", "b_options"):
            if first in link[part]:
                return link["id"], f"{part}.{field}"
        return link["id"], f"options.{field}"


def _with_preferences(options: Drawing, meant: Preferences) -> Drawing:
    """What the drawing leaves to the preferences."""
    for word in COLLECTORS:
        if options.get(word) is True:
            del options[word]
            if collector := getattr(meant, word):
                said = {field.name: getattr(collector, field.name) for field in fields(collector)}
                options[word] = said
        elif options.get(word) is False:
            del options[word]
    if options.get("kind") == "ovs" and "protocols" not in options and meant.protocols:
        options["protocols"] = list(meant.protocols)
    return options


_PATH = re.compile(r"(?P<list>nodes|links)\[(?P<index>\d+)\](?:\.(?P<field>.*))?", re.DOTALL)
_PARTS = {
    "a_port": "a_options",
    "a_to_b": "a_options",
    "b_port": "b_options",
    "b_to_a": "b_options",
}
