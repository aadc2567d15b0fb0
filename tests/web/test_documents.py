"""The document as several browsers see it: edits, undo, files, drafts."""

import json
import signal
from pathlib import Path

import pytest
from visitor import RefusedCommandError, Server, Visitor, wait_until

from wanlab.labs import catalog

MINIEDIT = Path(__file__).parents[1] / "golden" / "topologies" / "miniedit.mn"
H3 = {"id": "x3", "kind": "host", "name": "h3", "x": 5.0, "y": 6.0, "options": {"number": 3}}
LINK = {"id": "y3", "a": "x3", "b": "n3", "options": {}, "a_options": {}, "b_options": {}}


def names(visitor: Visitor) -> list[str]:
    return [it["name"] for it in visitor.document["nodes"]]


@pytest.fixture
def two(server: Server) -> Visitor:
    visitor = server.visit()
    visitor.do("open", path="two.yaml")
    return visitor


def test_two_browsers_see_the_same_document(two: Visitor) -> None:
    with two, two.server.visit() as other:
        assert names(other) == ["h1", "h2", "s1"]
        two.do("edit", put={"nodes": [H3], "links": [LINK]}, label="Add h3")
        other.until(lambda: "h3" in names(other))
        assert other.document == two.document
        assert other.state["document"]["by"] == two.name != other.name


def test_undo_is_shared(two: Visitor) -> None:
    with two, two.server.visit() as other:
        two.do("edit", put={"nodes": [H3], "links": [LINK]}, label="Add h3")
        other.until(lambda: other.state["document"]["undo"] == "Add h3")
        other.do("undo")
        two.until(lambda: names(two) == ["h1", "h2", "s1"])
        assert two.state["document"]["redo"] == "Add h3"
        assert two.state["file"]["is_saved"]
        two.do("redo")
        other.until(lambda: "h3" in names(other))
        with pytest.raises(RefusedCommandError, match="nothing to redo"):
            other.do("redo")


def test_links_go_with_their_node_and_come_back_with_it(two: Visitor) -> None:
    with two:
        before = json.dumps(two.document["links"])
        two.do("edit", drop=[two.id_of("h1")], label="Delete h1")
        assert len(two.document["links"]) == 1
        two.do("undo")
        assert sorted(json.loads(before), key=str) == sorted(two.document["links"], key=str)


def test_renaming_keeps_links_and_addresses_have_their_place(two: Visitor) -> None:
    with two:
        node = next(it for it in two.document["nodes"] if it["name"] == "h1")
        two.do(
            "edit", put={"nodes": [{**node, "name": "laptop", "options": {"ip": "10.0.0.1/99"}}]}
        )
        problems = two.state["problems"]["problems"]
        assert [it["place"] for it in problems] == [{"id": node["id"], "field": "options.ip"}]
        two.do("edit", put={"nodes": [{**node, "name": "laptop", "options": {}}]})
        assert two.state["problems"]["problems"] == []
        assert "h1" not in two.server.get("/api/export/yaml").text
        assert "[laptop, s1]" in two.server.get("/api/export/yaml").text


def test_a_link_to_what_was_deleted_meanwhile_is_refused(two: Visitor) -> None:
    with two:
        two.do("edit", drop=[two.id_of("s1")])
        with pytest.raises(RefusedCommandError, match="does not exist"):
            two.do("edit", put={"nodes": [H3], "links": [LINK]})
        assert "h3" not in names(two)


def test_what_is_not_saved_is_not_thrown_away_unasked(two: Visitor) -> None:
    with two:
        two.do("edit", put={"nodes": [H3]})
        for what in ({"do": "new"}, {"do": "open", "path": "two.yaml"}):
            with pytest.raises(RefusedCommandError) as refused:
                two.do(what.pop("do"), **what)
            assert refused.value.code == "not saved"
        two.do("new", discard=True)
        assert two.document["nodes"] == []


def test_nobody_is_asked_to_save_for_what_cannot_be_opened(two: Visitor) -> None:
    with two:
        two.do("edit", put={"nodes": [H3]})
        for words in ({"path": "missing.mn"}, {"path": "notes.txt", "text": "hello"}):
            with pytest.raises(RefusedCommandError) as refused:
                two.do("open", **words)
            assert refused.value.code == ""
        assert "h3" in names(two)


def test_another_file_is_not_replaced_unasked(two: Visitor) -> None:
    with two:
        (two.server.folder / "there.mn").write_text("mine")
        with pytest.raises(RefusedCommandError) as refused:
            two.do("save", path="there.mn")
        assert refused.value.code == "exists"
        assert (two.server.folder / "there.mn").read_text() == "mine"
        two.do("save", path="there.mn", overwrite=True)
        assert json.loads((two.server.folder / "there.mn").read_text())["version"] == "2"
        assert two.state["file"]["path"] == "there.mn"


def test_a_wrong_network_is_not_saved_and_says_why(two: Visitor) -> None:
    with two:
        two.do("edit", put={"nodes": [{**H3, "name": "h1"}]})
        before = (two.server.folder / "two.yaml").read_text()
        with pytest.raises(RefusedCommandError, match='"h1" is taken'):
            two.do("save")
        assert (two.server.folder / "two.yaml").read_text() == before


def _course() -> list[Path]:
    return [catalog.find(name).topology for name in catalog.names()]


def test_all_files_of_the_course_are_opened_and_saved_without_loss(server: Server) -> None:
    files = [path for path in _course() if path.is_file()]
    assert len(files) > 25
    with server.visit() as visitor:
        for path in (*files, MINIEDIT):
            text = path.read_text(encoding="utf-8")
            visitor.do("open", path="any.mn", text=text)
            visitor.do("save", path="any.mn", overwrite=True)
            saved = json.loads((server.folder / "any.mn").read_text())
            assert visitor.state["problems"]["problems"] == []
            _assert_nothing_is_lost(json.loads(text), saved, path.parent.name)


def _assert_nothing_is_lost(before: object, after: object, where: str) -> None:
    """A file may say more afterwards (numbers of ports, defaults), and nothing less."""
    if isinstance(before, dict):
        assert isinstance(after, dict), where
        for key, value in before.items():
            _assert_nothing_is_lost(value, after.get(key), f"{where}.{key}")
    elif isinstance(before, list):
        assert isinstance(after, list), where
        assert len(before) == len(after), where
        for number, (one, other) in enumerate(zip(before, after, strict=True)):
            _assert_nothing_is_lost(one, other, f"{where}[{number}]")
    else:
        assert before == after, where


def test_a_dead_server_loses_nothing(server: Server) -> None:
    with server.visit() as visitor:
        visitor.do("open", path="two.yaml")
        visitor.do("edit", put={"nodes": [H3], "links": [LINK]}, label="Add h3")
        draft = server.folder / ".wanlab" / "draft.json"
        wait_until(lambda: draft.exists() and "h3" in draft.read_text())
        drawn = visitor.document
        server.end(signal.SIGKILL)
    with Server(server.folder) as again, again.visit() as visitor:
        assert visitor.state["draft"]["nodes"] == 4
        assert names(visitor) == []
        visitor.do("draft", take=True)
        assert visitor.document == drawn
        assert visitor.state["file"] == {
            **visitor.state["file"],
            **{"path": "two.yaml", "is_saved": False},
        }
        visitor.do("save")
        again.end()
    with Server(server.folder, str(server.folder / "two.yaml")) as third, third.visit() as visitor:
        assert visitor.state["draft"]["name"] is None
        assert "h3" in names(visitor)


def test_a_draft_is_thrown_away_only_when_one_says_so(server: Server) -> None:
    with server.visit() as visitor:
        visitor.do("edit", put={"nodes": [H3]})
        server.end()
    with Server(server.folder) as again, again.visit() as visitor:
        assert visitor.state["draft"]["nodes"] == 1
        visitor.do("edit", put={"nodes": [{**H3, "name": "other"}]})
        again.end(signal.SIGKILL)
    with Server(server.folder) as third, third.visit() as visitor:
        # The newer one is offered; the older one was neither taken nor refused before.
        assert visitor.state["draft"]["nodes"] == 1
        visitor.do("draft", take=False)
        assert visitor.state["draft"]["name"] is None
    notes = server.folder / ".wanlab"
    assert len(list(notes.glob("draft-*.json"))) == 1


def test_a_folder_has_one_laboratory(server: Server) -> None:
    with pytest.raises(AssertionError, match="already open in"):
        Server(server.folder)


def test_exports(two: Visitor) -> None:
    with two:
        kinds = {"mn": '"version": "2"', "yaml": "nodes:", "py": "net.addHost('h1'", "svg": "<svg"}
        kinds["sh"] = "#!/bin/sh"
        for form, words in kinds.items():
            answer = two.server.get(f"/api/export/{form}")
            assert words in answer.text
            assert f"two.{form}" in answer.headers["content-disposition"]
        compile(two.server.get("/api/export/py").text, "two.py", "exec")
        assert two.server.get("/api/export/exe").status_code == 400
