"""Test the gallery in the page: the list with measurements, and runs that can be cancelled."""

import shutil
from pathlib import Path

import pytest
from web_client import RefusedCommandError, WebClient

from wanlab.web.folder import WorkingFolder
from wanlab.web.gallery import GalleryRuns
from wanlab.web.limits import ClassRules

MEASURED = Path(__file__).parents[2] / "docs" / "evidence" / "gallery"


def test_the_gallery_lists_figures_with_their_measurements(tmp_path: Path) -> None:
    results = tmp_path / "results" / "gallery"
    results.mkdir(parents=True)
    for ending in ("json", "svg"):
        shutil.copy(MEASURED / f"mathis.{ending}", results)
    gallery = GalleryRuns(WorkingFolder(tmp_path), lambda push: None, ClassRules())
    listed = {figure.name: figure for figure in gallery.snapshot().figures}
    assert len(listed) >= 16
    assert listed["bbr-loss"].verdict == ""
    mathis = listed["mathis"]
    assert mathis.verdict in ("agrees", "differs", "not reproduced")
    assert mathis.figure == "results/gallery/mathis.svg"
    assert all(each.measured for each in mathis.predictions)


def test_one_figure_runs_at_a_time_and_can_be_cancelled(client: WebClient) -> None:
    with pytest.raises(RefusedCommandError, match='the gallery has no figure "bbr"'):
        client.do("gallery", action="run", name="bbr")
    client.do("gallery", action="run", name="hystart")
    client.until(lambda: client.state.get("gallery", {}).get("running") == "hystart")
    with pytest.raises(RefusedCommandError, match="hystart is being run"):
        client.do("gallery", action="run", name="mathis")
    client.do("gallery", action="cancel")
    client.until(lambda: client.state["gallery"]["running"] == "")
