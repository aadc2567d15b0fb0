"""Test that files which programs write outside the working folder are named at the end, or kept."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.machine

WRITE = """\
import os, pathlib
home, here = pathlib.Path.home(), pathlib.Path.cwd()
for path in (home / "res.txt", pathlib.Path("/tmp/r.txt"), here.parent / "results" / "out.txt"):
    path.parent.mkdir(exist_ok=True)
    path.write_text("42\\n")
# None of these is a result.
for path in (home / ".cache" / "x", pathlib.Path("/var/log/x"), pathlib.Path("/etc/x"), here / "kept"):
    path.parent.mkdir(exist_ok=True)
    path.write_text("1")
(home / "empty").touch()
os.mkfifo("/tmp/pipe")
"""


@pytest.fixture
def script(tmp_path: Path) -> Path:
    (tmp_path / "write.py").write_text(WRITE)
    return tmp_path


def test_lost_files_are_named_at_the_end(wanlab: Any, script: Path) -> None:
    elsewhere = script.parent / "results" / "out.txt"
    names = ", ".join(sorted([str(elsewhere), "/tmp/r.txt", "~/res.txt"]))
    expected = (
        f"wanlab: 3 files outside this folder are lost: {names} "
        "(to keep such files: --keep-files FOLDER)\n"
    )
    for command in (["python", "write.py"], ["exec", "--", "python3", "write.py"]):
        ran = wanlab(*command)
        assert (ran.status, ran.errors) == (0, expected)
    assert not elsewhere.exists()
    assert (script / "kept").exists()


def test_files_of_tmp_are_not_lost_if_it_is_the_working_folder(wanlab: Any) -> None:
    """They were all listed, those that had been there before as well."""
    wanlab.folder = Path("/tmp")
    with tempfile.NamedTemporaryFile(dir="/tmp", mode="w") as file:
        file.write("1")
        file.flush()
        ran = wanlab("exec", "--", "grep", "-c", "1", file.name)
    assert (ran.status, ran.output, ran.errors) == (0, b"1\n", "")


@pytest.mark.parametrize(
    "command",
    [
        ["python", "--keep-files", "results", "write.py"],
        ["exec", "--keep-files", "results", "--", "python3", "write.py"],
    ],
)
def test_lost_files_are_kept_in_a_folder(wanlab: Any, script: Path, command: list[str]) -> None:
    ran = wanlab(*command)
    assert ran.status == 0
    assert ran.errors.startswith(f"wanlab: kept 3 files in {script}/results: /tmp/")
    elsewhere = str(script.parent / "results" / "out.txt")
    kept = [path for path in (script / "results").rglob("*") if path.is_file()]
    assert sorted(str(path.relative_to(script / "results")) for path in kept) == sorted(
        ["home/res.txt", "tmp/r.txt", elsewhere.lstrip("/")]
    )
    assert {path.read_text() for path in kept} == {"42\n"}


def test_a_prompt_names_lost_files_too(wanlab: Any) -> None:
    ran = wanlab("mn", input=b"h1 echo 1 > ~/x\n")
    assert "wanlab: 1 file outside this folder is lost: ~/x (to keep" in ran.errors


@pytest.mark.parametrize("command", [["mn"], ["exec", "--", "true"], ["python", "-c", "0"]])
@pytest.mark.parametrize("folder", ["/tmp/x", "../x", ".", ""])
def test_files_cannot_be_kept_outside_the_working_folder(
    wanlab: Any, command: list[str], folder: str
) -> None:
    verb, *rest = command
    ran = wanlab(verb, "--keep-files", folder, *rest)
    assert ran.status == 1
    assert f"--keep-files {folder}: the folder must be below the current one" in ran.errors


def test_programs_have_a_terminal_type_without_a_terminal(wanlab: Any) -> None:
    """`watch` and `tput` of Debian need it."""
    assert wanlab("exec", "--", "tput", "cols").output == b"80\n"


def test_python3_is_that_of_the_scripts_environment(wanlab: Any) -> None:
    (wanlab.folder / "script.py").write_text(
        "import subprocess, sys\n"
        "print(subprocess.run(['python3', '-c', 'import sys; print(sys.prefix)'], text=True,\n"
        "      capture_output=True).stdout == sys.prefix + '\\n')\n"
    )
    assert wanlab("python", "script.py").output == b"True\n"
    ran = wanlab(
        "exec",
        "--",
        "python3",
        "-c",
        "import sys; print(sys.prefix)",
        environment={"VIRTUAL_ENV": sys.prefix},
    )
    assert ran.output.decode() == f"{sys.prefix}\n"
