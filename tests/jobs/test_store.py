"""Folders of results are complete as soon as they have their names, and one process writes each."""

from __future__ import annotations

import errno
import os
import shutil
from pathlib import Path

import pytest

from wanlab.errors import RequirementError, WanlabError
from wanlab.jobs import store
from wanlab.jobs.store import (
    copy_atomically,
    keep_document,
    kept_document,
    locked_folder,
    replace_text,
    results_folder,
    writing_to,
)
from wanlab.shared_folder import SharedFolder


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_result_gets_its_name_when_it_is_complete_and_replaces_an_earlier_one(
    tmp_path: Path,
) -> None:
    for content in ("old", "new"):
        with results_folder(tmp_path / "lab") as folder:
            assert folder == tmp_path / "lab.partial"
            assert not list(folder.iterdir())
            (folder / content).touch()
        assert names(tmp_path) == ["lab"]
        assert names(tmp_path / "lab") == [content]


def test_an_interrupted_result_stays_partial_and_is_named(tmp_path: Path) -> None:
    with pytest.raises(KeyError) as caught, results_folder(tmp_path / "lab") as folder:
        (folder / "half").touch()
        raise KeyError
    assert caught.value.__notes__ == [f"the results so far are in {tmp_path}/lab.partial"]
    assert names(tmp_path) == ["lab.partial"]
    with pytest.raises(KeyError) as caught, results_folder(tmp_path / "lab"):
        raise KeyError
    assert not hasattr(caught.value, "__notes__")
    assert names(tmp_path) == []


def test_the_same_result_is_not_written_twice_at_once(tmp_path: Path) -> None:
    opened = open_files()
    with (
        results_folder(tmp_path / "lab"),
        pytest.raises(RequirementError, match="the same run has already started"),
        results_folder(tmp_path / "lab"),
    ):
        pass
    assert names(tmp_path) == ["lab"]
    assert open_files() <= opened  # garbage of earlier tests may be closed


@pytest.mark.parametrize("has_successor", [False, True])
def test_a_folder_that_another_run_renames_before_it_is_locked_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, has_successor: bool
) -> None:
    lock, opened = store.try_lock, open_files()

    def lock_late(descriptor: int) -> bool:
        if not (tmp_path / "other").exists():
            (tmp_path / "lab.partial").rename(tmp_path / "other")
            if has_successor:
                (tmp_path / "lab.partial").mkdir()
        return lock(descriptor)

    monkeypatch.setattr(store, "try_lock", lock_late)
    with results_folder(tmp_path / "lab") as folder:
        (folder / "mine").touch()
    assert names(tmp_path) == ["lab", "other"]
    assert names(tmp_path / "lab") == ["mine"]
    assert open_files() <= opened  # garbage of earlier tests may be closed


def open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def test_a_result_needs_space(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = shutil.disk_usage(tmp_path)
    few = usage._replace(free=store.MIN_FREE_BYTES - 1)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: few)
    with (
        pytest.raises(RequirementError, match="only 63 MiB are free"),
        results_folder(tmp_path / "x"),
    ):
        pass
    enough = usage._replace(free=store.MIN_FREE_BYTES)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: enough)
    with results_folder(tmp_path / "x"):
        pass


def test_a_full_disk_is_an_error_for_the_user_with_its_notes(tmp_path: Path) -> None:
    error = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    error.add_note("half of it is kept")
    with (
        pytest.raises(WanlabError, match=f"cannot write results to {tmp_path}: No space") as caught,
        writing_to(tmp_path, "delete something"),
    ):
        raise error
    assert caught.value.hint == "delete something"
    assert caught.value.__notes__ == ["half of it is kept"]


def test_an_error_without_a_number_is_told_in_its_own_words(tmp_path: Path) -> None:
    with pytest.raises(WanlabError, match="the disk is gone"), writing_to(tmp_path):
        raise OSError("the disk is gone")


def test_a_text_is_not_written_through_a_link_in_the_place_of_its_unfinished_file(
    tmp_path: Path,
) -> None:
    (tmp_path / "mine").write_text("mine")
    (tmp_path / f".page.{os.getpid()}").symlink_to("mine")
    replace_text(tmp_path / "page", "one")
    assert (tmp_path / "mine").read_text() == "mine"
    assert (tmp_path / "page").read_text() == "one"


def test_a_text_is_replaced_as_a_whole_or_not_at_all(tmp_path: Path) -> None:
    replace_text(tmp_path / "page", "one")
    replace_text(tmp_path / "page", "two")
    assert (tmp_path / "page").read_text() == "two"
    (tmp_path / "folder").mkdir()
    with pytest.raises(WanlabError, match="Is a directory"):
        replace_text(tmp_path / "folder", "text")
    assert names(tmp_path) == ["folder", "page"]
    with pytest.raises(WanlabError, match="No such file"):
        replace_text(tmp_path / "missing" / "page", "text")


def test_a_folder_has_one_writer_at_a_time(tmp_path: Path) -> None:
    folder, busy = SharedFolder(tmp_path / "sweep"), WanlabError("somebody is here")
    for _ in range(2):
        with locked_folder(folder, ("runs", "failed"), busy):
            assert names(folder.path) == [".lock", "failed", "runs"]
            assert (folder.path / ".lock").stat().st_mode & 0o777 == 0o644
            with (
                pytest.raises(WanlabError, match="somebody is here"),
                locked_folder(folder, (), busy),
            ):
                pass


def test_a_copy_is_complete_or_absent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "run" / "record").mkdir(parents=True)
    (tmp_path / "run" / "record" / "table").write_text("1")
    (tmp_path / "run").chmod(0o700)
    copy_atomically(tmp_path / "run", tmp_path / "copy")
    assert (tmp_path / "copy" / "record" / "table").read_text() == "1"
    assert (tmp_path / "copy").stat().st_mode & 0o777 == 0o755
    (tmp_path / "copy" / "mine").touch()
    copy_atomically(tmp_path / "run", tmp_path / "copy")  # somebody else has made it
    assert (tmp_path / "copy" / "mine").exists()

    def is_full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(shutil, "copytree", is_full)
    with pytest.raises(OSError, match="No space"):
        copy_atomically(tmp_path / "run", tmp_path / "other")
    assert names(tmp_path) == ["copy", "run"]


def test_files_are_copied_where_links_are_not_possible(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "table").write_text("1")
    copy_atomically(tmp_path / "run", tmp_path / "linked")
    assert (tmp_path / "linked" / "table").samefile(tmp_path / "run" / "table")

    def cannot(*_: object) -> None:
        raise OSError(errno.EXDEV, os.strerror(errno.EXDEV))

    monkeypatch.setattr(os, "link", cannot)
    copy_atomically(tmp_path / "run", tmp_path / "copied")
    assert not (tmp_path / "copied" / "table").samefile(tmp_path / "run" / "table")
    assert (tmp_path / "copied" / "table").read_text() == "1"


def test_a_document_counts_only_with_its_key(tmp_path: Path) -> None:
    folder = SharedFolder(tmp_path)
    assert kept_document(folder, "ada/prob1", "k1") is None
    keep_document(folder, "ada/prob1", b"{}", "k1")
    assert kept_document(folder, "ada/prob1", "k1") == b"{}"
    assert kept_document(folder, "ada/prob1", "k2") is None
    keep_document(folder, "ada/prob1", b"[]", "k2")
    assert kept_document(folder, "ada/prob1", "k2") == b"[]"
    (tmp_path / "ada" / "prob1.json").unlink()
    assert kept_document(folder, "ada/prob1", "k2") is None
    (tmp_path / "ada" / "prob1.key").write_bytes(b"\xff")
    assert kept_document(folder, "ada/prob1", "k2") is None


def test_a_document_that_is_being_replaced_has_no_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = SharedFolder(tmp_path)
    keep_document(folder, "prob1", b"{}", "k1")

    def is_full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(SharedFolder, "write", is_full)
    with pytest.raises(OSError, match="No space"):
        keep_document(folder, "prob1", b"[]", "k1")
    assert kept_document(folder, "prob1", "k1") is None
