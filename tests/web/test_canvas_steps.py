"""Test canvas steps of lessons: as edits of a document, as texts, and through the server."""

from __future__ import annotations

import msgspec
import pytest
from web_client import RefusedCommandError, WebClient

from wanlab.errors import WanlabError
from wanlab.labs import catalog
from wanlab.web.drawing.document import edited
from wanlab.web.lessons.canvas_steps import can_be_done, can_perform, describe, edit_for
from wanlab.web.protocol.model import Document

DRAW = {"hosts": ["h1", "h2"], "switches": ["s1"], "links": [["h1", "s1"], ["s1", "h2"]]}


@pytest.fixture
def drawn() -> Document:
    return edited(Document(), edit_for(Document(), "draw", DRAW))


def names(document: Document) -> dict[str, str]:
    return {node.id: node.name for node in document.nodes}


def test_nodes_and_links_are_drawn(drawn: Document) -> None:
    assert [(node.name, node.kind) for node in drawn.nodes] == [
        ("h1", "host"),
        ("h2", "host"),
        ("s1", "switch"),
    ]
    assert len({(node.x, node.y) for node in drawn.nodes}) == 3
    ends = [(names(drawn)[link.a], names(drawn)[link.b]) for link in drawn.links]
    assert ends == [("h1", "s1"), ("s1", "h2")]


def test_elements_that_are_already_drawn_do_not_change(drawn: Document) -> None:
    more = {"hosts": ["h1", "h3"], "links": [["s1", "h1"], ["h3", "s1"]]}
    edit = edit_for(drawn, "draw", more)
    assert [node.name for node in edit.put.nodes] == ["h3"]
    assert len(edit.put.links) == 1
    assert edit.label == "Draw h3"
    after = edited(drawn, edit)
    assert (after.nodes[:3], after.links[:2]) == (drawn.nodes, drawn.links)


def test_properties_change_one_option_and_keep_the_id_and_the_place(drawn: Document) -> None:
    edit = edit_for(drawn, "properties", {"h1": {"ip": "10.0.0.9/8"}})
    (h1,) = edit.put.nodes
    options = {**drawn.nodes[0].options, "ip": "10.0.0.9/8"}
    assert h1 == msgspec.structs.replace(drawn.nodes[0], options=options)
    assert edit.label == "Set properties of h1"
    after = edited(drawn, edit)
    assert edited(after, edit_for(after, "properties", {"h1": {"ip": ""}})) == drawn


def test_a_processor_is_an_option_of_its_host(drawn: Document) -> None:
    edit = edit_for(drawn, "properties", {"h1": {"cpu": "server-2019"}})
    (h1,) = edit.put.nodes
    assert h1.options == {**drawn.nodes[0].options, "cpu": "server-2019"}


def test_properties_of_a_node_that_is_not_drawn_are_refused(drawn: Document) -> None:
    with pytest.raises(WanlabError, match="h7"):
        edit_for(drawn, "properties", {"h7": {"ip": "10.0.0.9/8"}})


def test_preferences_change_only_the_named_settings(drawn: Document) -> None:
    edit = edit_for(drawn, "preferences", {"ip_base": "15.0.0.0/8"})
    assert edit.preferences == {"ip_base": "15.0.0.0/8"}
    assert edit.put.nodes == ()
    edit = edit_for(drawn, "preferences", {"start_cli": True})
    assert edit.preferences is not None
    assert edit.preferences["application"]["startCLI"] == "1"  # type: ignore[index]


def test_steps_are_described_in_the_words_of_the_menus() -> None:
    steps = {step.n: step for step in catalog.find("1").steps}
    gui = [describe(step) for step in steps.values() if step.do]
    assert "Draw h1, h2, s1; link h1\N{EN DASH}s1, s1\N{EN DASH}h2" in gui
    assert "Properties of h1: IP address 10.0.0.1/8; Properties of h2: IP address 10.0.0.2/8" in gui
    assert "Properties of h1: IP address empty; Properties of h2: IP address empty" in gui
    assert "Edit > Preferences: IP base 15.0.0.0/8" in gui
    assert "Open terminals of h1 and h2" in gui


def test_a_step_that_only_reads_output_cannot_be_performed() -> None:
    (look, *_) = (step for step in catalog.find("16").steps if step.do and not can_perform(step))
    assert describe(look).startswith("Look")
    assert not can_be_done(look)


def test_steps_that_are_left_out_are_not_counted_in_the_progress() -> None:
    left_out = {
        (name, s.n) for name in ("6", "14", "18") for s in catalog.find(name).steps if s.skip
    }
    assert left_out == {("6", 15), ("14", 20), ("18", 85)}
    steps = catalog.find("14").steps
    # Two more of Lab 14 only look at what ping has printed.
    assert sum(map(can_be_done, steps)) == len(steps) - 3


@pytest.mark.machine
def test_the_server_performs_the_canvas_steps_of_a_lab(client: WebClient) -> None:
    client.do("lesson", unit="1", action="start")
    assert (client.document["nodes"], client.state["file"]["path"]) == ([], None)
    # This opens a terminal, because the empty network runs.
    client.do("lesson", unit="1", action="perform", step=1)
    assert client.state["run"]["phase"] == "running"
    replies = [client.do("lesson", unit="1", action="perform", step=n) for n in range(10, 15)]
    assert [it["title"] for it in client.state["terminals"]["terminals"]] == ["h1", "h2"]
    assert replies[-1] == [it["id"] for it in client.state["terminals"]["terminals"]]
    assert client.state["run"]["phase"] == "running"
    assert not client.state["run"]["is_stale"]
    lab01 = next(it for it in client.state["lessons"]["lessons"] if it["unit"] == "1")
    assert lab01["done"] == [1, *range(10, 15)]


def test_a_step_does_not_discard_unsaved_changes_by_itself(client: WebClient) -> None:
    client.do("edit", put={"nodes": [{"id": "x", "kind": "host", "name": "h1"}]})
    with pytest.raises(RefusedCommandError) as refused:
        client.do("lesson", unit="1", action="perform", step=10)
    assert refused.value.code == "not saved"
    client.do("lesson", unit="1", action="perform", step=10, discard=True)
    assert client.document["nodes"] == []
