from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure

from wanlab import Design, Run, Sweep, experiment, plot
from wanlab.errors import WanlabError
from wanlab.experiments import Metric, Result, Results
from wanlab.plot import spread
from wanlab.plot.spread import interval
from wanlab.sweep.captions import axis_label, title
from wanlab.sweep.charts import axis, default_figures
from wanlab.sweep.sentence import Chart, parse_chart
from wanlab.sweep.table import table_of, write_table


def result(
    parameters: Mapping[str, str | int], seed: int, value: float, *warnings: str, **more: float
) -> Result:
    metrics = {"goodput": Metric(value, "Mbit/s")}
    metrics |= {name: Metric(number, "ms") for name, number in more.items()}
    return Result(Path("/nowhere"), "flows", parameters, seed, "k", metrics, warnings)


def results(folder: Path, **more: float) -> Results:
    found = tuple(
        result({"buffer": buffer, "algorithm": algorithm, "rate": 1}, seed, seed + place, **more)
        for place, buffer in enumerate(["1bdp", "0.5bdp"])
        for algorithm in ("reno", "bbr")
        for seed in (1, 2)
    )
    return Results(folder, "flows", "What flows do.", ("buffer", "algorithm"), (), found)


def test_figures_are_requested_by_sentences() -> None:
    assert parse_chart("lines goodput over buffer by algorithm") == Chart(
        "lines", "goodput", ("buffer",), ("algorithm",)
    )
    assert parse_chart("heat goodput over buffer and rate over all") == Chart(
        "heat", "goodput", ("buffer", "rate"), (), is_over_all=True
    )
    assert parse_chart("cdf ping.rtt_ms by a and b") == Chart("cdf", "ping.rtt_ms", (), ("a", "b"))


@pytest.mark.parametrize(
    ("sentence", "says"),
    [
        ("lnes goodput over buffer", "did you mean lines"),
        ("lines goodput", "as in: lines QUANTITY over"),
        ("heat goodput over buffer", "as in: heat"),
        ("cdf goodput over buffer", "as in: cdf"),
        ("lines goodput by a", "as in: lines"),
    ],
)
def test_a_sentence_that_describes_no_figure_is_refused(sentence: str, says: str) -> None:
    with pytest.raises(WanlabError, match=says):
        parse_chart(sentence)


@pytest.mark.parametrize(
    ("sentence", "says"),
    [
        ("lines goodput over buffer", 'would average over algorithm .*add "by algorithm"'),
        ("lines goodput over bufferz by algorithm", "did you mean buffer"),
        ("lines goodpt over buffer by algorithm", "did you mean goodput"),
        ("lines goodput,delay over buffer by algorithm", "cannot be in one figure"),
        ("lines ping.rtt_ms over buffer by algorithm", "many values in each run"),
    ],
)
def test_a_figure_that_would_mislead_is_refused(tmp_path: Path, sentence: str, says: str) -> None:
    with pytest.raises(WanlabError, match=says):
        results(tmp_path, delay=1.0).figure(sentence)


@pytest.mark.parametrize(
    "sentence",
    [
        "lines goodput over buffer by algorithm",
        "lines goodput over algorithm over all",
        "box goodput over buffer by algorithm",
        "heat goodput over buffer and algorithm",
        "cdf goodput over all",
    ],
)
def test_the_same_results_are_the_same_figure(tmp_path: Path, sentence: str) -> None:
    for name in ("one.svg", "other.svg"):
        plot.save(results(tmp_path).figure(sentence), tmp_path / name)
    assert (tmp_path / "one.svg").read_bytes() == (tmp_path / "other.svg").read_bytes()


def test_an_axis_is_measured_where_its_values_are_quantities() -> None:
    buffers = axis("buffer", ["2bdp", "0.5bdp", "16bdp"])
    assert (buffers.label, buffers.places) == ("Buffer size (BDP)", (0.5, 2.0, 16.0))
    assert buffers.is_logarithmic
    rates = axis("rate", ["1Gbps", "10Mbps"])
    assert rates.texts == ("10Mbps", "1Gbps")
    assert axis("queue", ["red", "codel"]).texts == ("red", "codel")
    assert not axis("queue", ["red", "codel"]).is_measured


def test_versions_of_the_kernel_are_names_and_not_numbers(tmp_path: Path) -> None:
    kernels = axis("kernel", ["6.6", "6.12"])
    assert (kernels.texts, kernels.is_measured) == (("6.6", "6.12"), False)
    found = [result({"buffer": "1bdp", "kernel": name}, 1, 1.0) for name in ("6.12", "bbr3")]
    figure = Results(tmp_path, "flows", "", ("kernel",), (), tuple(found)).figure(
        "lines goodput over buffer by kernel"
    )
    legends = [*figure.legends, *filter(None, [figure.axes[0].get_legend()])]
    texts = [text.get_text() for legend in legends for text in legend.get_texts()]
    assert texts == ["kernel 6.12", "kernel bbr3"]


def test_a_sweep_without_plots_has_a_figure_for_each_metric(tmp_path: Path) -> None:
    found = default_figures(results(tmp_path, delay=1.0))
    expected = ["goodput", "delay"]
    assert found == [f"lines {name} over buffer by algorithm" for name in expected]


def test_the_band_is_the_t_interval_of_the_mean() -> None:
    # For the values 1, 2, 3: s = 1, t(2) = 4.303.
    mean, half = interval([1, 2, 3])
    assert mean == 2
    assert half == pytest.approx(4.303 / math.sqrt(3))
    assert interval([5, 5]) == (5, 0)
    assert math.isnan(interval([5])[1])
    assert math.isnan(interval([])[0])
    assert interval([5, float("nan"), 5]) == (5, 0)


def test_the_table_has_units_and_its_bytes_depend_on_nothing_else(tmp_path: Path) -> None:
    table = results(tmp_path).table
    assert table.names == ("buffer", "algorithm", "rate", "seed", "goodput", "warnings")
    assert table.column("goodput").unit == "Mbit/s"
    one = write_table(table, tmp_path).read_bytes()
    assert write_table(table, tmp_path).read_bytes() == one


def test_a_metric_is_nan_in_runs_that_lack_it() -> None:
    table = table_of([result({"a": 1}, 1, 5), result({"a": 2}, 1, 6, delay=1.5)])
    assert math.isnan(float(table["delay"][0]))
    assert table["delay"][1] == 1.5


def test_a_metric_has_one_unit() -> None:
    other = Result(Path("/"), "flows", {"a": 2}, 1, "k", {"goodput": Metric(1, "bit/s")}, ())
    with pytest.raises(WanlabError, match="in Mbit/s in some runs and in bit/s in others"):
        table_of([result({"a": 1}, 1, 5), other])


def test_a_sweeps_default_figures_show_all_varied_parameters(tmp_path: Path) -> None:
    @experiment(
        design=Design.grid({"a": [1, 2], "b": [1, 2]}),
        plots=["lines x over a", "heat x over a and b", "cdf x by b", "box x over a by b"],
    )
    def one(run: Run, *, a: int = 1, b: int = 1) -> None: ...

    assert Sweep(one, output=tmp_path).plots == (
        "lines x over a by b",
        "heat x over a and b",
        "cdf x by b and a",
        "box x over a by b",
    )
    with pytest.raises(WanlabError, match="no parameter 'c'"):
        Sweep(replace(one, plots=("lines x over c",)), output=tmp_path)


# -- words, possible values, and seeds ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("lines goodput over buffer by algorithm", "Goodput over buffer size by algorithm"),
        ("lines bbr,cubic over rtt", "BBR and CUBIC over RTT"),
        ("heat goodput over buffer and rate", "Goodput over buffer size and rate"),
        ("cdf ping.rtt_ms by queue", "Distribution of ping: RTT by queue"),
        ("lines share_of_bbr over buffer", "BBR's share over buffer size"),
    ],
)
def test_the_title_of_a_figure_is_in_words(sentence: str, expected: str) -> None:
    assert title(parse_chart(sentence), {"share_of_bbr": "BBR's share"}) == expected


def test_an_axis_has_words_and_a_unit() -> None:
    assert axis_label("goodput", "Mbit/s", {}) == "Goodput (Mbit/s)"
    assert axis_label("bbr,cubic", "Mbit/s", {}) == "Rate (Mbit/s)"
    assert axis_label("share", "", {"share": "BBR's share"}) == "BBR's share"


def test_a_band_does_not_extend_to_impossible_values() -> None:
    scale = axis("x", [1, 2])
    values = {"": [[19.0, 20.0, 19.9], [0.1, 3.0, 0.2]]}
    free = spread.spread(values, scale, label="y")
    clipped = spread.spread(values, scale, label="y", bounds={"": [(0.0, 20.0)] * 2})

    def edges(figure: Figure) -> tuple[float, float]:
        outline = figure.axes[0].collections[0].get_paths()[0]
        heights = np.asarray(outline.vertices, np.float64)[:, 1]
        return float(heights.min()), float(heights.max())

    assert edges(free)[0] < 0
    assert edges(free)[1] > 20
    assert edges(clipped) == (0.0, 20.0)


def test_equal_repeats_are_reported(tmp_path: Path) -> None:
    equal = tuple(result({"buffer": b}, seed, 5.0) for b in ("1bdp", "2bdp") for seed in (1, 2))
    found = Results(tmp_path, "flows", "", ("buffer",), (), equal)
    assert found.seeds_without_effect().startswith("the seeds change nothing: 4 runs of 2")
    warning = found.figure("lines goodput over buffer").get_supxlabel().replace("\n", " ")
    assert "the seeds change nothing" in warning
    assert results(tmp_path).seeds_without_effect() == ""
    once = Results(tmp_path, "flows", "", ("buffer",), (), equal[::2])
    assert once.seeds_without_effect() == ""
