"""Test the document that several browsers share: edits, undo, files, drafts."""

import json
import signal
from pathlib import Path

import pytest
from web_client import RefusedCommandError, Server, WebClient, wait_until

from wanlab.labs import catalog

MINIEDIT = Path(__file__).parents[1] / "golden" / "topologies" / "miniedit.mn"
H3 = {"id": "x3", "kind": "host", "name": "h3", "x": 5.0, "y": 6.0, "options": {"number": 3}}
LINK = {"id": "y3", "a": "x3", "b": "n3", "options": {}, "a_options": {}, "b_options": {}}


def names(client: WebClient) -> list[str]:
    return [it["name"] for it in client.document["nodes"]]


@pytest.fixture
def two(server: Server) -> WebClient:
    client = server.connect_client()
    client.do("open", path="two.yaml")
    return client


def test_two_browsers_see_the_same_document(two: WebClient) -> None:
    with two, two.server.connect_client() as other:
        assert names(other) == ["h1", "h2", "s1"]
        two.do("edit", put={"nodes": [H3], "links": [LINK]}, label="Add h3")
        other.until(lambda: "h3" in names(other))
        assert other.document == two.document
        assert other.state["document"]["by"] == two.name != other.name


def test_undo_is_shared(two: WebClient) -> None:
    with two, two.server.connect_client() as other:
        two.do("edit", put={"nodes": [H3], "links": [LINK]}, label="Add h3")
        other.until(lambda: other.state["document"]["undo"] == "Add h3")
        other.do("undo")
        two.until(lambda: two.state["file"]["is_saved"])  # the last push of an edit
        assert names(two) == ["h1", "h2", "s1"]
        assert two.state["document"]["redo"] == "Add h3"
        two.do("redo")
        other.until(lambda: "h3" in names(other))
        with pytest.raises(RefusedCommandError, match="nothing to redo"):
            other.do("redo")


def test_deleting_a_node_deletes_its_links_and_undo_restores_them(two: WebClient) -> None:
    with two:
        before = json.dumps(two.document["links"])
        two.do("edit", drop=[two.id_of("h1")], label="Delete h1")
        assert len(two.document["links"]) == 1
        two.do("undo")
        assert sorted(json.loads(before), key=str) == sorted(two.document["links"], key=str)


def test_renaming_keeps_links_and_problems_name_their_field(two: WebClient) -> None:
    with two:
        node = next(it for it in two.document["nodes"] if it["name"] == "h1")
        two.do(
            "edit", put={"nodes": [{**node, "name": "laptop", "options": {"ip": "10.0.0.1/99"}}]}
        )
        problems = two.state["problems"]["problems"]
        assert [it["place"] for it in problems] == [{"id": node["id"], "field": "options.ip"}]
        with pytest.raises(RefusedCommandError, match="laptop, IP address: "):
            two.do("run")
        two.do("edit", put={"nodes": [{**node, "name": "laptop", "options": {}}]})
        assert two.state["problems"]["problems"] == []
        assert "h1" not in two.server.get("/api/export/yaml").text
        assert "[laptop, s1]" in two.server.get("/api/export/yaml").text


def test_a_link_to_a_deleted_node_is_refused(two: WebClient) -> None:
    with two:
        two.do("edit", drop=[two.id_of("s1")])
        with pytest.raises(RefusedCommandError, match="does not exist"):
            two.do("edit", put={"nodes": [H3], "links": [LINK]})
        assert "h3" not in names(two)


def test_unsaved_changes_are_not_discarded_without_asking(two: WebClient) -> None:
    with two:
        two.do("edit", put={"nodes": [H3]})
        for what in ({"do": "new"}, {"do": "open", "path": "two.yaml"}):
            with pytest.raises(RefusedCommandError) as refused:
                two.do(what.pop("do"), **what)
            assert refused.value.code == "not saved"
        two.do("new", discard=True)
        assert two.document["nodes"] == []


def test_a_file_that_cannot_be_opened_does_not_ask_about_unsaved_changes(two: WebClient) -> None:
    with two:
        two.do("edit", put={"nodes": [H3]})
        for words in ({"path": "missing.mn"}, {"path": "notes.txt", "text": "hello"}):
            with pytest.raises(RefusedCommandError) as refused:
                two.do("open", **words)
            assert refused.value.code == ""
        assert "h3" in names(two)


def test_another_file_is_not_replaced_without_asking(two: WebClient) -> None:
    with two:
        (two.server.folder / "there.mn").write_text("mine")
        with pytest.raises(RefusedCommandError) as refused:
            two.do("save", path="there.mn")
        assert refused.value.code == "exists"
        assert (two.server.folder / "there.mn").read_text() == "mine"
        two.do("save", path="there.mn", overwrite=True)
        assert json.loads((two.server.folder / "there.mn").read_text())["version"] == "2"
        assert two.state["file"]["path"] == "there.mn"


def test_a_network_with_problems_is_not_saved_and_says_why(two: WebClient) -> None:
    with two:
        two.do("edit", put={"nodes": [{**H3, "name": "h1"}]})
        before = (two.server.folder / "two.yaml").read_text()
        with pytest.raises(RefusedCommandError, match='"h1" is taken'):
            two.do("save")
        assert (two.server.folder / "two.yaml").read_text() == before


def _course() -> list[Path]:
    return [catalog.find(name).topology for name in catalog.names()]


@pytest.mark.long
def test_all_files_of_the_course_survive_opening_and_saving(server: Server) -> None:
    files = [path for path in _course() if path.is_file()]
    assert len(files) > 25
    with server.connect_client() as client:
        for path in (*files, MINIEDIT):
            text = path.read_text(encoding="utf-8")
            client.do("open", path="any.mn", text=text)
            client.do("save", path="any.mn", overwrite=True)
            saved = json.loads((server.folder / "any.mn").read_text())
            faults = client.state["problems"]["problems"]
            assert [it for it in faults if it["severity"] == "error"] == []
            _assert_nothing_is_lost(json.loads(text), saved, path.parent.name)


def _assert_nothing_is_lost(before: object, after: object, where: str) -> None:
    """A saved file may have more fields (port numbers, defaults), but none may be missing."""
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


def test_a_killed_server_loses_no_edits(server: Server) -> None:
    with server.connect_client() as client:
        client.do("open", path="two.yaml")
        client.do("edit", put={"nodes": [H3], "links": [LINK]}, label="Add h3")
        draft = server.folder / ".wanlab" / "draft.json"
        wait_until(lambda: draft.exists() and "h3" in draft.read_text())
        drawn = client.document
        server.end(signal.SIGKILL)
    with Server(server.folder) as again, again.connect_client() as client:
        assert client.state["draft"]["nodes"] == 4
        assert names(client) == []
        client.do("draft", take=True)
        assert client.document == drawn
        assert client.state["file"] == {
            **client.state["file"],
            **{"path": "two.yaml", "is_saved": False},
        }
        client.do("save")
        again.end()
    with (
        Server(server.folder, str(server.folder / "two.yaml")) as third,
        third.connect_client() as client,
    ):
        assert client.state["draft"]["name"] is None
        assert "h3" in names(client)


def test_a_draft_is_discarded_only_on_request(server: Server) -> None:
    with server.connect_client() as client:
        client.do("edit", put={"nodes": [H3]})
        server.end()
    with Server(server.folder) as again, again.connect_client() as client:
        assert client.state["draft"]["nodes"] == 1
        client.do("edit", put={"nodes": [{**H3, "name": "other"}]})
        again.end(signal.SIGKILL)
    with Server(server.folder) as third, third.connect_client() as client:
        # The newer draft is offered; the older one had been neither restored nor discarded.
        assert client.state["draft"]["nodes"] == 1
        client.do("draft", take=False)
        assert client.state["draft"]["name"] is None
    notes = server.folder / ".wanlab"
    assert len(list(notes.glob("draft-*.json"))) == 1


def test_a_second_server_in_the_same_folder_is_refused(server: Server) -> None:
    with pytest.raises(AssertionError, match="already open in"):
        Server(server.folder)


def test_the_document_is_exported_in_other_formats(two: WebClient) -> None:
    with two:
        kinds = {"mn": '"version": "2"', "yaml": "nodes:", "py": "net.addHost('h1'", "svg": "<svg"}
        kinds["sh"] = "#!/bin/sh"
        for form, words in kinds.items():
            answer = two.server.get(f"/api/export/{form}")
            assert words in answer.text
            assert f"two.{form}" in answer.headers["content-disposition"]
        compile(two.server.get("/api/export/py").text, "two.py", "exec")
        assert two.server.get("/api/export/exe").status_code == 400


def test_a_topology_of_containerlab_is_imported(client: WebClient) -> None:
    nodes = "{a: {kind: linux}, b: {kind: arista_ceos}}"
    text = f"topology:\n  nodes: {nodes}\n  links:\n    - endpoints: ['a:eth1', 'b:eth1']\n"
    (client.server.folder / "lab.clab.yml").write_text(text)
    reply = client.do("open", path="lab.clab.yml")
    assert reply["program"] == "containerlab"
    assert [note["place"] for note in reply["notes"]] == ["b", "a"]
    assert names(client) == ["a", "b"]
    file = client.state["file"]
    assert (file["name"], file["path"], file["is_saved"]) == ("lab.yaml", None, False)
    with pytest.raises(RefusedCommandError, match="unsaved changes"):
        client.do("open", path="lab.yml", text=text)
    assert client.do("open", path="lab.yml", text=text, discard=True) == reply


FRAME = {"text": "Office\n2nd floor", "x": 1.0, "y": 2.0, "width": 200.0, "height": 90.0}


def test_frames_are_saved_and_exported(two: WebClient) -> None:
    with two:
        two.do("edit", put={"frames": [{"id": "f9", **FRAME, "colour": "blue"}]}, label="Add frame")
        two.do("save", path="framed.mn")
        svg = two.server.get("/api/export/svg").text
        assert 'class="frame"' in svg
        assert "2nd floor" in svg
        two.do("new")
        two.do("open", path="framed.mn")
        assert two.document["frames"] == [{"id": "f1", **FRAME, "colour": "blue"}]
        two.do("edit", drop=["f1"])
        assert two.document["frames"] == []


def test_files_are_listed_with_lab_2_before_lab_10(server: Server) -> None:
    for name in ("Lab 10.mn", "lab 2.mn", "Lab 1.mn", "b.mn"):
        (server.folder / name).write_text("{}")
    (server.folder / "zoo").mkdir()
    files = server.get("/api/files").json()["files"]
    assert [it["name"] for it in files if it["name"] != "two.yaml"] == [
        "zoo",
        "b.mn",
        "Lab 1.mn",
        "lab 2.mn",
        "Lab 10.mn",
    ]
