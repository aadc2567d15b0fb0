"""`--guest-folder`: programs see the current folder at another path."""

from __future__ import annotations

from typing import Any

import pytest


@pytest.mark.machine
def test_programs_see_the_folder_at_the_path_and_its_files_stay(wanlab: Any) -> None:
    script = "pwd; echo a > here; echo b > /root/there"
    ran = wanlab(
        "exec", "--guest-folder", "/mine", "--keep-files", "kept", "--", "sh", "-c", script
    )
    assert (ran.status, ran.output) == (0, b"/mine\n"), ran.errors
    assert (wanlab.folder / "here").read_text() == "a\n"
    assert (wanlab.folder / "kept" / "root" / "there").read_text() == "b\n"


@pytest.mark.machine
def test_a_script_runs_at_the_path(wanlab: Any) -> None:
    (wanlab.folder / "script.py").write_text("import os\nprint(os.getcwd(), __file__)\n")
    ran = wanlab("python", "--guest-folder", "/mine", "script.py")
    assert (ran.status, ran.output) == (0, b"/mine /mine/script.py\n"), ran.errors


@pytest.mark.parametrize(
    ("path", "message"),
    [("mine", "the path must begin with /"), ("/usr", "it would hide what is in /usr")],
)
@pytest.mark.parametrize("command", [("exec", "--", "true"), ("python", "script.py")])
def test_a_path_that_is_relative_or_in_use_is_refused(
    wanlab: Any, command: tuple[str, ...], path: str, message: str
) -> None:
    verb, *rest = command
    ran = wanlab(verb, "--guest-folder", path, *rest)
    assert (ran.status, ran.output) == (1, b"")
    assert f"--guest-folder {path}: {message}" in ran.errors
