"""Test session files without a kernel: writing, reading, and naming what is wrong."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from wanlab.agent.messages import Kind, encode, encode_json
from wanlab.session import RecordedSession, SessionError, SessionRecorder, read
from wanlab.session.files import TooMuch, folder_lines, restore
from wanlab.session.lines import FORMAT, Line
from wanlab.session.recorded import Event, ReceivedFrame, SentPiece, parse

HEADER = {"format": FORMAT, "wanlab": "1", "clock": "virtual", "files_left_out": "", "python": "py"}


class Clock:
    now_ns = 0


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def recorder(tmp_path: Path, clock: Clock) -> SessionRecorder:
    recorder = SessionRecorder(tmp_path / "s.wanlab")
    recorder.clock = lambda: clock.now_ns
    recorder.write({"session": HEADER})
    return recorder


def recorded(recorder: SessionRecorder) -> RecordedSession:
    assert recorder.path is not None
    return read(recorder.path)


def test_a_recording_ended_by_a_full_disk_has_no_content(
    capsys: pytest.CaptureFixture[str],
) -> None:
    recorder = SessionRecorder(Path("/dev/full"))
    recorder.write({"session": HEADER})
    assert "no longer recorded" in capsys.readouterr().err
    assert recorder.content() == b""


def test_sent_and_received_data_is_read_with_its_instants(
    recorder: SessionRecorder, clock: Clock
) -> None:
    call = encode_json(Kind.CALL, 1, {"do": "start", "arguments": ["ls"], "number": 2})
    recorder.sent(call)
    clock.now_ns = 7
    frame = encode(Kind.INPUT, 2, "grüß\n".encode()) + encode(Kind.INPUT, 2, b"\xff\0")
    recorder.sent(frame)
    recorder.note("step", 9)
    recorder.end()
    session = recorded(recorder)
    pieces = [moment for moment in session.moments if isinstance(moment, SentPiece)]
    assert [(piece.at_ns, piece.data) for piece in pieces] == [(0, call), (7, frame)]
    assert [(event.at_ns, event.what) for event in session.moments if isinstance(event, Event)] == [
        (7, "step"),
        (7, "end"),
    ]
    assert not session.is_cut


@pytest.mark.parametrize("cut", [1, 3, 9, 50, 99])
def test_frames_sent_in_pieces_are_recorded_in_the_same_pieces(
    recorder: SessionRecorder, clock: Clock, cut: int
) -> None:
    data = b"".join(encode(Kind.INPUT, number, b"x" * 40) for number in (1, 2, 3))
    for at_ns, piece in enumerate([data[:cut], data[cut:110], data[110:]]):
        clock.now_ns = at_ns
        recorder.sent(piece)
    session = recorded(recorder)
    pieces = [moment for moment in session.moments if isinstance(moment, SentPiece)]
    assert [piece.data for piece in pieces] == [data[:cut], data[cut:110], data[110:]]
    assert [piece.at_ns for piece in pieces] == [0, 1, 2]


def test_only_the_digest_of_measured_data_is_kept(recorder: SessionRecorder) -> None:
    recorder.sent(encode_json(Kind.CALL, 1, {"do": "watch", "number": 5}))
    from wanlab.agent.messages import Frame

    recorder.received(Frame(Kind.OUTPUT, 5, b"secret"))
    recorder.received(Frame(Kind.OUTPUT, 6, b"shown"))
    said = [
        moment.plain for moment in recorded(recorder).moments if isinstance(moment, ReceivedFrame)
    ]
    assert [plain.get("text") for plain in said] == [None, "shown"]
    assert said[0]["bytes"] == 6


def test_a_truncated_session_is_read_up_to_its_last_complete_line(
    recorder: SessionRecorder,
) -> None:
    recorder.note("step", 1)
    recorder.note("step", 2)
    assert recorder.path is not None
    data = recorder.path.read_bytes()
    session = parse(data[:-3], "s")
    assert session.is_cut
    assert [event.value for event in session.moments if isinstance(event, Event)] == [1]


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ("x was written and could not be recorded", "x was written and could not be recorded"),
        (7, "a process computed without system calls, or was ended because it did"),
    ],
)
def test_the_reason_for_not_being_repeatable_is_given(
    recorder: SessionRecorder, value: object, reason: str
) -> None:
    assert recorded(recorder).unrepeatable() == []
    recorder.note("unrepeatable", value)
    assert recorded(recorder).unrepeatable() == [f"not repeatable: {reason}"]


def test_an_edited_line_is_named(recorder: SessionRecorder) -> None:
    recorder.note("step", 1)
    recorder.note("step", 2)
    assert recorder.path is not None
    data = recorder.path.read_bytes().replace(b'"step":1', b'"step":3')
    with pytest.raises(SessionError, match="line 2 has been changed: its checksum is wrong"):
        parse(data, "s")


def test_a_removed_line_is_noticed(recorder: SessionRecorder) -> None:
    recorder.note("step", 1)
    recorder.note("step", 2)
    assert recorder.path is not None
    lines = recorder.path.read_bytes().splitlines(keepends=True)
    with pytest.raises(SessionError, match="line 2 has been changed"):
        parse(lines[0] + lines[2], "s")


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "has no complete line"),
        (b"hello\n", "is not a session file"),
        (b'{"a": 1}\n', "is not a session file"),
        (
            json.dumps({"session": {"format": FORMAT + 1, "wanlab": "9.9"}}).encode() + b"\n",
            f"format {FORMAT + 1}.*use that version",
        ),
    ],
)
def test_other_files_are_refused_with_the_reason(data: bytes, message: str) -> None:
    with pytest.raises(SessionError, match=message):
        parse(data, "s")


def test_sessions_with_the_same_actions_have_the_same_digest(tmp_path: Path) -> None:
    digests = []
    for python, typed in (("/a/python", "ls"), ("/b/bin/python", "ls"), ("/a/python", "id")):
        recorder = SessionRecorder(tmp_path / "s.wanlab")
        recorder.write({"session": {**HEADER, "python": python}})
        recorder.sent(encode_json(Kind.CALL, 1, {"do": "start", "arguments": [python, typed]}))
        recorder.end()
        digests.append(recorded(recorder).inputs_digest())
    assert digests[0] == digests[1] != digests[2]


def test_a_recorder_that_cannot_write_says_so_and_does_not_stop_the_run(
    recorder: SessionRecorder, capfd: pytest.CaptureFixture[str]
) -> None:
    full = SessionRecorder(Path("/dev/full"))
    full.note("step", 1)
    full.note("step", 2)
    assert capfd.readouterr().err.count("the session is no longer recorded: /dev/full") == 1


def test_a_folder_is_restored_with_modes_times_and_links(tmp_path: Path) -> None:
    folder, other = tmp_path / "a", tmp_path / "b"
    (folder / "bin").mkdir(parents=True)
    (folder / "bin" / "run.sh").write_text("#!/bin/sh\n")
    (folder / "bin" / "run.sh").chmod(0o755)
    (folder / "same").write_text("#!/bin/sh\n")
    (folder / "link").symlink_to("bin/run.sh")
    own_file = folder / "s.wanlab"
    own_file.write_text("grows")
    folder.chmod(0o750)
    lines = folder_lines(folder)
    assert sum("content" in line for line in lines) == 2
    other.mkdir()
    restore(lines, other)
    assert (other / "s.wanlab").read_bytes() == b""
    (folder / "s.wanlab").write_bytes(b"")
    for path in (folder, *sorted(folder.rglob("*"))):
        twin = other / path.relative_to(folder)
        assert twin.lstat().st_mode == path.lstat().st_mode
        if path.is_symlink():
            assert twin.readlink() == path.readlink()
        elif path.is_file() and path.name != "s.wanlab":
            assert twin.read_bytes() == path.read_bytes()
            assert twin.stat().st_mtime_ns == path.stat().st_mtime_ns


def test_a_session_file_does_not_contain_the_token_of_a_servers_address(tmp_path: Path) -> None:
    folder, other = tmp_path / "a", tmp_path / "b"
    (folder / ".wanlab" / "tests").mkdir(parents=True)
    (folder / ".wanlab" / "address").write_text("http://localhost:8000/?token=secret")
    other.mkdir()
    restore(folder_lines(folder), other)
    assert (other / ".wanlab" / "address").read_bytes() == b""
    assert (other / ".wanlab" / "tests").is_dir()


@pytest.mark.parametrize("name", ["../x", "a/../../x", "link/x"])
def test_no_file_is_restored_outside_of_the_folder(tmp_path: Path, name: str) -> None:
    lines: list[dict[str, Any]] = [
        {"link": "link", "to": str(tmp_path)},
        {"content": "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855", "gzip": ""},
        {"file": name, "mode": 420, "mtime_ns": 0, "sha256": "e3b0"},
    ]
    (tmp_path / "a").mkdir()
    with pytest.raises(ValueError, match="outside of the working folder"):
        restore(lines, tmp_path / "a")


def test_a_folder_that_is_too_large_is_left_out_completely(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("wanlab.session.files.MAX_ENTRIES", 3)
    for number in range(3):
        (tmp_path / str(number)).touch()
    with pytest.raises(TooMuch, match="more than 3"):
        folder_lines(tmp_path)


def test_a_file_is_never_restored_through_a_link(tmp_path: Path) -> None:
    (secret := tmp_path / "secret").write_text("mine")
    (work := tmp_path / "work").mkdir()
    source = tmp_path / "source"
    source.mkdir()
    (source / "a").write_text("other")
    lines: list[Line] = [{"link": "a", "to": str(secret)}, *folder_lines(source)[1:]]
    with pytest.raises(ValueError, match="the file a is a link as well"):
        restore(lines, work)
    (work / "a").unlink()
    folder: list[Line] = [
        {"link": "b", "to": str(source)},
        {"folder": "b", "mode": 0, "mtime_ns": 0},
    ]
    with pytest.raises(ValueError, match="the file b is a link as well"):
        restore(folder, work)
    assert (secret.read_text(), source.stat().st_mode & 0o777 != 0) == ("mine", True)


def test_programs_are_restored_without_the_set_user_id_bit(tmp_path: Path) -> None:
    (source := tmp_path / "source").mkdir()
    (source / "program").write_text("#!/bin/sh\n")
    (source / "program").chmod(0o6755)
    (work := tmp_path / "work").mkdir()
    restore(folder_lines(source), work)
    assert (work / "program").stat().st_mode & 0o7777 == 0o755


def test_content_that_unpacks_to_too_much_is_refused(tmp_path: Path) -> None:
    import base64
    import gzip

    zeros = gzip.compress(bytes((32 << 20) + 10))
    lines: list[Line] = [
        {"file": "a", "mode": 0o644, "mtime_ns": 0, "sha256": "x"},
        {"content": "x", "gzip": base64.b64encode(zeros).decode()},
    ]
    with pytest.raises(ValueError, match="the content x is too large"):
        restore(lines, tmp_path)
