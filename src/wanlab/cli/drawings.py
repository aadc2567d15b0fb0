"""Mermaid diagrams as boxes and lines of text, for terminals.

termaid draws them. It reads only a part of Mermaid's syntax, so flowcharts are parsed here and
rewritten in that part. If labels of arrows make a drawing wider than the terminal, numbers stand for
them. A diagram that termaid cannot draw becomes a list of its nodes with the arrows that leave them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

_NODE = re.compile(
    r'\s*([A-Za-z]\w*)(?:(?:\(\(|\[\(|\(|\[|\{)(?:"([^"]*)"|(.*?))(?:\)\)|\)\]|\)|\]|\}))?'
)
_ARROW = re.compile(
    r'\s*(?:(--)\s+"?([^"\n]*?)"?\s+(---|-->)|(-\.)\s+"?([^"\n]*?)"?\s+(\.->)|(---|-->|-\.->))'
)
_BREAK = re.compile(r"\s*<br\s*/?>\s*")
_LINES = {"---": ("──", "──"), "-->": ("──", "─►"), "-.->": ("┄┄", "┄►")}
"""How an arrow of each kind begins and ends."""
_GROUP = re.compile(r'subgraph\s+(\w+)(?:\["?(.*?)"?\])?')


@dataclass(frozen=True)
class Arrow:
    """A line between two nodes."""

    start: str
    end: str
    kind: str
    label: str = ""


@dataclass
class Flowchart:
    """The content of a flowchart, without its layout."""

    direction: str = "LR"
    nodes: dict[str, str] = field(default_factory=dict)
    arrows: list[Arrow] = field(default_factory=list)
    groups: dict[str, list[str]] = field(default_factory=dict)
    """The nodes of each subgraph by its title."""


def as_text(source: str, width: int) -> str:
    """Return a diagram as text of at most `width` columns, or its source if it cannot be drawn."""
    if not source.lstrip().startswith("flowchart"):
        drawn = _drawn(source)
        return drawn if drawn and _width(drawn) <= width else source.rstrip()
    chart = parse(source)
    return "\n".join(_picture(chart, width) or _listed(chart))


def _picture(chart: Flowchart, width: int) -> list[str]:
    """Return the lines of a drawing of at most `width` columns; [] if there is none."""
    groups = [
        f"{title}: {', '.join(_name(chart, member) for member in members)}"
        for title, members in chart.groups.items()
    ]
    for shown, legend in ((chart, []), _numbered(chart)):
        drawn = _drawn(_in_simple_words(shown)) if _is_simple(shown) else ""
        labels = [*shown.nodes.values(), *(arrow.label for arrow in shown.arrows)]
        is_complete = all(word in drawn for label in labels for word in label.split())
        if drawn and is_complete and _width(drawn) <= width:
            return [drawn, *legend, *groups]
    return []


def _numbered(chart: Flowchart) -> tuple[Flowchart, list[str]]:
    """Return the chart with numbers for its arrows' labels, and a line for each number."""
    arrows: list[Arrow] = []
    legend: list[str] = []
    for arrow in chart.arrows:
        if arrow.label:
            legend.append(f"({len(legend) + 1}) {arrow.label}")
        arrows.append(replace(arrow, label=f"({len(legend)})" if arrow.label else ""))
    return replace(chart, arrows=arrows), legend


def parse(source: str) -> Flowchart:
    """Parse a flowchart: nodes with their labels, arrows, and subgraphs."""
    chart = Flowchart()
    group: list[str] | None = None
    for line in source.strip().splitlines():
        statement = line.strip()
        if statement.startswith("flowchart"):
            chart.direction = statement.split()[1]
        elif match := _GROUP.match(statement):
            group = chart.groups.setdefault(match[2] or match[1], [])
        elif statement == "end":
            group = None
        elif statement and not statement.startswith("direction"):
            for name in _read_chain(statement, chart):
                if group is not None and name not in group:
                    group.append(name)
    return chart


def _read_chain(statement: str, chart: Flowchart) -> list[str]:
    """Read `a --- b --- c`; return its nodes."""
    names: list[str] = []
    position, arrow = 0, None
    while match := _NODE.match(statement, position):
        name = match[1]
        label = match[2] or match[3]
        chart.nodes[name] = _BREAK.sub("\n", label) if label else chart.nodes.get(name, name)
        if arrow is not None:
            text = _BREAK.sub(" ", arrow[2] or arrow[5] or "")
            kind = arrow[3] or arrow[7] or "-.->"
            chart.arrows.append(Arrow(names[-1], name, kind, text))
        names.append(name)
        arrow = _ARROW.match(statement, match.end())
        if arrow is None:
            break
        position = arrow.end()
    return names


def _is_simple(chart: Flowchart) -> bool:
    """Whether every arrow leads to the next column: termaid draws others across each other."""
    columns = _columns(chart)
    return chart.direction == "LR" and all(
        columns[arrow.end] == columns[arrow.start] + 1 for arrow in chart.arrows
    )


def _columns(chart: Flowchart) -> dict[str, int]:
    """Return the length of the longest path to each node. A cycle ends after one pass per node."""
    columns = dict.fromkeys(chart.nodes, 0)
    for _ in chart.nodes:
        for arrow in chart.arrows:
            columns[arrow.end] = max(columns[arrow.end], columns[arrow.start] + 1)
    return columns


def _in_simple_words(chart: Flowchart) -> str:
    """Return the flowchart in the part of Mermaid that termaid reads."""
    lines = ["flowchart LR"]
    lines += [f'{name}["{_escaped(label)}"]' for name, label in chart.nodes.items()]
    for arrow in chart.arrows:
        label = f'|"{arrow.label}"|' if arrow.label else ""
        lines.append(f"{arrow.start} {arrow.kind}{label} {arrow.end}")
    return "\n".join(lines)


def _escaped(label: str) -> str:
    return label.replace("\n", "\\n")


def _drawn(source: str) -> str:
    """Return what termaid draws, or "" if it cannot."""
    import termaid

    try:
        drawn = str(termaid.render(source, padding_x=1, padding_y=0, gap=2))
    except Exception:  # termaid does not document which exceptions it raises
        return ""
    return "\n".join(line.rstrip() for line in drawn.strip("\n").splitlines())


def _listed(chart: Flowchart) -> list[str]:
    """Return the arrows, below the nodes that they leave, below the titles of their groups."""
    lines: list[str] = []
    grouped = {member for members in chart.groups.values() for member in members}
    lines += _arrows_of(chart, (name for name in chart.nodes if name not in grouped), "")
    for title, members in chart.groups.items():
        lines += [f"{title}:", *_arrows_of(chart, members, "  ")]
    return lines


def _arrows_of(chart: Flowchart, names: Iterable[str], indent: str) -> Iterator[str]:
    for name in names:
        leaving = [arrow for arrow in chart.arrows if arrow.start == name]
        if leaving:
            yield f"{indent}{_name(chart, name)}"
        for arrow in leaving:
            line, end = _LINES[arrow.kind]
            label = f" {arrow.label} {line}" if arrow.label else ""
            yield f"{indent}  {line}{label}{end} {_name(chart, arrow.end)}"


def _name(chart: Flowchart, node: str) -> str:
    return " ".join(chart.nodes[node].split())


def _width(text: str) -> int:
    return max(map(len, text.splitlines()), default=0)
