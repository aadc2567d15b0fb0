"""Test what an experiment keeps of its run, without a machine."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from wanlab.errors import WanlabError
from wanlab.run.run import Run


def test_files_of_a_run_are_kept(tmp_path: Path) -> None:
    (tmp_path / "files" / "inner").mkdir(parents=True)
    (tmp_path / "files" / "inner" / "a.csv").write_bytes(b"1")
    (tmp_path / "b.csv").write_bytes(b"2")
    run = Run("x", {}, 1, tmp_path / "files")
    run.keep("a", Path("inner/a.csv"))
    run.keep("b", tmp_path / "b.csv")
    assert run._raw == {"a": b"1", "b": b"2"}


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("link", "out is a symbolic link"),
        ("folder link", "No such file|Not a directory|symbolic link"),
        ("FIFO", "out is a FIFO"),
        ("missing", "cannot keep out: No such file or directory"),
    ],
)
def test_what_a_program_has_put_in_the_place_of_a_file_is_not_kept(
    tmp_path: Path, victim: Path, kind: str, message: str
) -> None:
    """A link led to a private file or to /dev/zero, and a FIFO was waited for without end."""
    (tmp_path / "files").mkdir()
    name = "out"
    match kind:
        case "link":
            (tmp_path / "files" / "out").symlink_to(victim)
        case "folder link":
            (tmp_path / "files" / "inner").symlink_to(victim.parent)
            name = f"inner/{victim.name}"
        case "FIFO":
            os.mkfifo(tmp_path / "files" / "out")
    run = Run("x", {}, 1, tmp_path / "files")
    with pytest.raises(WanlabError, match=message):
        run.keep("a", Path(name))
