"""The key of a run covers the folders that decide its result, and no others."""

from __future__ import annotations

from pathlib import Path

import pytest

from wanlab.run.key import PACKAGE, UNINVOLVED_FOLDERS, code_hash


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """Make a small package with a file in each kind of folder."""
    for name in ("units.py", "run/run.py", "machine/programs/mn", "sweep/sweep.py", "web/app.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("1\n")
    return tmp_path


def hash_of(package: Path) -> str:
    code_hash.cache_clear()
    return code_hash(package)


DECIDING = ["units.py", "run/run.py", "machine/programs/mn"]
OTHERS = ["sweep/sweep.py", "web/app.py"]


@pytest.mark.parametrize("name", DECIDING)
def test_changing_a_deciding_file_changes_the_key(package: Path, name: str) -> None:
    before = hash_of(package)
    (package / name).write_text("2\n")
    assert hash_of(package) != before


@pytest.mark.parametrize("name", DECIDING)
def test_renaming_a_deciding_file_changes_the_key(package: Path, name: str) -> None:
    before = hash_of(package)
    (package / name).rename((package / name).with_name("renamed.py"))
    assert hash_of(package) != before


@pytest.mark.parametrize(
    "name", ["new.py", "run/new.py", "new_folder/new.py", "machine/programs/x"]
)
def test_adding_a_deciding_file_changes_the_key(package: Path, name: str) -> None:
    before = hash_of(package)
    (package / name).parent.mkdir(exist_ok=True)
    (package / name).write_text("")
    assert hash_of(package) != before


@pytest.mark.parametrize("name", OTHERS)
def test_no_change_of_other_folders_changes_the_key(package: Path, name: str) -> None:
    before = hash_of(package)
    (package / name).write_text("2\n")
    assert hash_of(package) == before
    (package / name).rename((package / name).with_name("renamed.py"))
    assert hash_of(package) == before
    (package / name).with_name("new.py").write_text("")
    assert hash_of(package) == before


def test_compiled_files_do_not_change_the_key(package: Path) -> None:
    before = hash_of(package)
    (package / "run/__pycache__").mkdir()
    (package / "run/__pycache__/run.cpython-311.pyc").write_bytes(b"1")
    assert hash_of(package) == before


def test_every_folder_that_the_key_leaves_out_exists() -> None:
    folders = {path.name for path in PACKAGE.iterdir() if path.is_dir()}
    assert folders >= UNINVOLVED_FOLDERS
    assert "run" not in UNINVOLVED_FOLDERS
