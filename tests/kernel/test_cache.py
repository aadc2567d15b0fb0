"""Kernels in the cache are complete or absent; damaged ones are never used."""

import json
import os
import tempfile
from pathlib import Path

import pytest
from kernelbuild import cache as kernels
from kernelbuild.cache import Image
from kernelbuild.errors import BuildError

HASH = "0123456789abcdef" * 4


@pytest.fixture
def image(tmp_path: Path) -> Image:
    """Store a kernel whose program has 4 bytes."""
    finished = tmp_path / "building-kernel" / "finished"
    finished.mkdir(parents=True)
    (finished / "linux").write_bytes(b"\x7fELF")
    (finished / "config").write_text("CONFIG_NET=y\n")
    manifest = {"hash": HASH, "release": "6.12.1-wanlab", "files": kernels.describe_files(finished)}
    return kernels.store(tmp_path, finished, manifest)


def test_a_stored_kernel_is_found_by_its_hash(tmp_path: Path, image: Image) -> None:
    found = kernels.load(tmp_path, HASH)
    assert found == image
    assert found is not None
    assert (found.folder.name, found.size_bytes, found.release) == (HASH[:16], 4, "6.12.1-wanlab")


def test_an_empty_cache_has_no_kernel(tmp_path: Path) -> None:
    assert kernels.load(tmp_path, HASH) is None


def test_a_kernel_cut_short_is_refused(tmp_path: Path, image: Image) -> None:
    image.path.write_bytes(b"\x7fEL")
    assert kernels.problem_with(image.folder, HASH) == "linux has 3 bytes instead of 4"
    assert kernels.load(tmp_path, HASH) is None


def test_a_kernel_with_a_changed_byte_is_refused(image: Image) -> None:
    image.path.write_bytes(b"\x7fELG")
    problem = "linux is not what was built (its sha256 differs)"
    assert kernels.problem_with(image.folder, HASH) == problem


def test_a_kernel_that_is_missing_is_refused(image: Image) -> None:
    image.path.unlink()
    assert kernels.problem_with(image.folder, HASH) == "linux is missing"


def test_a_configuration_that_was_changed_is_refused(image: Image) -> None:
    image.config_path.write_text("CONFIG_NET=n\n")
    problem = "config is not what was built (its sha256 differs)"
    assert kernels.problem_with(image.folder, HASH) == problem


@pytest.mark.parametrize("text", ["", "{", "[]", '{"hash": "x"}', json.dumps({"hash": HASH})])
def test_a_manifest_that_is_damaged_is_refused(tmp_path: Path, image: Image, text: str) -> None:
    (image.folder / "manifest.json").write_text(text)
    assert kernels.problem_with(image.folder, HASH) is not None
    assert kernels.load(tmp_path, HASH) is None


def test_two_hashes_that_begin_alike_are_not_mixed_up(tmp_path: Path, image: Image) -> None:
    assert kernels.load(tmp_path, HASH[:16] + "f" * 48) is None


def test_storing_replaces_a_damaged_kernel(tmp_path: Path, image: Image) -> None:
    image.path.write_bytes(b"")
    finished = tmp_path / "again"
    finished.mkdir()
    (finished / "linux").write_bytes(b"\x7fELF")
    manifest = {"hash": HASH, "release": "x", "files": kernels.describe_files(finished)}
    kernels.store(tmp_path, finished, manifest)
    assert kernels.problem_with(image.folder, HASH) is None


def test_the_next_build_removes_files_of_a_killed_one(tmp_path: Path) -> None:
    (tmp_path / "building-old" / "source").mkdir(parents=True)
    with kernels.building_folder(tmp_path) as folder:
        assert [path.name for path in tmp_path.iterdir()] == [folder.name]
    assert list(tmp_path.iterdir()) == []


def test_an_interrupted_build_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt), kernels.building_folder(tmp_path) as folder:
        (folder / "half").write_text("x")
        raise KeyboardInterrupt
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["my cache", "a:b", "tab\tbed"])
def test_a_source_is_compiled_elsewhere_if_make_refuses_the_path(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (cache := tmp_path / name).mkdir()
    (temporary := tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    for _ in range(2):
        with pytest.raises(KeyboardInterrupt), kernels.building_folder(cache) as folder:
            (folder / "source" / "main.c").write_text("x")
            assert (folder / "source").resolve().parent == temporary
            raise KeyboardInterrupt
        assert (list(cache.iterdir()), list(temporary.iterdir())) == ([], [])


def test_a_build_removes_what_a_killed_one_left_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (cache := tmp_path / "my cache").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    left = tmp_path / f"wanlab-kernel-{os.getuid()}"
    left.mkdir()
    (left / "old").write_text("x")
    with kernels.building_folder(cache) as folder:
        assert list((folder / "source").iterdir()) == []
        assert left.stat().st_mode & 0o777 == 0o700


def test_a_temporary_folder_that_make_refuses_too_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (cache := tmp_path / "my cache").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(cache))
    with (
        pytest.raises(BuildError, match="contains a blank or colon"),
        kernels.building_folder(cache),
    ):
        pass
    assert list(cache.iterdir()) == []


def test_a_cache_below_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(BuildError, match="cannot make the folder"):
        kernels.prepare(tmp_path / "file" / "kernels")


@pytest.mark.parametrize("value", ["", "relative/folder"])
def test_only_an_absolute_cache_home_counts(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", value)
    monkeypatch.setenv("HOME", "/home/someone")
    assert kernels.cache_folder() == Path("/home/someone/.cache/wanlab/kernels")
