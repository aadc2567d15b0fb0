"""Test how many hand-ins of a student are kept, and that they count against the folder's limit."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from wanlab.errors import WanlabError
from wanlab.web.classroom.kept_hand_ins import MAX_BEFORE, hand_ins_in, keep, size_of
from wanlab.web.limits import FolderLimit

MIB = 1 << 20


def handed_in(folder: Path, unit: str, at_s: int, size_bytes: int = 1) -> Path:
    path = folder / f"{unit}-seed1-{at_s:04}.zip"
    path.write_bytes(bytes(size_bytes))
    os.utime(path, (at_s, at_s))
    return path


def kept(folder: Path) -> list[str]:
    return [f"{it.unit} {it.at_s:.0f}" if it.at_s < 1e6 else it.unit for it in hand_ins_in(folder)]


def test_the_last_hand_ins_of_each_unit_are_kept(tmp_path: Path) -> None:
    for at_s in range(1, 21):
        handed_in(tmp_path, "prob1", at_s)
    handed_in(tmp_path, "ex3", 0)
    keep(tmp_path, "prob1", 1, b"new", folder_bytes=0, limit_bytes=MIB)
    before = [f"prob1 {at_s}" for at_s in range(21 - MAX_BEFORE, 21)]
    assert kept(tmp_path) == ["ex3 0", *before, "prob1"]


def test_hand_ins_never_hold_more_than_the_folder_leaves(tmp_path: Path) -> None:
    """However often a student hands in 28 MiB, the folder and the hand-ins stay below 100 MiB."""
    for number in range(30):
        unit = f"prob{number % 3 + 1}"
        try:
            keep(
                tmp_path,
                unit,
                number,
                bytes(28 * MIB),
                folder_bytes=28 * MIB,
                limit_bytes=100 * MIB,
            )
        except WanlabError:
            assert number % 3 == 2
        assert size_of(hand_ins_in(tmp_path)) + 28 * MIB <= 100 * MIB


def test_old_hand_ins_make_space_but_never_the_newest_of_a_unit(tmp_path: Path) -> None:
    handed_in(tmp_path, "ex3", 1, MIB)
    for at_s in (2, 3, 4):
        handed_in(tmp_path, "prob1", at_s, MIB)
    keep(tmp_path, "prob2", 1, bytes(MIB), folder_bytes=0, limit_bytes=4 * MIB)
    assert kept(tmp_path) == ["ex3 1", "prob1 3", "prob1 4", "prob2"]
    keep(tmp_path, "prob2", 2, bytes(MIB), folder_bytes=0, limit_bytes=4 * MIB)
    assert kept(tmp_path) == ["ex3 1", "prob1 4", "prob2", "prob2"]
    with pytest.raises(WanlabError, match=r"may hold 4MiB together, .* this one of 3MiB"):
        keep(tmp_path, "prob3", 1, bytes(3 * MIB), folder_bytes=0, limit_bytes=4 * MIB)
    with pytest.raises(WanlabError, match="delete files"):
        keep(tmp_path, "ex3", 1, b"1", folder_bytes=4 * MIB, limit_bytes=4 * MIB)
    assert kept(tmp_path) == ["ex3 1", "prob1 4", "prob2", "prob2"]


def test_hand_ins_count_against_the_limit_of_the_folder(tmp_path: Path) -> None:
    limit = FolderLimit(tmp_path, MIB, kept_bytes=MIB // 2)
    limit.check(MIB // 4)
    with pytest.raises(WanlabError, match="your folder and your hand-ins hold"):
        limit.check(MIB * 3 // 4)
    limit.kept_bytes = 0
    limit.check(MIB * 3 // 4)
    limit.kept_bytes = 2 * MIB
    assert limit.is_exceeded()
