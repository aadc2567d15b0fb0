"""Test what notebooks show, also while time passes."""

from __future__ import annotations

import importlib
import sys
from types import SimpleNamespace
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

from wanlab import Network, Record, Topology, formatters, link, plot, shapes
from wanlab.network.display import network_html
from wanlab.notebook import Html, TimeLine, is_notebook, table, time_line, together
from wanlab.plot import Panel
from wanlab.record import Provenance, Table
from wanlab.record.display import record_html
from wanlab.topology.files.svg import picture_or_none

SECOND_NS = 1_000_000_000
HTML, TEXT = "text/html", "text/plain"


class Handle:
    """Stands in for IPython's handle of an output that can be replaced."""

    def __init__(self, shown: list[str]) -> None:
        self._shown = shown
        self._place = len(shown) - 1

    def update(self, data: dict[str, str], *, raw: bool) -> None:
        assert raw
        self._shown[self._place] = data["text/plain"]


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Simulate a notebook; return the texts of its outputs."""
    outputs: list[str] = []

    def display(data: dict[str, str], *, raw: bool, display_id: bool) -> Handle:
        assert raw
        assert display_id
        outputs.append(data["text/plain"])
        return Handle(outputs)

    shell = SimpleNamespace(kernel=object(), execution_count=1)
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    monkeypatch.setitem(sys.modules, "IPython.display", SimpleNamespace(display=display))
    return outputs


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [100.0]
    monkeypatch.setattr("wanlab.notebook.time.monotonic", lambda: now[0])
    return now


# -- pictures and tables ----------------------------------------------------------------------------


def elements(svg: str, kind: str) -> list[ElementTree.Element]:
    return list(ElementTree.fromstring(svg).iter(f"{{http://www.w3.org/2000/svg}}{kind}"))


def test_a_topology_is_drawn() -> None:
    svg = picture_or_none(shapes.dumbbell(2, rate="10Mbps", delay="20ms"))
    assert svg is not None
    assert len(elements(svg, "line")) == 5
    texts = [element.text for element in elements(svg, "text")]
    assert {"h1", "h4", "s1", "s2", "10.0.0.3/8", "10Mbps", "20ms"} <= set(texts)


def test_a_topology_that_is_wrong_has_no_picture() -> None:
    assert picture_or_none(Topology(links=(link("h1", "h2"),))) is None


def test_texts_of_users_are_escaped_in_html() -> None:
    assert table(("<a>",), [("<b>", Html("<i>c</i>"))]).count("&lt;") == 2
    assert together("<", Html("<hr>")) == "&lt;<hr>"


def test_a_network_shows_its_nodes_before_it_runs() -> None:
    html = network_html(Network(shapes.minimal(delay="5ms"), seed=4))
    assert "not running; embedded machine, virtual clock, seed 4, mtu wire" in html
    assert "10.0.0.2/8" in html
    assert "h1-eth0 to s1: delay 5ms" in html


def test_a_record_shows_its_most_important_facts() -> None:
    queue = Table.of(
        {
            "time_ns": [0, 0, SECOND_NS, SECOND_NS],
            "device": ["s1-eth1", "s1-eth2"] * 2,
            "backlog_bytes": [0, 1, 0, 9],
            "drops": [0, 0, 0, 0],
        }
    )
    origin = Provenance(wanlab="1", seed=3, warnings=("a <queue> overflowed",), commands=("h1$ x",))
    html = record_html(Record(origin, {"qdisc": queue}, {"ping.txt": b"64 bytes\n" * 20}))
    assert html.index("a &lt;queue&gt; overflowed") < html.index("seed 3")
    assert "qdisc: 4 rows of 4 columns" in html
    assert 'nowrap">s1-eth1</td>' in html  # and not "s1-", "eth1"
    assert "and 12 more lines" in html
    (curve,) = ElementTree.fromstring(f"<p>{html}</p>").iter("polyline")
    assert curve.get("points") == "0.0,21.0 160.0,1.0"  # of s1-eth2: from 1 to 9 in a second


def test_a_figure_is_shown() -> None:
    panel = Panel("RTT", "ms", (plot.Line("h1", np.array([0.0, 1.0]), np.array([20.0, 21.0])),))
    svg = plot.timeline([panel])._repr_svg_()  # type: ignore[attr-defined]
    assert len(elements(svg, "svg")) == 1


@pytest.mark.parametrize(
    "path", [*(it for row in formatters.FORMATTERS for it in row[1:]), *formatters.DISPLAYS[0]]
)
def test_every_registered_type_and_function_is_there(path: str) -> None:
    module, _, name = path.rpartition(".")
    assert getattr(importlib.import_module(module), name).__module__ == module


def test_ipython_displays_a_record_a_topology_and_a_network() -> None:
    display_formatter = pytest.importorskip("IPython.core.formatters").DisplayFormatter()
    formatters.register(display_formatter)
    shown_as = [
        set(display_formatter.format(value)[0])
        for value in (Record(Provenance(wanlab="1"), {}), Table.of({"a": [1]}), shapes.minimal())
    ]
    assert shown_as == [{HTML, TEXT}, {HTML, TEXT}, {"image/svg+xml", TEXT}]


# -- what changes while a cell runs -----------------------------------------------------------------


def test_outside_of_notebooks_nothing_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "IPython", raising=False)
    assert not is_notebook()
    assert time_line() is None
    terminal: Any = SimpleNamespace(get_ipython=lambda: SimpleNamespace())
    monkeypatch.setitem(sys.modules, "IPython", terminal)
    assert not is_notebook()


def test_a_short_wait_shows_no_progress(shown: list[str], clock: list[float]) -> None:
    line = TimeLine()
    for now_ns in (0, SECOND_NS):
        line(now_ns, 2 * SECOND_NS)
        clock[0] += 0.4
    line(2 * SECOND_NS, 2 * SECOND_NS)
    assert shown == []


def test_a_long_wait_shows_progress_to_its_end(shown: list[str], clock: list[float]) -> None:
    line = TimeLine()
    seen = []
    for now_ns in range(0, 10 * SECOND_NS, SECOND_NS):
        line(now_ns, 10 * SECOND_NS)
        seen += shown
        clock[0] += 0.2
    line(10 * SECOND_NS, 10 * SECOND_NS)
    assert shown == ["10.0 of 10.0 s of the network's time, 5 times as fast as real time"]
    assert len(set(seen)) == 4  # at most four times a second
    # The next wait has a new output.
    clock[0] += 5
    for _ in range(4):
        line(10 * SECOND_NS, None)
        clock[0] += 0.2
    assert len(shown) == 2


def test_a_wait_on_a_busy_computer_has_one_line_which_reaches_the_end(
    shown: list[str], clock: list[float]
) -> None:
    line = TimeLine()
    for now_ns in (0, 4 * SECOND_NS, 9 * SECOND_NS):
        line(now_ns, None)
        clock[0] += 3
    line(10 * SECOND_NS, 10 * SECOND_NS)
    assert shown == ["10.0 s of the network's time have passed, 1.1 times as fast as real time"]


def test_a_displayed_network_shows_its_current_time(shown: list[str], clock: list[float]) -> None:
    line = time_line()
    assert line is not None
    heard: list[int] = []
    line.others.append(lambda: heard.append(1))
    line(0, SECOND_NS)
    line(SECOND_NS, SECOND_NS)
    assert heard == [1]
    assert shown == []
