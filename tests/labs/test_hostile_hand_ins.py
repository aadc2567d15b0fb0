"""Test that a hand-in, whatever it is, is refused at once, in little memory, in its own row."""

from __future__ import annotations

import hashlib
import json
import os
import resource
import struct
import subprocess
import sys
import tracemalloc
import zipfile
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from session_text import HEADER

from wanlab.agent.messages import Kind, encode
from wanlab.errors import WanlabError
from wanlab.labs import hand_in, hand_in_archive, submissions
from wanlab.labs.students import Student
from wanlab.labs.submissions import Submission
from wanlab.session import SessionRecorder

MAX_MEMORY_BYTES = 100 << 20
BOB = Student("Bob", 2)
SCRIPT = b"true\n"
Manifest = dict[str, object]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "Bob").mkdir()
    return tmp_path / "Bob"


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def manifest_of(files: Mapping[str, bytes], unit: str = "prob1", seed: int = 2) -> Manifest:
    digests = {name: digest(data) for name, data in files.items()}
    return {"unit": unit, "seed": seed, "packed": "", "wanlab": "", "files": digests}


def packed(
    path: Path,
    files: Mapping[str, bytes] | None = None,
    *,
    text: str = "",
    unit: str = "prob1",
    seed: int = 2,
) -> Path:
    """Write a hand-in; `text` stands for its manifest."""
    files = {"script.sh": SCRIPT} if files is None else files
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        archive.writestr(hand_in.MANIFEST, text or json.dumps(manifest_of(files, unit, seed)))
        for name, data in files.items():
            archive.writestr(name, data)
    return path


def patch(path: Path, change: Callable[[bytearray, int, int], object]) -> None:
    """Change a zip file; `change` gets the positions of the last file's directory entry and header."""
    data = bytearray(path.read_bytes())
    change(data, data.rfind(b"PK\1\2"), data.rfind(b"PK\3\4"))
    path.write_bytes(data)


def put(data: bytearray, position: int, form: str, *values: int) -> bytearray:
    struct.pack_into(f"<{form}", data, position, *values)
    return data


def graded(folder: Path, *, by_session: bool = False) -> Submission:
    """Return what becomes of the submission. It may not take much memory."""
    tracemalloc.start()
    try:
        listed = submissions.listing([folder], ["prob1", "prob2"])
        found = submissions.newest(listed.of("prob1"), "prob1", BOB, by_session=by_session)
        assert tracemalloc.get_traced_memory()[1] < MAX_MEMORY_BYTES
    finally:
        tracemalloc.stop()
    assert found is not None
    assert all(part.isprintable() for part in (found.error, *found.notes))
    return found


# -- manifests --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("[" * 100_000, "nested more than"),
        ('{"a":' * 100_000, "nested more than"),
        ("[" + "[]," * 150_000 + "0]", "must be|expected"),
        ("", "cannot read this JSON|expected"),
        ("null", "expected"),
        ("[]", "expected"),
        ("\ufeff{}", "cannot read this JSON"),
        ('{"unit":"prob1","seed":2,"files":["x"],"packed":"","wanlab":""}', "files: expected"),
        ('{"unit":"prob1","seed":Infinity,"files":{},"packed":"","wanlab":""}', "this JSON"),
        ('{"unit":"prob1","seed":NaN,"files":{},"packed":"","wanlab":""}', "this JSON"),
        ('{"unit":"prob1","seed":1e999,"files":{},"packed":"","wanlab":""}', "JSON|seed"),
        ('{"unit":"prob1","seed":-1,"files":{},"packed":"","wanlab":""}', "seed: expected"),
        ('{"unit":"prob1","seed":"2","files":{},"packed":"","wanlab":""}', "seed: expected"),
        (f'{{"unit":"prob1","seed":{"9" * 5000},"files":{{}}}}', "seed|JSON"),
        ('{"unit":["prob1"],"seed":2,"files":{},"packed":"","wanlab":""}', "unit: expected"),
        (json.dumps({"unit": "p" * 400_000, "seed": 2, "files": {}}), "unit: expected"),
        ('{"unit":"prob1","seed":2,"files":{},"packed":"","wanlab":""}', "no scripts"),
        ('{"unit":"prob1","seed":2,"packed":"","wanlab":""}', '"files" is missing'),
        ('{"unit":"prob1","seed":2,"files":{"script.sh":1},"packed":"","wanlab":""}', "files"),
        (
            json.dumps(manifest_of({f"transcripts/{i}": b"" for i in range(1001)})),
            "files: expected",
        ),
        (json.dumps(manifest_of({"script.sh": b"", "script.yaml": b""})), "it lacks 'script.yaml'"),
    ],
    ids=range(21),
)
def test_a_wrong_manifest_is_refused(folder: Path, text: str, reason: str) -> None:
    packed(folder / "prob1-seed2.zip", text=text or " ")
    error = graded(folder).error
    assert error.startswith("prob1-seed2.zip is not a hand-in: ")
    assert any(part in error for part in reason.split("|")), error
    assert len(error) < 500


def test_minus_zero_is_a_seed_and_large_ones_are_reported(folder: Path) -> None:
    for seed in ("-0", str(2**63), str(2**64 - 1)):
        manifest = manifest_of({"script.sh": SCRIPT}, seed=12345)
        packed(folder / "prob1.zip", text=json.dumps(manifest).replace("12345", seed))
        found = graded(folder)
        assert found.error or found.notes == (f"made with seed {int(seed)}, graded with 2",)


# -- zip files --------------------------------------------------------------------------------------


def encrypted(data: bytearray, entry: int, header: int) -> None:
    data[entry + 8] |= 1
    data[header + 6] |= 1


def damaged(data: bytearray, entry: int, header: int) -> None:
    put(data, header + 30 + len("script.sh"), "4B", *(4 * [0xFF]))


def end_of_directory(data: bytearray) -> int:
    return len(data) - hand_in_archive.END.size


def with_zip64(data: bytearray, entry: int, header: int) -> None:
    """Add the records of zip64, which declare 4 billion files."""
    end = data[end_of_directory(data) :]
    del data[end_of_directory(data) :]
    place = len(data)
    data += struct.pack("<4sQ2H2L4Q", b"PK\6\6", 44, 45, 45, 0, 0, 1 << 32, 1 << 32, 1 << 40, 0)
    data += struct.pack("<4sLQL", b"PK\6\7", 0, place, 1) + end


DAMAGES: dict[str, tuple[Callable[[bytearray, int, int], object], str]] = {
    "password": (encrypted, "password"),
    "only the flag in the directory": (
        lambda d, e, h: put(d, e + 8, "B", d[e + 8] | 1),
        "password",
    ),
    "strong encryption": (lambda d, e, h: put(d, e + 8, "H", 0x41), "password"),
    "unknown method": (lambda d, e, h: put(d, e + 10, "H", 97), "compressed by method 97"),
    "damaged": (damaged, "invalid"),
    "declared as smaller": (lambda d, e, h: put(d, e + 24, "L", 2), "Bad CRC"),
    "declared as longer": (lambda d, e, h: put(d, e + 24, "L", 200), ""),
    "declared as huge": (lambda d, e, h: put(d, e + 24, "L", 1 << 31), "larger than 1 MiB"),
    "wrong checksum": (lambda d, e, h: put(d, e + 16, "L", 1), "Bad CRC"),
    "content outside": (lambda d, e, h: put(d, e + 42, "L", 1 << 31), "not a hand-in"),
    "another name in the header": (lambda d, e, h: put(d, h + 30, "B", 65), "differ"),
    "two directories": (lambda d, e, h: d.__iadd__(d[e:]), "not a hand-in"),
    "a comment": (lambda d, e, h: put(d, len(d) - 2, "H", 60_000), "a comment"),
    "a long comment": (
        lambda d, e, h: (put(d, len(d) - 2, "H", 60_000), d.__iadd__(bytes(60_000))),
        "a comment",
    ),
    "zip64": (with_zip64, "zip64"),
    "no directory": (lambda d, e, h: put(d, end_of_directory(d) + 12, "2L", 0, 0), "no manifest"),
    "a directory beyond the file": (
        lambda d, e, h: put(d, end_of_directory(d) + 12, "L", 1 << 31),
        "too many files",
    ),
    "several disks": (lambda d, e, h: put(d, end_of_directory(d) + 4, "H", 9), ""),
    "cut short": (lambda d, e, h: d.__delitem__(slice(len(d) // 2, None)), "cut short"),
    "empty": (lambda d, e, h: d.clear(), "not a zip file"),
    "a name that is not UTF-8": (
        lambda d, e, h: (put(d, e + 9, "B", 8), put(d, e + 46, "B", 0xFF)),
        "UTF-8",
    ),
    "a zero byte in a name": (lambda d, e, h: put(d, e + 46 + 3, "B", 0), "lacks 'script.sh'"),
    "a symbolic link": (lambda d, e, h: put(d, e + 38, "L", 0o120777 << 16), ""),
}


@pytest.mark.parametrize("kind", DAMAGES)
def test_a_damaged_zip_file_is_the_error_of_its_row(folder: Path, kind: str) -> None:
    change, reason = DAMAGES[kind]
    patch(packed(folder / "prob1-seed2.zip"), change)
    found = graded(folder)
    assert reason in found.error if reason else found.digest == digest(SCRIPT), found.error


def test_damaged_zip_files_never_give_a_traceback(folder: Path) -> None:
    """Each byte of a small hand-in is changed, once to each of two values."""
    path = packed(folder / "prob1.zip", {"script.sh": SCRIPT, "sessions/a.wanlab": b"x"})
    whole = path.read_bytes()
    for place in range(len(whole)):
        for value in (0xFF, whole[place] ^ 1):
            path.write_bytes(whole[:place] + bytes([value]) + whole[place + 1 :])
            with path.open("rb") as file:
                try:
                    hand_in_archive.read_hand_in(file, "prob1.zip")
                except WanlabError as error:
                    assert str(error).startswith("prob1.zip is not a hand-in: ")


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("/etc/passwd", ""),
        ("../../.bashrc", ""),
        ("transcripts/\x1b[31m\x07", ""),
        ("transcripts/" + "n" * 60_000, "files: expected|directory|files"),
        ("sessions/", ""),
    ],
)
def test_names_in_a_zip_file_are_only_names(folder: Path, name: str, reason: str) -> None:
    packed(folder / "prob1.zip", {"script.sh": SCRIPT, name: b""})
    found = graded(folder)
    assert any(part in found.error for part in reason.split("|")), found.error


def test_two_files_of_one_name_are_refused(folder: Path) -> None:
    with (
        zipfile.ZipFile(packed(folder / "prob1.zip"), "a") as archive,
        pytest.warns(UserWarning, match="Duplicate name"),
    ):
        archive.writestr("script.sh", "reboot\n")
    assert "two files of the same name" in graded(folder).error


def test_a_zip_file_with_many_files_is_refused(folder: Path) -> None:
    with zipfile.ZipFile(packed(folder / "prob1.zip"), "a") as archive:
        for number in range(20_000):
            archive.writestr(f"{number}", b"")
    assert "too many files" in graded(folder).error


def test_a_zip_file_in_a_zip_file_is_not_opened(folder: Path) -> None:
    inner = packed(folder / "inner").read_bytes()
    (folder / "inner").unlink()
    packed(folder / "prob1.zip", {"script.sh": inner})
    assert "not UTF-8" in graded(folder).error


def test_files_that_expand_too_much_are_refused_by_their_sum(folder: Path) -> None:
    zeros = bytes(hand_in.MAX_SESSION_BYTES)
    one = {"script.sh": SCRIPT, "sessions/0.wanlab": zeros}
    packed(folder / "prob1.zip", one)
    assert "a session cannot be read" in graded(folder).notes[0]
    packed(folder / "prob1.zip", {**one, "sessions/1.wanlab": b"x"})
    assert "its sessions have more than 16 MiB" in graded(folder).error
    transcripts = {f"transcripts/{number}": zeros[: hand_in.MAX_BYTES] for number in range(33)}
    packed(folder / "prob1.zip", {"script.sh": SCRIPT, **transcripts})
    assert "its files have more than 32 MiB" in graded(folder).error
    packed(folder / "prob1.zip", {"script.sh": zeros[: hand_in.MAX_BYTES + 1]})
    assert "'script.sh' is larger than 1 MiB" in graded(folder).error


def test_a_stream_that_is_longer_than_declared_is_not_expanded(folder: Path) -> None:
    """64 MiB of zeros, declared as two bytes with their checksum."""

    def declare(data: bytearray, entry: int, header: int) -> None:
        put(data, entry + 16, "L", zlib.crc32(bytes(2)))
        put(data, entry + 24, "L", 2)

    patch(packed(folder / "prob1.zip", {"script.sh": bytes(64 << 20)}), declare)
    found = graded(folder)
    assert found.error or found.digest == digest(bytes(2))
    assert "files were changed after packing" in found.notes


def test_large_files_are_not_read(folder: Path) -> None:
    for name, limit in (("prob1.zip", "32 MiB"), ("prob1.sh", "1 MiB"), ("prob1.wanlab", "16 MiB")):
        with (folder / name).open("wb") as file:
            file.truncate(1 << 40)
        assert f"larger than {limit}" in graded(folder).error
        (folder / name).unlink()


# -- files that are none ----------------------------------------------------------------------------

KINDS: dict[str, tuple[Callable[[Path], object], str]] = {
    "FIFO": (os.mkfifo, "is a FIFO"),
    "dangling link": (lambda path: path.symlink_to("nowhere"), "is a symbolic link"),
    "link to itself": (lambda path: path.symlink_to(path.name), "is a symbolic link"),
    "link to a device": (lambda path: path.symlink_to("/dev/zero"), "is a symbolic link"),
    "link to a file": (lambda path: path.symlink_to("/etc/passwd"), "is a symbolic link"),
    "folder": (Path.mkdir, "is a folder"),
}


@pytest.mark.parametrize("name", ["prob1.zip", "prob1.sh", "prob1.yaml", "prob1.wanlab", "x.zip"])
@pytest.mark.parametrize("kind", KINDS)
def test_only_regular_files_are_read(folder: Path, kind: str, name: str) -> None:
    make, reason = KINDS[kind]
    make(folder / name)
    found = graded(folder)
    assert found.error == f"{name} {reason}, and not a regular file"
    assert found.handed_in


def test_a_zip_file_that_names_no_unit_is_reported_where_nothing_else_was_handed_in(
    folder: Path,
) -> None:
    (folder / "work.zip").write_bytes(b"PK")
    assert graded(folder).error.startswith("work.zip is not a hand-in: ")
    packed(folder / "work.zip", unit="prob99\x1b")
    assert graded(folder).error == (
        'work.zip is for the unit "prob99\\x1b", which does not exist here'
    )
    (folder / "prob1.sh").write_bytes(SCRIPT)
    assert not graded(folder).error


def test_a_hand_in_for_another_unit_or_student_is_not_graded_silently(folder: Path) -> None:
    packed(folder / "prob1.zip", unit="prob2")
    assert graded(folder).error == "prob1.zip was packed for prob2, and is named after prob1"
    packed(folder / "prob1.zip", seed=3)
    assert graded(folder).notes == ("made with seed 3, graded with 2",)


def test_a_file_name_that_is_no_text_is_shown_escaped(folder: Path) -> None:
    packed(Path(os.fsdecode(os.fsencode(folder) + b"/prob1-\xff\x1b[31m.zip")), unit="prob2")
    assert graded(folder).error.startswith("prob1-\\udcff\\x1b[31m.zip was packed")


def test_a_script_that_is_no_text_or_has_an_impossible_time_is_reported(folder: Path) -> None:
    (folder / "prob1.sh").write_bytes(b"\xff")
    assert graded(folder).error == "prob1.sh is not UTF-8 text"
    (folder / "prob1.sh").write_bytes(SCRIPT)
    found = graded(folder)
    listed = submissions.listing([folder], ["prob1"]).of("prob1")
    assert found.file == listed[0]
    for seconds in (1e18, -1e18, float("inf")):
        (file,) = listed
        impossible = submissions.SubmittedFile(file.folder, file.name, seconds)
        assert Submission(impossible).handed_in == "at an impossible time"


def test_a_folder_that_is_gone_or_full_is_the_error_of_its_student(folder: Path) -> None:
    for number in range(submissions.MAX_FILES + 1):
        (folder / f"{number}.zip").touch()
    found = graded(folder)
    assert (
        found.error
        == f"the folder Bob has {submissions.MAX_FILES + 1} submissions; the limit is 400"
    )
    listed = submissions.listing([folder / "gone"], ["prob1"])
    missing = submissions.newest(listed.of("prob1"), "prob1", BOB)
    assert missing is not None
    assert missing.error == "cannot read the folder gone: No such file or directory"


def test_work_that_changes_while_the_class_is_graded_is_not_graded(folder: Path) -> None:
    (folder / "prob1.sh").write_bytes(SCRIPT)
    found = graded(folder)
    assert submissions.read_again(found, "prob1", by_session=False) == SCRIPT
    (folder / "prob1.sh").write_bytes(b"false\n")
    with pytest.raises(
        WanlabError, match=r"prob1\.sh was changed while the class was being graded"
    ):
        submissions.read_again(found, "prob1", by_session=False)
    (folder / "prob1.sh").unlink()
    (folder / "prob1.sh").symlink_to("/dev/zero")
    with pytest.raises(WanlabError, match="cannot read"):
        submissions.read_again(found, "prob1", by_session=False)


# -- sessions ---------------------------------------------------------------------------------------


NO_SESSIONS = [
    b"[",
    b"[" * 50_000 + b"\n",
    b"\xff\xfe\n",
    b'{"session":' * 20_000 + b"\n",
    b"\n" * 100_000,
]


@pytest.mark.parametrize("content", NO_SESSIONS, ids=range(len(NO_SESSIONS)))
def test_a_session_that_is_none_is_an_error_or_a_note(folder: Path, content: bytes) -> None:
    (folder / "prob1.wanlab").write_bytes(content)
    assert graded(folder).error
    (folder / "prob1.wanlab").unlink()
    packed(folder / "prob1.zip", {"script.sh": SCRIPT, "sessions/1.wanlab": content})
    assert graded(folder).notes[0].startswith("a session cannot be read: ")
    assert graded(folder, by_session=True).error


def test_the_newest_session_is_the_one_that_was_packed_last(folder: Path) -> None:
    """There are more than nine: in the order of their names, session-10 is before session-2."""
    files = {"script.sh": SCRIPT}
    for number in range(1, 11):
        recorder = SessionRecorder(folder / "s")
        recorder.write({"session": {**HEADER, "id": f"{number}"}})
        recorder.sent(encode(Kind.INPUT, 1, b"x"))
        recorder.end()
        files[f"sessions/session-{number}.wanlab"] = (folder / "s").read_bytes()
    manifest = manifest_of(dict(sorted(files.items())))
    packed(folder / "prob1.zip", files, text=json.dumps(manifest))
    assert graded(folder, by_session=True).digest == digest(files["sessions/session-10.wanlab"])


def test_a_script_without_end_is_not_read(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "wanlab.cli", "lab", "check", "prob1", "--script", "/dev/zero"],
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30)),
    )
    assert done.returncode == 1
    assert "/dev/zero is larger than 1 MiB" in done.stderr
