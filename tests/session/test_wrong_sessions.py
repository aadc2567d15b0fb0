"""Session files with correct checksums and wrong content are refused before anything acts on them."""

from __future__ import annotations

import gc
import time
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from session_text import HEADER, START, lines_of, session_of, written

from wanlab.agent.messages import Kind
from wanlab.network.branching import options_of, restore_folder
from wanlab.network.replay import refuse_wrong_topologies
from wanlab.session import SessionError, parse, read
from wanlab.session.lines import Line, SessionHeader

BEGAN: Line = {"at": 5, "began": None}
OPTIONAL = {"cpu", "kernel", "python_version"}
FOLDER: Line = {"folder": ".", "mode": 0o755, "mtime_ns": 0}


@pytest.mark.parametrize("name", sorted(set(HEADER) - OPTIONAL - {"format"}))
def test_a_header_without_a_field_is_refused(name: str) -> None:
    header = {key: value for key, value in HEADER.items() if key != name}
    with pytest.raises(SessionError, match=f'line 1 is not .*: session: "{name}" is missing'):
        parse(written([{"session": header}]), "s")


@pytest.mark.parametrize("name", sorted(set(HEADER) - {"format"}))
@pytest.mark.parametrize("value", [["a", {"b": None}], 1.5, -1, True])
def test_a_header_with_a_field_of_another_type_is_refused(name: str, value: object) -> None:
    with pytest.raises(SessionError, match=rf"line 1 is not .*: session\.{name}.*expected"):
        parse(session_of(**{name: value}), "s")


def test_the_header_in_the_tests_has_all_fields() -> None:
    assert set(HEADER) == {field.name for field in msgspec.structs.fields(SessionHeader)}


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ({"at": -1, "end": None}, "at: expected a whole number >= 0"),
        ({"at": 1e300, "step": 1}, "at: expected a whole number, got a number"),
        ({"at": 1, "step": "soon"}, "step: expected a whole number, got a string"),
        ({"at": 1, "process": 7}, "process: expected a mapping of fields"),
        ({"at": 1, "process": {"number": 7}}, 'process: "node" is missing'),
        ({"at": 1, "upload": [{"file": "a", "mode": 1, "mtime_ns": 1}]}, 'lacks "sha256"'),
        ({"at": 1, "in": {}}, "in: expected a list"),
        ({"at": 1, "in": [{}]}, '"" is not a kind of frame'),
        ({"at": 1, "in": [{"shout": 1}]}, '"shout" is not a kind of frame'),
        ({"at": 1, "in": [{"output": 1, "text": "a"}]}, "output 1 cannot be sent again"),
        ({"at": 1, "in": [{"input": 2**40, "text": "a"}]}, "number: expected a whole number <="),
        ({"at": 1, "in": [{"input": 1, "base64": "?"}]}, "base64"),
        ({"at": 1, "in": [{"call": 1, "text": "a"}]}, "call 1 needs another kind of body"),
        ({"at": 1, "in": [{"call": 1, "body": []}]}, "expected a mapping of fields, got a list"),
        ({"at": 1, "in": [{"call": 1, "body": {"do": "start"}}]}, '"node" is missing'),
        (
            {"at": 1, "in": [{"call": 1, "body": {**START, "terminal": [24, 1e9]}}]},
            r"terminal\[1\]: expected a whole number",
        ),
        ({"at": 1, "in": [{"call": 1, "body": {**START, "arguments": []}}]}, "arguments: expected"),
        ({"at": 1, "out": {"ended": 1, "body": {}}}, '"status" is missing'),
        ({"at": 1, "out": {"reply": 1}}, "reply 1 needs another kind of body"),
        ({"at": 1, "in": [{"input": 1, "text": "abc"}], "bytes": 2}, "longer than the bytes"),
        ({"link": "a"}, 'the link lacks "to"'),
        ({"file": "a\0b", "mode": 1, "mtime_ns": 1, "sha256": ""}, "file: expected"),
        ({"folder": "a", "mode": 1, "mtime_ns": 2**63}, "mtime_ns: expected a whole number"),
        ({"programs": {"ping": 1}}, "expected a string"),
    ],
)
def test_a_wrong_line_is_named(line: Line, message: str) -> None:
    with pytest.raises(SessionError, match=f"^s: line 2 is not a line of a session.*{message}"):
        parse(session_of(line), "s")


def test_a_deep_line_and_one_with_many_values_are_refused() -> None:
    deep: Any = "bottom"
    for _ in range(500):
        deep = [deep]
    with pytest.raises(SessionError, match="nested more than 64 levels deep"):
        parse(session_of({"at": 1, "out": {"reply": 1, "body": deep}}), "s")
    many: list[list[int]] = [[]] * 1_400_000
    with pytest.raises(SessionError, match="more than 4000000 values"):
        parse(session_of({"at": 1, "out": {"reply": 1, "body": many}}), "s")


@pytest.mark.parametrize(
    ("topology", "message"),
    [
        ({"nodes": [{"cloud": "h1"}]}, "nodes"),
        ({"links": [{"link": ["h1", "h2"]}]}, "h1"),
        ({"nodes": 7}, "7 is not a list"),
    ],
)
def test_a_session_with_a_wrong_topology_is_not_replayed(topology: Line, message: str) -> None:
    later = session_of({"at": 1, "topology": topology}, BEGAN)
    for data in (session_of(BEGAN, topology=topology), later):
        with pytest.raises(
            SessionError, match=f"(?s)s: a topology of this session is wrong.*{message}"
        ):
            refuse_wrong_topologies(parse(data, "s"))


@pytest.mark.parametrize("name", ["s.wanlab", "s.wanlab/inside", "a\0b", "x" * 300])
def test_a_folder_to_work_in_that_cannot_be_made_is_named(tmp_path: Path, name: str) -> None:
    (tmp_path / "s.wanlab").write_bytes(session_of(FOLDER, BEGAN))
    with pytest.raises(SessionError, match=r"cannot work in the folder '.*': "):
        restore_folder(read(tmp_path / "s.wanlab"), tmp_path / name)


@pytest.mark.parametrize("name", ["/dev/zero", "folder", "a\0b", "missing"])
def test_a_session_that_is_not_a_file_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / "folder").mkdir()
    with pytest.raises(SessionError, match=r"(cannot read )?the session .*: |is larger than"):
        read(tmp_path / name)


def test_frames_cut_into_very_many_pieces_are_read_in_linear_time() -> None:
    empty: list[Line] = [{"at": 1, "in": [], "bytes": 1} for _ in range(20_000)]
    data = session_of(*empty)
    gc.collect()
    before_s = time.process_time()
    parse(data, "s")
    assert time.process_time() - before_s < 5


WORDS = st.sampled_from(
    [*HEADER, "at", "in", "out", "bytes", "call", "reply", "do", "number", "to"]
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=3),
    max_leaves=8,
)
GOOD: list[Line] = [
    {"session": HEADER},
    FOLDER,
    {"link": "latest", "to": "results"},
    {"programs": {"ping": "iputils"}},
    {"at": 1, "in": [{"call": 1, "body": START}, {"input": 2, "text": "ls\n"}]},
    {"at": 2, "out": {"reply": 1, "body": 42}},
    {"at": 3, "out": {"output": 2, "text": "a\n"}},
    {"at": 3, "out": {"request": 3, "text": '{"do": "line"}'}},
    {"at": 4, "out": {"ended": 2, "body": {"status": 0}}},
    BEGAN,
    {"at": 6, "topology": HEADER["topology"]},
    {"at": 7, "process": {"number": 2, "node": "h1"}},
    {"at": 9, "end": None},
]


@settings(derandomize=True, max_examples=400, deadline=None)
@given(st.data())
def test_a_session_with_any_value_replaced_is_read_or_refused(data: st.DataObject) -> None:
    lines = lines_of(written(GOOD))
    path: list[Any] = [data.draw(st.integers(0, len(lines) - 1))]
    value: Any = lines[path[0]]
    while isinstance(value, (dict, list)) and value and data.draw(st.integers(0, 5)):
        keys = list(value) if isinstance(value, dict) else list(range(len(value)))
        path.append(data.draw(st.sampled_from(keys)))
        value = value[path[-1]]
    parent: Any = lines
    for key in path[:-1]:
        parent = parent[key]
    parent[path[-1]] = data.draw(VALUES)
    try:
        session = parse(written(lines), "s")
        refuse_wrong_topologies(session)
    except SessionError as error:
        assert str(error).startswith("s")  # it names the file
        return
    options_of_any_kernel(session)
    assert [call.do for call in session.start_calls()] in ([], ["start"])
    assert session.end_ns >= 0
    assert session.identity.id == session.header.id
    assert isinstance(session.has_prompt, bool)
    assert session.unrepeatable() == [] or session.moments
    assert all(moment.frame.kind in Kind for moment in session.moments if hasattr(moment, "frame"))


def options_of_any_kernel(session: Any) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("wanlab.network.branching.kernel_of", lambda session, default: "")
        options_of(session)
