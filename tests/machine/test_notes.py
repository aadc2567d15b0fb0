"""Test the notes of running machines: written, removed, and found after their program is killed."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from wanlab.machine import notes, stale
from wanlab.process_identity import system_id
from wanlab.temporary import TemporaryFolder


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make the folder for the notes of a test."""
    monkeypatch.delenv("XDG_RUNTIME_DIR", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "wanlab" / "runs"


@pytest.fixture
def sleeper() -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen(["sleep", "1000"])
    yield process
    process.kill()
    process.wait()


def killed_program(pid: int) -> None:
    """Run a program that notes a process as its machine and is then killed."""
    program = (
        "import os, signal\n"
        "from wanlab.machine import notes\n"
        f"assert notes.write('embedded', {pid})\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", program], env=environment, check=False)
    assert done.returncode == -9


def test_a_running_machine_is_not_stale(folder: Path, sleeper: subprocess.Popen[bytes]) -> None:
    note = notes.write("embedded", sleeper.pid)
    (run,) = notes.read_all()
    assert (run.kind, run.owner.pid, run.machine.pid) == ("embedded", os.getpid(), sleeper.pid)
    assert stale.find_stale() == []
    notes.remove(note)
    assert list(folder.iterdir()) == []


def test_a_machine_that_outlives_its_killed_program_is_found_and_ended(
    folder: Path, sleeper: subprocess.Popen[bytes]
) -> None:
    killed_program(sleeper.pid)
    (item,) = stale.find_stale()
    assert f"which still runs (process {sleeper.pid})" in item.what
    assert sleeper.poll() is None  # looking removes nothing
    item.remove()
    assert sleeper.wait() == -9
    assert stale.find_stale() == []
    assert list(folder.iterdir()) == []


def test_another_process_with_the_same_pid_is_left_alone(
    folder: Path, sleeper: subprocess.Popen[bytes]
) -> None:
    killed_program(sleeper.pid)
    (file,) = folder.iterdir()
    said = json.loads(file.read_text())
    said["machine"][1] -= 1  # it was started at another time
    file.write_text(json.dumps(said))
    (item,) = stale.find_stale()
    assert "only the note is left" in item.what
    item.remove()
    assert sleeper.poll() is None
    assert list(folder.iterdir()) == []


def test_notes_of_another_boot_or_container_are_ignored(
    folder: Path, sleeper: subprocess.Popen[bytes]
) -> None:
    killed_program(sleeper.pid)
    (file,) = folder.iterdir()
    said = json.loads(file.read_text())
    file.write_text(json.dumps({**said, "system": "another"}))
    assert stale.find_stale() == []
    assert file.exists()


def test_a_note_from_before_a_reboot_is_removed(
    folder: Path, sleeper: subprocess.Popen[bytes]
) -> None:
    computer, boot, namespace = system_id().split()
    folder.mkdir(parents=True)
    said = {"owner": [1, 1], "machine": [2, 2], "kind": "embedded"}
    for name, system in (
        ("former", f"{computer} {boot[::-1]} {namespace}"),
        ("others", f"x{computer} {boot[::-1]} {namespace}"),
    ):
        (folder / f"{name}.run").write_text(json.dumps({**said, "system": system}))
    notes.remove(notes.write("embedded", sleeper.pid))
    assert [path.name for path in folder.iterdir()] == ["others.run"]


def test_an_incomplete_note_is_ignored(folder: Path) -> None:
    folder.mkdir(parents=True)
    (folder / "1-x.run").write_text('{"owner": [1')
    assert stale.find_stale() == []


def test_the_next_machine_removes_notes_whose_processes_have_ended(
    folder: Path, sleeper: subprocess.Popen[bytes]
) -> None:
    ended = subprocess.Popen(["sleep", "1000"])
    killed_program(ended.pid)
    ended.kill()
    ended.wait()
    assert len(list(folder.iterdir())) == 1
    note = notes.write("embedded", sleeper.pid)
    assert list(folder.iterdir()) == [note]
    notes.remove(note)


def test_machines_run_even_where_no_note_can_be_written(
    monkeypatch: pytest.MonkeyPatch, sleeper: subprocess.Popen[bytes]
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "/proc/nowhere")
    note = notes.write("embedded", sleeper.pid)
    assert note is None
    notes.remove(note)


def test_files_of_a_killed_build_are_removed_unless_another_build_runs(tmp_path: Path) -> None:
    import fcntl

    cache = tmp_path / "wanlab" / "kernels"
    (cache / "building-kernel" / "linux").mkdir(parents=True)
    (cache / "0123456789abcdef").mkdir()
    with (cache / "lock").open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        assert stale.find_stale() == []
    (item,) = stale.find_stale()
    assert "building-kernel" in item.what
    item.remove()
    assert sorted(path.name for path in cache.iterdir()) == ["0123456789abcdef", "lock"]


def program_with_a_folder(end: str) -> Path:
    """Run a program that makes a temporary folder and ends; return the folder."""
    program = (
        "import os, signal, sys\n"
        "from wanlab.temporary import TemporaryFolder\n"
        "folder = TemporaryFolder('test')\n"
        "(folder.path / 'locked').mkdir()\n"
        "(folder.path / 'locked' / 'file').write_text('x')\n"
        "(folder.path / 'locked').chmod(0)\n"
        "print(folder.path, flush=True)\n"
        f"{end}\n"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=environment,
        check=False,
        stdout=subprocess.PIPE,
        text=True,
    )
    return Path(done.stdout.strip())


def test_the_temporary_folder_of_a_killed_program_is_found_and_removed(folder: Path) -> None:
    left = program_with_a_folder("os.kill(os.getpid(), signal.SIGKILL)")
    with TemporaryFolder("test") as ours:
        (item,) = stale.find_stale()
        assert f"the temporary folder {left} of a program that was killed" in item.what
        assert left.is_dir()  # looking removes nothing
        item.remove()
        assert (left.exists(), ours.is_dir()) == (False, True)
        assert [file.name for file in folder.iterdir()] == [f"{ours.name}.folder"]
    assert not ours.exists()
    assert list(folder.iterdir()) == []


def test_a_temporary_folder_ends_with_its_program_unless_it_is_kept(folder: Path) -> None:
    assert not program_with_a_folder("raise SystemExit(3)").exists()
    assert not program_with_a_folder("os.fork() or sys.exit(); os.wait()").exists()
    kept = program_with_a_folder("folder.keep(); os.kill(os.getpid(), 9)")
    assert kept.is_dir()
    assert list(folder.iterdir()) == []
    assert stale.find_stale() == []
    (kept / "locked").chmod(0o700)
    shutil.rmtree(kept)


def test_a_note_about_another_users_folder_removes_nothing(folder: Path, tmp_path: Path) -> None:
    left = program_with_a_folder("os.kill(os.getpid(), signal.SIGKILL)")
    (file,) = folder.iterdir()
    content = json.loads(file.read_text())
    other = tmp_path / "mine"
    other.mkdir()
    (link := tmp_path / "wanlab-link").symlink_to(other)
    for path in (other, link):
        file.write_text(json.dumps({**content, "folder": str(path)}))
        for item in stale.find_stale():
            item.remove()
        assert other.is_dir()
    file.write_text(json.dumps({**content, "system": "another"}))
    assert stale.find_stale() == []
    assert left.is_dir()
    file.write_text(json.dumps(content))
    for item in stale.find_stale():
        item.remove()
    assert not left.exists()
