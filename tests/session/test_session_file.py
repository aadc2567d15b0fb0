"""Test session files without a kernel: writing, reading, and naming what is wrong."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from session_text import HEADER, START

from wanlab.agent.messages import Frame, Kind, encode, encode_json
from wanlab.errors import WanlabError
from wanlab.session import FolderLine, RecordedSession, SessionError, SessionRecorder, read
from wanlab.session.files import TooMuch, folder_lines
from wanlab.session.files import restore as restore_lines
from wanlab.session.lines import FORMAT, Line
from wanlab.session.recorded import Event, ReceivedFrame, SentPiece, parse
from wanlab.shared_folder import SharedFolder, UnsafeFileError


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


def restore(lines: Sequence[Line], folder: SharedFolder) -> None:
    restore_lines([FolderLine(**line) for line in lines], folder)


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
    call = encode_json(Kind.CALL, 1, START)
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
    frames = [
        moment.frame for moment in recorded(recorder).moments if isinstance(moment, ReceivedFrame)
    ]
    assert [frame.text for frame in frames] == ["", "shown"]
    assert frames[0].bytes == 6


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
        recorder.sent(encode_json(Kind.CALL, 1, {**START, "arguments": [python, typed]}))
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
    lines = folder_lines(SharedFolder(folder))
    assert sum("content" in line for line in lines) == 2
    other.mkdir()
    restore(lines, SharedFolder(other))
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
    restore(folder_lines(SharedFolder(folder)), SharedFolder(other))
    assert (other / ".wanlab" / "address").read_bytes() == b""
    assert (other / ".wanlab" / "tests").is_dir()


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("../x", "outside of the working folder"),
        ("a/../../x", "outside of the working folder"),
        ("/x", "outside of the working folder"),
        ("link/x", "link is a symbolic link"),
    ],
)
def test_no_file_is_restored_outside_of_the_folder(tmp_path: Path, name: str, message: str) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "source").mkdir()
    (tmp_path / "source" / "x").write_text("other")
    _, file, *contents = folder_lines(SharedFolder(tmp_path / "source"))
    lines: list[Line] = [{"link": "link", "to": str(tmp_path)}, {**file, "file": name}, *contents]
    with pytest.raises((ValueError, UnsafeFileError), match=message):
        restore(lines, SharedFolder(tmp_path / "a"))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "source"]


def test_a_folder_that_is_too_large_is_left_out_completely(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("wanlab.session.files.MAX_ENTRIES", 3)
    for number in range(3):
        (tmp_path / str(number)).touch()
    with pytest.raises(TooMuch, match="more than 3"):
        folder_lines(SharedFolder(tmp_path))


def test_a_file_is_never_restored_through_a_link(tmp_path: Path) -> None:
    (secret := tmp_path / "secret").write_text("mine")
    (work := tmp_path / "work").mkdir()
    source = tmp_path / "source"
    source.mkdir()
    (source / "a").write_text("other")
    lines: list[Line] = [{"link": "a", "to": str(secret)}, *folder_lines(SharedFolder(source))[1:]]
    with pytest.raises(UnsafeFileError, match="a is a symbolic link"):
        restore(lines, SharedFolder(work))
    (work / "a").unlink()
    folder: list[Line] = [
        {"link": "b", "to": str(source)},
        {"folder": "b", "mode": 0, "mtime_ns": 0},
    ]
    with pytest.raises(UnsafeFileError, match="b is a symbolic link"):
        restore(folder, SharedFolder(work))
    assert (secret.read_text(), source.stat().st_mode & 0o777 != 0) == ("mine", True)


def test_programs_are_restored_without_the_set_user_id_bit(tmp_path: Path) -> None:
    (source := tmp_path / "source").mkdir()
    (source / "program").write_text("#!/bin/sh\n")
    (source / "program").chmod(0o6755)
    (work := tmp_path / "work").mkdir()
    restore(folder_lines(SharedFolder(source)), SharedFolder(work))
    assert (work / "program").stat().st_mode & 0o7777 == 0o755


def test_files_that_share_a_content_count_each(tmp_path: Path) -> None:
    import base64
    import gzip

    from wanlab.session.lines import digest

    zeros = bytes(20 << 20)
    content = {"content": digest(zeros), "gzip": base64.b64encode(gzip.compress(zeros)).decode()}
    about = {"mode": 0o644, "mtime_ns": 0, "sha256": digest(zeros)}
    lines: list[Line] = [{"file": "a", **about}, {"file": "b", **about}, content]
    with pytest.raises(ValueError, match="more than 32 MiB"):
        restore(lines, SharedFolder(tmp_path))
    assert not (tmp_path / "b").exists()


def test_content_that_unpacks_to_too_much_is_refused(tmp_path: Path) -> None:
    import base64
    import gzip

    zeros = gzip.compress(bytes((32 << 20) + 10))
    lines: list[Line] = [
        {"file": "a", "mode": 0o644, "mtime_ns": 0, "sha256": "x"},
        {"content": "x", "gzip": base64.b64encode(zeros).decode()},
    ]
    with pytest.raises(ValueError, match="the content x is too large"):
        restore(lines, SharedFolder(tmp_path))


def test_a_session_file_in_the_working_folder_is_no_link(tmp_path: Path) -> None:
    (victim := tmp_path / "bashrc").write_text("mine")
    (work := tmp_path / "work").mkdir()
    for number, target in enumerate((victim, tmp_path / "new", work / "s.wanlab")):
        (work / f"s{number}.wanlab").symlink_to(target)
        with pytest.raises(WanlabError, match=r"s\d.wanlab is a symbolic link \(remove it"):
            SessionRecorder(work / f"s{number}.wanlab", work)
    (work / "transcripts").symlink_to(tmp_path)
    with pytest.raises(WanlabError, match="transcripts is a symbolic link"):
        SessionRecorder(work / "transcripts" / "s.wanlab", work)
    assert victim.read_text() == "mine"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bashrc", "work"]


def test_an_abandoned_session_file_is_removed_from_its_own_folder(tmp_path: Path) -> None:
    (victim := tmp_path / "s.wanlab").write_text("mine")
    (work := tmp_path / "work" / "transcripts").mkdir(parents=True)
    recorder = SessionRecorder(work / "s.wanlab", tmp_path / "work")
    work.rename(work.with_name("away"))
    work.symlink_to(tmp_path)
    with pytest.raises(UnsafeFileError, match="transcripts is a symbolic link"):
        recorder.abandon()
    assert victim.read_text() == "mine"


def test_a_folder_that_becomes_a_link_while_it_is_recorded_is_not_entered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (secret := tmp_path / "secret").mkdir()
    (secret / "key").write_text("PRIVATE KEY")
    inner = tmp_path / "work" / "inner"
    inner.mkdir(parents=True)
    entries = SharedFolder.entries

    def list_and_swap(folder: SharedFolder) -> object:
        listed = entries(folder)
        if inner.is_dir() and not inner.is_symlink():
            inner.rmdir()
            inner.symlink_to(secret)
        return listed

    monkeypatch.setattr(SharedFolder, "entries", list_and_swap)
    with pytest.raises(UnsafeFileError, match="inner is a symbolic link"):
        folder_lines(SharedFolder(tmp_path / "work"))


def test_a_file_that_becomes_a_link_while_it_is_recorded_is_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (secret := tmp_path / "key").write_text("PRIVATE KEY")
    (work := tmp_path / "work").mkdir()
    (work / "a").write_text("mine")
    read = SharedFolder.read

    def swap_and_read(folder: SharedFolder, *arguments: Any) -> bytes:
        (work / "a").unlink()
        (work / "a").symlink_to(secret)
        return read(folder, *arguments)

    monkeypatch.setattr(SharedFolder, "read", swap_and_read)
    with pytest.raises(UnsafeFileError, match="a is a symbolic link"):
        folder_lines(SharedFolder(work))


def test_of_the_data_of_all_requests_the_beginning_is_kept(
    recorder: SessionRecorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A program that sends without end would fill the disk."""
    monkeypatch.setattr("wanlab.session.recorder.MAX_KEPT_BYTES", 10)
    for number in (1, 2, 3):
        recorder.received(Frame(Kind.REQUEST, number, b'{"do": "keys"}'))
        recorder.received(Frame(Kind.REQUEST_DATA, number, b"1234567"))
    recorder.received(Frame(Kind.OUTPUT, 4, b"12345678"))
    recorder.end()
    assert recorder.path is not None
    lines = [json.loads(line) for line in recorder.path.read_bytes().splitlines()]
    out = [line["out"] for line in lines if "out" in line]
    assert [frame["text"] for frame in out if "request" in frame] == ['{"do": "keys"}'] * 3
    assert [frame.get("text") for frame in out if "request_data" in frame] == [
        "1234567",
        None,
        None,
    ]
    assert out[-1]["text"] == "12345678"


def test_the_users_processes_are_those_that_the_session_names(
    recorder: SessionRecorder, clock: Clock
) -> None:
    clock.now_ns = 1
    for number in (7, 9):
        recorder.note("process", {"node": "h1", "number": number})
    recorder.note("step", 5)
    recorder.received(Frame(Kind.OUTPUT, 8, b"process"))
    assert recorded(recorder).user_processes() == {7, 9}
