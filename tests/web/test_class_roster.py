"""Test the folder of a class: seeds, tokens, names and limits."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from class_client import class_folder
from forks import SOURCE

from wanlab.errors import WanlabError
from wanlab.labs.students import read_students
from wanlab.web.classroom.process_limits import process_limits
from wanlab.web.classroom.roster import Limits, cookie_of, read_roster, write_links

LIMITS = Limits(512 << 20, 1 << 30)
URL = "http://lab.example.edu:8765"


def test_seeds_and_tokens_are_drawn_once(tmp_path: Path) -> None:
    folder = class_folder(tmp_path, "Ada", "Bob")
    first = read_roster(folder, LIMITS)
    write_links(first, URL)
    with (folder / "students.csv").open("a") as file:
        file.write("Carol\n")
    second = read_roster(folder, LIMITS)
    assert second.participants[:2] == first.participants
    assert second.teacher_token == first.teacher_token
    tokens = [second.teacher_token, *(it.token for it in second.participants)]
    assert len({*tokens}) == 4
    assert all(len(token) == 48 for token in tokens)
    assert {it.seed for it in read_students(folder / "seeds.csv")} == {
        it.seed for it in second.participants
    }


@pytest.mark.skipif(os.getuid() != 0, reason="only root can start processes of other users")
def test_students_who_share_an_account_share_its_limit_of_processes(tmp_path: Path) -> None:
    alone = class_folder(tmp_path, "Ada,root", "Bob,root", "Eve,nobody", column="student,user")
    limits = process_limits(read_roster(alone, LIMITS).participants)
    assert set(limits) == {"root", "nobody"}
    assert limits["nobody"] >= (512 << 20) // (400 << 10)
    assert limits["root"] >= 2 * (512 << 20) // (400 << 10)


def test_seeds_in_the_list_are_kept(tmp_path: Path) -> None:
    folder = class_folder(tmp_path, "Ada,7", "Bob,8", column="student,seed")
    assert [it.seed for it in read_roster(folder, LIMITS).participants] == [7, 8]
    assert not (folder / "seeds.csv").exists()


def test_other_users_cannot_read_the_tokens(tmp_path: Path) -> None:
    folder = class_folder(tmp_path, "Ada")
    path = write_links(read_roster(folder, LIMITS), URL)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE((folder / "students" / "Ada").stat().st_mode) == 0o700
    assert f"{URL}/?token=" in path.read_text()
    path.chmod(0o644)
    with pytest.raises(WanlabError, match="other users of this computer can read"):
        read_roster(folder, LIMITS)


def test_a_cookie_does_not_contain_its_token(tmp_path: Path) -> None:
    (student,) = read_roster(class_folder(tmp_path, "Ada"), LIMITS).participants
    assert student.cookie == cookie_of(student.token)
    assert student.token not in student.cookie


@pytest.mark.parametrize("name", ["../Bob", "a/b", ".hidden", "..", "a\\b", "x\x07", "é" * 101])
def test_a_name_that_cannot_name_a_folder_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(WanlabError, match="cannot be the name of a folder"):
        read_roster(class_folder(tmp_path, "Ada", name), LIMITS)


def test_two_students_with_the_same_name_are_refused(tmp_path: Path) -> None:
    with pytest.raises(WanlabError, match="Ada is on line 2, too"):
        read_roster(class_folder(tmp_path, "Ada", "Ada"), LIMITS)


def test_columns_set_limits_for_single_students(tmp_path: Path) -> None:
    folder = class_folder(tmp_path, "Ada,1GB,", "Bob,,2GB", column="student,memory,disk")
    ada, bob = read_roster(folder, LIMITS).participants
    assert ada.limits == Limits(10**9, LIMITS.disk_bytes)
    assert bob.limits == Limits(LIMITS.memory_bytes, 2 * 10**9)


def test_all_wrong_limits_are_named_at_once(tmp_path: Path) -> None:
    folder = class_folder(tmp_path, "Ada,much,", "Bob,1MB,x", column="student,memory,disk")
    with pytest.raises(WanlabError) as caught:
        read_roster(folder, LIMITS)
    text = str(caught.value)
    assert all(place in text for place in ("Ada (memory)", "Bob (memory)", "Bob (disk)"))


def test_a_class_without_a_list_says_what_to_write(tmp_path: Path) -> None:
    with pytest.raises(WanlabError, match=r"students\.csv"):
        read_roster(tmp_path, LIMITS)
    with pytest.raises(WanlabError, match="lacks a column"):
        read_roster(class_folder(tmp_path, "Ada", column="who"), LIMITS)


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["--memory", "1GB"], "--memory is for classes only"),
        (["--networks", "3"], "--networks is for classes only"),
        (["--class", ".", "--folder", "x"], "--folder cannot be combined with --class"),
        (["--class", ".", "--memory", "1MB"], "--memory 1MB is too little"),
        (["--class", ".", "--address", "0.0.0.0"], "needs --url, the address"),
        (["--class", "no-such-folder"], "there is no folder no-such-folder"),
        (["--class-url", "http://x"], "--class-url is for a JupyterHub only"),
        (["--class", ".", "--teachers", "x"], "--teachers is for a JupyterHub only"),
        (["--jupyterhub", "--port", "99"], "--port cannot be combined with --jupyterhub"),
        (["--jupyterhub", "--address", "0.0.0.0"], "--address cannot be combined with"),
        (["--jupyterhub", "--teachers", "x"], "--teachers cannot be combined with --jupyterhub"),
        (
            ["--jupyterhub", "--class", ".", "--memory", "1GB"],
            "--memory cannot be combined with --jupyterhub and --class",
        ),
        (["--jupyterhub"], "--jupyterhub needs the variable JUPYTERHUB_SERVICE_URL"),
        (["--jupyterhub", "--class", "."], "--jupyterhub needs the variable JUPYTERHUB"),
    ],
)
def test_no_option_is_ignored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], reason: str
) -> None:
    monkeypatch.chdir(tmp_path)
    errors = failure_of(words)
    assert reason in errors


def test_a_class_does_not_run_in_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("WANLAB_TRAPS", "inprocess")
    assert "a class cannot be served in in-process mode" in failure_of(["--class", "."])


def failure_of(words: list[str]) -> str:
    """Return the errors of a `wanlab web` that does not start."""
    done = subprocess.run(
        [sys.executable, "-m", "wanlab.cli", "web", "--no-browser", *words],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(SOURCE)},
    )
    assert done.returncode != 0
    return done.stderr
