"""Perform short versions of the studies and of the experiments on the page about sweeps."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from wanlab.experiments import Results, load_experiment
from wanlab.sweep.sentence import parse_chart

pytestmark = pytest.mark.machine

ROOT = Path(__file__).resolve().parents[2]
STUDIES = ("sharing", "reno_theory", "queues", "rtt_unfairness", "pacing")
SHORT = {"seconds": 2}


@pytest.mark.long
@pytest.mark.parametrize("name", STUDIES)
def test_a_study_measures_what_it_draws(name: str, tmp_path: Path) -> None:
    study = load_experiment(ROOT / "examples" / "studies" / f"{name}.py")
    result = study.run(cache=False, here=True, **SHORT)
    assert result.metrics
    for sentence in study.plots:
        for quantity in parse_chart(sentence).quantity.split(","):
            table, dot, column = quantity.partition(".")
            assert column in result.record[table] if dot else quantity in result.metrics
    for design in filter(None, (study.design, study.full)):
        varied = {parameter for point, _ in design.runs() for parameter in point}
        few = next(design.runs())[0].keys() & varied
        assert few <= set(study.parameters)
    results = Results(tmp_path, name, study.about, (), study.plots, (result,))
    assert "<svg" in results.report().read_text("utf-8")
    assert len(list((tmp_path / "figures").glob("*.svg"))) == len(study.plots)


def blocks(page: str, kind: str) -> list[str]:
    """Return the examples of a kind on a page."""
    return re.findall(rf"^```{kind}\n(.*?)^```$", page, re.M | re.S)


@pytest.mark.long
def test_the_python_and_yaml_examples_on_the_page_agree(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "how-to" / "sweeps.md").read_text("utf-8")
    goodputs = []
    for kind, ending in (("python", "py"), ("yaml", "yaml")):
        text = next(each for each in blocks(page, kind) if "iperf3 -s" in each)
        path = tmp_path / f"buffers.{ending}"
        path.write_text(text.replace("-t 10", "-t 1"))
        experiment = load_experiment(path)
        assert len(list(experiment.design.runs())) == 8
        goodputs.append(experiment.run(cache=False, here=True, buffer="0.5bdp")["goodput"])
    # One of the files limits both directions.
    assert goodputs[0] == pytest.approx(goodputs[1], rel=0.2)
    assert goodputs[0] > 10


@pytest.mark.long
def test_the_pages_example_of_branching_after_a_warm_up_works(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "how-to" / "sweeps.md").read_text("utf-8")
    path = tmp_path / "queues.py"
    text = next(each for each in blocks(page, "python") if "branch()" in each)
    path.write_text(text.replace("10s", "3s"))
    result = load_experiment(path).run(cache=False, here=True)
    # FQ_CoDel serves a sparse flow first; the other queue, of 1,000 packets, fills further.
    assert 20 < result["rtt_fq_codel"] < 25
    assert result["rtt_fifo"] > 2 * result["rtt_fq_codel"]
