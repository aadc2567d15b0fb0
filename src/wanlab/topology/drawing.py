"""A topology as an editor's document: nodes and links with ids that survive renaming, and labels.

    {"nodes": [{"id": "n1", "kind": "host", "name": "h1", "x": 100, "y": 100, "options": {...}}],
     "links": [{"id": "l1", "a": "n1", "b": "n2", "options": {...both directions...},
                "a_options": {...the port at a, and the direction from a...}, "b_options": {...}}],
     "labels": [{"id": "t1", "text": "...", "x": 0, "y": 0}],
     "frames": [{"id": "f1", "text": "...", "x": 0, "y": 0, "width": 200, "height": 100, "colour": ""}],
     "preferences": {"name": "", "ip_base": "10.0.0.0/8", "clock": "virtual", "wire": "mtu", "seed": 1,
                     "pace": "real", "application": {...MiniEdit's...}, "extra": {...}}}

Options are the words of our YAML format. A link to a controller means that it controls the switch. A
switch that reports to the collector of the preferences has `"sflow": true` (or `"netflow": true`);
one that speaks the OpenFlow versions of the preferences has no "protocols". Labels, frames and
preferences for which a topology has no field are in its `extra`, so every file format keeps them.

A drawing may have mistakes: `read_drawing` reads everything that it can and reports the rest.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from math import isfinite
from typing import Any, TypedDict

from wanlab.errors import Problem
from wanlab.fields import Fields, Problems
from wanlab.topology.check import undamaged_problems
from wanlab.topology.cpu import processor_words
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
    read_network_cpu,
    read_node,
)
from wanlab.topology.model import Controller, Link, Node, Source, Switch, Topology
from wanlab.topology.words import CONDITION_WORDS

Drawing = dict[str, Any]

RUN = {"clock": "virtual", "wire": "mtu", "seed": 1, "pace": "real"}
"""The defaults for running a network."""
RUN_VALUES: Mapping[str, Callable[[object], bool]] = {
    "clock": lambda value: value in ("virtual", "real"),
    "wire": lambda value: value in ("mtu", "gso"),
    "pace": lambda value: value in ("real", "fast"),
    "seed": lambda value: isinstance(value, int) and not isinstance(value, bool) and value >= 0,
}
COLLECTORS = ("netflow", "sflow")
LINK_WORDS = ("extra", *CONDITION_WORDS)
"""The fields of a link as a whole, as opposed to those of one end or direction."""


class Label(TypedDict):
    """A text label on the canvas."""

    text: str
    x: float
    y: float


class CanvasFrame(TypedDict):
    """A rectangle behind the nodes, with a text in its upper left corner; x and y are that corner."""

    text: str
    x: float
    y: float
    width: float
    height: float
    colour: str
    """One of FRAME_COLOURS; "" is grey."""


FRAME_COLOURS = ("", "blue", "green", "yellow", "red", "purple")


@dataclass(frozen=True)
class Fault:
    """A mistake in a drawing."""

    id: str
    """The id of the node or link; "" for the drawing as a whole."""
    field: str
    """The field in the drawing ("name", "options.ip", "a_options.rate", "preferences.ip_base")."""
    what: str
    hint: str = ""


# -- from a topology --------------------------------------------------------------------------------


UNSEEN = ("kernel", "ipv6_base")
"""Fields of a topology that the page does not show; a drawing keeps them, and the processor."""
CPU = "cpu"


def draw(topology: Topology) -> Drawing:
    """Return the drawing of a topology."""
    unseen = {key: value for key in UNSEEN if (value := getattr(topology, key))}
    extra = {**topology.extra, **unseen}
    if topology.cpu is not None:
        extra[CPU] = processor_words(topology.cpu)
    application = mapping_in(extra, "application")
    extra.pop("application", None)
    labels = labels_in(extra)
    if labels or extra.get("labels") == []:
        del extra["labels"]
    frames = frames_in(extra)
    if frames or extra.get("frames") == []:
        del extra["frames"]
    run = _take_run(extra)
    preferences = preferences_of({**APPLICATION, **application})
    ids = {node.name: f"n{number}" for number, node in enumerate(topology.nodes, start=1)}
    return {
        "nodes": [_draw_node(node, ids, preferences) for node in topology.nodes],
        "links": _draw_links(topology, ids),
        "labels": [{"id": f"t{number}", **label} for number, label in enumerate(labels, start=1)],
        "frames": [{"id": f"f{number}", **frame} for number, frame in enumerate(frames, start=1)],
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


def _take_run(extra: dict[str, object]) -> Mapping[str, object]:
    """Remove the settings of runs from `extra` and return them; what is not such settings stays."""
    run = mapping_in(extra, "run")
    if not (isinstance(extra.get("run"), Mapping) and _is_run(run)):
        return {}
    del extra["run"]
    return run


def _draw_links(topology: Topology, ids: Mapping[str, str]) -> list[Drawing]:
    """Return the links, and one from each switch to each of its controllers."""
    control_links = [
        (ids[node.name], ids[name])
        for node in topology.switches
        for name in node.controllers
        if name in ids and isinstance(topology.node(name), Controller)
    ]
    ends = [(ids[link.a.node], ids[link.b.node], _link_options(link)) for link in topology.links]
    ends += [(switch, controller, {}) for switch, controller in control_links]
    no_options: Drawing = {"options": {}, "a_options": {}, "b_options": {}}
    return [
        {"id": f"l{number}", "a": a, "b": b, **no_options, **options}
        for number, (a, b, options) in enumerate(ends, start=1)
    ]


def labels_in(extra: Mapping[str, object]) -> list[Label]:
    """Return the labels in `extra`; none if another program has used their key for something else."""
    labels = extra.get("labels")
    if not isinstance(labels, list) or not all(_is_label(label) for label in labels):
        return []
    return [Label(text=label["text"], x=float(label["x"]), y=float(label["y"])) for label in labels]


def _is_label(label: object) -> bool:
    return (
        isinstance(label, Mapping)
        and label.keys() == {"text", "x", "y"}
        and isinstance(label["text"], str)
        and all(_is_coordinate(label[key]) for key in ("x", "y"))
    )


def frames_in(extra: Mapping[str, object]) -> list[CanvasFrame]:
    """Return the frames in `extra`; none if another program has used their key for something else."""
    frames = extra.get("frames")
    if not isinstance(frames, list) or not all(_is_frame(frame) for frame in frames):
        return []
    return [
        CanvasFrame(
            text=frame["text"],
            x=float(frame["x"]),
            y=float(frame["y"]),
            width=float(frame["width"]),
            height=float(frame["height"]),
            colour=frame.get("colour", ""),
        )
        for frame in frames
    ]


def _is_frame(frame: object) -> bool:
    numbers = ("x", "y", "width", "height")
    return (
        isinstance(frame, Mapping)
        and {"text", *numbers} <= frame.keys() <= {"text", "colour", *numbers}
        and isinstance(frame["text"], str)
        and frame.get("colour", "") in FRAME_COLOURS
        and all(_is_coordinate(frame[key]) for key in numbers)
    )


def _is_coordinate(value: object) -> bool:
    """Whether a value is a finite number, or the text of one, as MiniEdit writes it."""
    try:
        return isinstance(value, str | int | float) and isfinite(float(value))
    except (ValueError, OverflowError):
        return False


def _is_run(run: Mapping[str, object]) -> bool:
    return all(word in RUN_VALUES and RUN_VALUES[word](value) for word, value in run.items())


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
    extra_opts = _copy_extra_opts(options)
    for word in COLLECTORS:
        preferred = getattr(preferences, word)
        if preferred and getattr(node, word) == preferred:
            options[word] = True
        elif extra_opts.get(word) == "1":  # enabled, but the preferences name no target
            options[word] = True
            del extra_opts[word]
    if "extra" in options and not options["extra"].get("opts", True):
        del options["extra"]["opts"]
    if not options.get("extra", True):
        del options["extra"]


def _copy_extra_opts(options: Drawing) -> Drawing:
    """Copy the options kept from a MiniEdit file, so that they can be changed, and return them."""
    extra = options.get("extra", {})
    if not isinstance(extra.get("opts"), Mapping):
        return {}
    options["extra"] = {**extra, "opts": dict(extra["opts"])}
    opts: Drawing = options["extra"]["opts"]
    return opts


def _link_options(link: Link) -> Drawing:
    plain = link_to_plain(link)
    return {
        "options": {word: value for word, value in plain.items() if word in LINK_WORDS},
        "a_options": mapping_in(plain, "a_port") | mapping_in(plain, "a_to_b"),
        "b_options": mapping_in(plain, "b_port") | mapping_in(plain, "b_to_a"),
    }


# -- to a topology ----------------------------------------------------------------------------------


def read_drawing(drawing: Drawing) -> tuple[Topology, list[Fault]]:
    """Return the topology, as far as it can be read, and all mistakes.

    The ends of every link must be ids of existing nodes.
    """
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
        self._frames: list[Drawing] = drawing.get("frames", [])
        self._preferences: Drawing = drawing["preferences"]
        self._problems = Problems()
        self._faults: list[Fault] = []

    def read(self) -> tuple[Topology, list[Fault]]:
        application = Fields(self._preferences["application"], "application", self._problems)
        preferences = read_preferences(application)
        controllers = dict(self._controllers_by_switch())
        topology = Topology(
            name=self._preferences["name"],
            ip_base=self._preferences["ip_base"],
            **{key: str(self._preferences["extra"].get(key, "")) for key in UNSEEN},
            cpu=read_network_cpu(Fields(self._preferences["extra"], "extra", self._problems), CPU),
            nodes=tuple(
                self._node(i, node, preferences, controllers) for i, node in enumerate(self._nodes)
            ),
            links=tuple(self._link(i, link) for i, link in enumerate(self._links)),
            extra=self._extra(application),
            source=Source(places={path: path for path in self._paths()}),
        )
        problems = (*self._problems, *undamaged_problems(topology, self._problems))
        self._faults += [self._fault(problem) for problem in problems]
        return topology, self._faults

    def _extra(self, application: Fields) -> Drawing:
        changed = application.rest_unlike(APPLICATION)
        labels = [{key: label[key] for key in ("text", "x", "y")} for label in self._labels]
        frames = [
            {key: frame[key] for key in CanvasFrame.__annotations__} for frame in self._frames
        ]
        run = {key: self._preferences[key] for key in RUN if self._preferences[key] != RUN[key]}
        unchanged = {
            key: value
            for key, value in self._preferences["extra"].items()
            if key not in (*UNSEEN, CPU)
        }
        return {
            **unchanged,
            **({"application": changed} if changed else {}),
            **({"labels": labels} if labels else {}),
            **({"frames": frames} if frames else {}),
            **({"run": run} if run else {}),
        }

    def _controllers_by_switch(self) -> Iterator[tuple[str, list[str]]]:
        """Yield the id of each switch with the names of its controllers."""
        controllers: dict[str, list[str]] = {}
        for link in self._control:
            a, b = link["a"], link["b"]
            switch, controller = (b, a) if a in self._controllers else (a, b)
            if switch not in self._switches:
                what = (
                    f"controller {self._names[controller]} is linked to {self._names[switch]}, "
                    f"which is not a switch"
                )
                self._faults.append(
                    Fault(link["id"], "", what, "link a controller to switches only")
                )
                continue
            if self._names[controller] in controllers.setdefault(switch, []):
                what = f"{self._names[switch]} is already linked to {self._names[controller]}"
                self._faults.append(Fault(link["id"], "", what, "delete one of the two"))
                continue
            for part in ("options", "a_options", "b_options"):
                for word in link[part]:
                    what = f"a link to a controller cannot have {word}"
                    hint = "it only assigns the controller; packets take the links between nodes"
                    self._faults.append(Fault(link["id"], f"{part}.{word}", what, hint))
            controllers[switch].append(self._names[controller])
        yield from controllers.items()

    def _node(
        self,
        index: int,
        drawn: Drawing,
        preferences: Preferences,
        controllers_by_switch: Mapping[str, list[str]],
    ) -> Node:
        options = dict(drawn["options"])
        enabled = [word for word in COLLECTORS if options.get(word) is True]
        if drawn["kind"] == "switch":
            options = _with_preferences(options, preferences)
            linked = controllers_by_switch.get(drawn["id"], [])
            controllers = [*options.pop("controllers", []), *linked]
            options |= {"controllers": controllers} if controllers else {}
        position = {"x": drawn["x"], "y": drawn["y"]}
        plain = {drawn["kind"]: drawn["name"], **options, **position}
        node = read_node(Fields(plain, f"nodes[{index}]", self._problems))
        if not drawn["name"]:
            node = replace(node, name="")
        # Enabled, but the preferences name no target: keep it as MiniEdit does.
        without_target = {word: "1" for word in enabled if getattr(node, word, None) is None}
        if without_target and isinstance(node, Switch):
            opts = mapping_in(node.extra, "opts") | without_target
            node = replace(node, extra={**node.extra, "opts": opts})
        return node

    def _link(self, index: int, link: Drawing) -> Link:
        plain = {"link": [self._names[link["a"]], self._names[link["b"]]], **link["options"]}
        for part, port, direction in (
            ("a_options", "a_port", "a_to_b"),
            ("b_options", "b_port", "b_to_a"),
        ):
            options = link[part]
            plain[direction] = {word: options[word] for word in options if word in CONDITION_WORDS}
            plain[port] = {word: options[word] for word in options if word not in CONDITION_WORDS}
        return read_link(Fields(plain, f"links[{index}]", self._problems))

    def _paths(self) -> Iterator[str]:
        """Yield the path of every field that `check` may name."""
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
        id, field = self._id_and_field(problem.place)
        return Fault(id, field, problem.what, problem.hint)

    def _id_and_field(self, path: str) -> tuple[str, str]:
        """Return the id and the field in the drawing for a path in the topology."""
        match = _PATH.fullmatch(path)
        if match is None:
            return "", f"preferences.{path}" if path else ""
        field = match["field"] or ""
        first, _, rest = field.partition(".")
        if match["list"] == "nodes":
            node = self._nodes[int(match["index"])]
            if first in (node["kind"], "name"):
                return node["id"], "name"
            return node["id"], field if first in ("", "x", "y") else f"options.{field}"
        link = self._links[int(match["index"])]
        if first in ("", "a", "b", "link"):
            return link["id"], "" if first == "link" else first
        if first in _PARTS:
            return link["id"], f"{_PARTS[first]}.{rest}" if rest else _PARTS[first]
        for part in ("options", "a_options", "b_options"):
            if first in link[part]:
                return link["id"], f"{part}.{field}"
        return link["id"], f"options.{field}"


def _with_preferences(options: Drawing, preferences: Preferences) -> Drawing:
    """Fill in the options of a switch that the drawing leaves to the preferences."""
    for word in COLLECTORS:
        if options.get(word) is True:
            del options[word]
            if collector := getattr(preferences, word):
                options[word] = {
                    field.name: getattr(collector, field.name) for field in fields(collector)
                }
        elif options.get(word) is False:
            del options[word]
    if options.get("kind") == "ovs" and "protocols" not in options and preferences.protocols:
        options["protocols"] = list(preferences.protocols)
    return options


_PATH = re.compile(r"(?P<list>nodes|links)\[(?P<index>\d+)\](?:\.(?P<field>.*))?", re.DOTALL)
_PARTS = {
    "a_port": "a_options",
    "a_to_b": "a_options",
    "b_port": "b_options",
    "b_to_a": "b_options",
}
