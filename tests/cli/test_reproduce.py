"""Test the command `wanlab reproduce` with a gallery of one small unit."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from wanlab.gallery.unit_file import names

DOCS = Path(__file__).resolve().parents[2] / "docs" / "evidence" / "gallery"
SMALL = str(Path(__file__).resolve().parents[1] / "gallery" / "units")


def test_the_gallery_is_listed(wanlab: Any) -> None:
    lines = wanlab("reproduce", "list").output.decode().splitlines()
    assert [line.split()[0] for line in lines] == names()
    assert wanlab("reproduce", "list", "--units", SMALL).output.decode() == (
        "round-trip  A round trip  C, 1999\n"
    )


def test_a_figure_is_shown_before_it_is_run(wanlab: Any) -> None:
    ran = wanlab("reproduce", "show", "round-trip", "--units", SMALL)
    assert (ran.status, ran.errors) == (0, "")
    text = ran.output.decode()
    for part in ("A, B, C, 1999, figure 1", "RTT over 5 ms: 18 to 22 (published: 20)", "4 runs"):
        assert part in text
    for part in (
        "* delay 10ms: 40 (arithmetic)\n",
        "wanlab reproduce run round-trip --full ",
        "round_trip.py --set NAME=VALUE\n\n  Parameters and defaults: delay=",
    ):
        assert part in text
    ran = wanlab("reproduce", "show", "bbr-loss")
    prose = [line for line in ran.output.decode().splitlines() if "http" not in line]
    assert max(len(line) for line in prose if "wanlab sweep" not in line) <= 120
    assert "* loss 1%, algorithm bbr: 94.7 (link bandwidth times" in ran.output.decode()
    ran = wanlab("reproduce", "show", "nothing")
    assert (ran.status, 'the gallery has no figure "nothing"' in ran.errors) == (1, True)


@pytest.mark.long
@pytest.mark.machine
def test_a_figure_is_run_judged_and_reported(wanlab: Any, tmp_path: Path) -> None:
    ran = wanlab("reproduce", "run", "round-trip", "--units", SMALL, "-j", "1", "--no-cache")
    assert ran.status == 0, ran.errors
    folder = tmp_path / "results" / "gallery"
    assert "round-trip: agrees (2 of 2 predictions hold)\n" in ran.output.decode()
    assert {path.suffix for path in folder.glob("round-trip.*")} == {".json", ".md", ".svg"}
    ran = wanlab("reproduce", "report", "--units", SMALL, "--json")
    assert ran.status == 0, ran.errors
    (said,) = json.loads(ran.output)
    assert said["verdict"] == "agrees"
    means = [each["measured"]["mean"] for each in said["predictions"]]
    assert means == [20.0, 2.0]  # to the precision that ping prints
    index = (folder / "README.md").read_text()
    assert (
        "| [A round trip](round-trip.md) (C, 1999) | RTT over 5 ms | 20 | 18 to 22 | 20 ms (all seeds) |"
        in index
    )
    assert "agrees (2 of 2)" in index
    page = (folder / "round-trip.md").read_text()
    assert "| 10ms | 40 | 40 ms (all seeds) | +0% | arithmetic |" in page


@pytest.mark.long
@pytest.mark.machine
def test_a_figure_is_the_same_bytes_in_every_folder(wanlab: Any, tmp_path: Path) -> None:
    files = []
    for folder in (tmp_path / "one", tmp_path / "two, with a longer path"):
        options = ["--units", SMALL, "-j", "1", "--no-cache", "--output", str(folder)]
        ran = wanlab("reproduce", "run", "round-trip", *options)
        assert ran.status == 0, ran.errors
        paths = sorted(path for path in folder.iterdir() if path.is_file())
        files.append({path.name: path.read_bytes() for path in paths})
        assert json.loads((folder / "computer" / "round-trip.json").read_text())["real_s"] > 0
    assert files[0] == files[1]
    assert set(files[0]) == {"round-trip.json", "round-trip.md", "round-trip.svg"}


@pytest.mark.long
@pytest.mark.machine
def test_a_run_that_is_repeated_keeps_the_time_that_it_took(wanlab: Any, tmp_path: Path) -> None:
    measured = tmp_path / "results" / "gallery" / "round-trip.json"
    cost = measured.parent / "computer" / measured.name
    said: list[str] = []

    def times_s() -> tuple[float | None, float | None]:
        ran = wanlab("reproduce", "run", "round-trip", "--units", SMALL, "-j", "1", "--no-cache")
        assert ran.status == 0, ran.errors
        said.append(ran.errors)
        found = json.loads(cost.read_text())
        return found["real_s"], found["processor_s"]

    first = times_s()
    assert None not in first
    assert times_s() == first
    assert "gives no time" not in said[-1]
    measured.write_text("damaged")
    assert times_s() == (None, None)
    assert said[-1].endswith(
        "round-trip: 4 of 4 runs were performed earlier, so the index gives no time"
        " (to measure it, delete results/gallery/runs/round-trip-quick and use --no-cache)\n"
    )


def test_a_report_says_what_was_written_and_what_the_interval_means(
    wanlab: Any, tmp_path: Path
) -> None:
    folder = tmp_path / "results" / "gallery"
    folder.mkdir(parents=True)
    shutil.copy(DOCS / "mathis.json", folder)
    ran = wanlab("reproduce", "report")
    assert (ran.status, ran.errors) == (0, "")
    lines = ran.output.decode().splitlines()
    assert lines[0] == "mathis: differs (3 of 4 predictions hold)"
    assert "  page: results/gallery/mathis.md, figure: results/gallery/mathis.svg" in lines
    assert any(line.startswith("The means decide the verdict.") for line in lines)
    assert lines[-1] == "index: results/gallery/README.md"
    assert max(map(len, lines)) <= 100


def test_a_kernel_that_does_not_exist_is_refused(wanlab: Any) -> None:
    ran = wanlab("reproduce", "run", "round-trip", "--units", SMALL, "--kernel", "5.99")
    assert ran.status == 1
    assert "5.99" in ran.errors


def test_a_report_needs_measurements(wanlab: Any) -> None:
    ran = wanlab("reproduce", "report")
    assert (ran.status, "has no measurements" in ran.errors) == (1, True)
