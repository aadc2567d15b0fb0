"""The folder of a sweep in which an earlier network has left links."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from wanlab.run.result import Task
from wanlab.run.source import SourceCode
from wanlab.shared_folder import UnsafeFileError
from wanlab.sweep.folder import SweepFolder


@pytest.mark.parametrize(
    "name", ["", "runs", "failed", "unfinished", "source", "sweep.json", ".lock"]
)
def test_a_sweep_does_not_write_through_links(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    victim = tmp_path / "home"
    (victim / ".unfinished-work").mkdir(parents=True)
    (tmp_path / "work" / "sweep").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "work")
    place = Path("sweep", name)
    if name:
        place.symlink_to(victim)
    else:
        place.rmdir()
        place.symlink_to(victim)
    with (
        pytest.raises(UnsafeFileError, match=rf"{place} is a symbolic link \(remove it"),
        SweepFolder(Path("sweep")).locked(),
    ):
        pass
    assert [path.name for path in victim.iterdir()] == [".unfinished-work"]


def test_a_sweep_uses_its_folder_again(tmp_path: Path) -> None:
    for _ in range(2):
        with SweepFolder(tmp_path / "sweep").locked():
            names = {path.name for path in (tmp_path / "sweep").iterdir()}
            assert names == {"runs", "failed", "unfinished", "source", ".lock"}


def test_the_index_names_every_run_with_its_seed_and_its_key(tmp_path: Path) -> None:
    folder = SweepFolder(tmp_path)
    tasks = [Task({"rate": 5, "queue": "red"}, seed, f"key{seed}", ("rate",)) for seed in (1, 2)]
    source = SourceCode("a.py", "buffers", {"a.py": b"code", "b/c.py": b"more"})
    folder.write_index("buffers", "About.", tasks, source, ["rate"], {"rate": "Rate"})
    assert json.loads((tmp_path / "sweep.json").read_text()) == {
        "format": 1,
        "experiment": "buffers",
        "about": "About.",
        "varied": ["rate"],
        "plots": ["rate"],
        "labels": {"rate": "Rate"},
        "runs": [
            {"parameters": {"rate": 5, "queue": "red"}, "seed": seed, "key": f"key{seed}"}
            for seed in (1, 2)
        ],
    }
    assert (tmp_path / "source/b/c.py").read_bytes() == b"more"
    folder.write_index("buffers", "", [], SourceCode("a.py", "buffers", {}), [], {})
    assert json.loads((tmp_path / "sweep.json").read_text())["varied"] == []
    assert not (tmp_path / "source").exists()
