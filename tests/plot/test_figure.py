from pathlib import Path

import matplotlib
import numpy as np
import pytest

from wanlab import plot
from wanlab.errors import WanlabError
from wanlab.plot import Limit, Line, Panel

TIMES = np.arange(0, 10, 0.5)


def panel(title: str = "Queue", *, high: float = 1.0, warnings: tuple[str, ...] = ()) -> Panel:
    lines = (
        Line("queue", TIMES, high * (TIMES / 10)),
        Line("other", TIMES, 0 * TIMES, points=True),
    )
    return Panel(title, "MB", lines, (Limit("limit", high),), warnings)


def test_a_timeline_stacks_panels_over_a_common_time_axis() -> None:
    figure = plot.timeline([panel("A"), panel("B")], title="both")
    top, bottom = figure.axes
    assert [axes.get_ylabel() for axes in figure.axes] == ["A\n(MB)", "B\n(MB)"]
    assert (top.get_title(loc="left"), bottom.get_xlabel()) == ("both", "Time (s)")
    assert top.get_xlim() == bottom.get_xlim()


def test_the_time_begins_at_zero_unless_nothing_was_measured_there() -> None:
    for times, begins in ((TIMES + 1, -0.105), (TIMES + 100, 100)):
        (axes,) = plot.timeline([Panel("A", "", (Line("", times, TIMES),))]).axes
        assert axes.get_xlim()[0] == pytest.approx(begins, abs=0.1)


def test_lines_and_limits_are_in_the_legend() -> None:
    (axes,) = plot.timeline([panel(high=2.62144)]).axes
    legend = axes.get_legend()
    assert legend is not None
    assert [text.get_text() for text in legend.get_texts()] == ["queue", "other", "limit 2.62 MB"]


def test_lines_of_one_panel_differ_without_colour() -> None:
    lines = tuple(Line(str(number), TIMES, TIMES) for number in range(4))
    (axes,) = plot.timeline([Panel("A", "", lines)]).axes
    assert len({str(line.get_linestyle()) for line in axes.lines} - {"-"}) >= 1
    assert len({str(line.get_color()) for line in axes.lines}) == 4


def test_lines_of_one_panel_differ_in_black_and_white() -> None:
    lines = tuple(Line(str(number), TIMES, TIMES) for number in range(8))
    (axes,) = plot.timeline([Panel("A", "", lines)]).axes
    assert len({str(line._dash_pattern) for line in axes.lines}) == 8  # type: ignore[attr-defined]
    assert len({str(line.get_marker()) for line in axes.lines}) == 8


def test_many_single_readings_are_dots() -> None:
    times = np.arange(500.0)
    few, many = (Line("", times[:n], times[:n], points=True) for n in (400, 500))
    sizes = [
        plot.timeline([Panel("A", "", (line,))]).axes[0].lines[0].get_markersize()
        for line in (few, many)
    ]
    assert sizes[0] > 2 * sizes[1]


def test_a_line_alone_needs_no_markers() -> None:
    (axes,) = plot.timeline([Panel("A", "", (Line("", TIMES, TIMES),))]).axes
    assert [line.get_marker() for line in axes.lines] == ["None"]


def test_a_line_that_consists_of_gaps_is_allowed(tmp_path: Path) -> None:
    gaps = Line("gaps", TIMES, np.full(len(TIMES), np.nan))
    figure = plot.timeline([Panel("A", "", (gaps, Line("values", TIMES, TIMES)))])
    plot.save(figure, tmp_path / "figure.png")


def test_a_distribution_shows_the_share_of_values_up_to_each_value() -> None:
    line = Line("rtt", TIMES[:4], np.array([30.0, 10.0, np.nan, 20.0]))
    figure = plot.distribution(
        [Panel("RTT", "ms", (line,), warnings=("look",)), panel(), panel()], title="run"
    )
    first, *_, last = figure.axes
    (drawn,) = first.lines
    assert [(float(x), float(y)) for x, y in np.asarray(drawn.get_xydata())] == [
        (10, 0),
        (10, 1 / 3),
        (20, 1 / 3),
        (20, 2 / 3),
        (30, 2 / 3),
        (30, 1),
    ]
    assert (first.get_xlabel(), first.get_ylabel()) == ("RTT (ms)", "Share of readings")
    assert (figure.get_supxlabel(), last.get_visible()) == ("Warning: look", False)


def test_a_distribution_of_nothing_is_refused() -> None:
    with pytest.raises(WanlabError, match="nothing to draw"):
        plot.distribution([])


def test_a_quick_pdf_contains_letters_as_outlines(tmp_path: Path) -> None:
    figure = plot.timeline([panel()])
    for name, quick in (("whole", False), ("quick", True)):
        plot.save(figure, tmp_path / f"{name}.pdf", quick=quick)
    assert b"/Subtype /Type3" in (tmp_path / "quick.pdf").read_bytes()
    assert b"/Subtype /Type3" not in (tmp_path / "whole.pdf").read_bytes()


def test_a_comparison_has_a_column_for_each_run_on_the_same_scale() -> None:
    figure = plot.comparison({"1 BDP": [panel()], "10 BDP": [panel(high=16.0)]})
    left, right = figure.axes
    assert [axes.get_title(loc="left") for axes in (left, right)] == ["1 BDP", "10 BDP"]
    assert left.get_ylim() == right.get_ylim() == (0, 17)


def test_a_comparison_may_give_each_run_its_own_scale() -> None:
    runs = {"1 BDP": [panel()], "10 BDP": [panel(high=16.0)]}
    left, right = plot.comparison(runs, same_scale=False).axes
    assert (left.get_ylim(), right.get_ylim()) == ((0, 1.0625), (0, 17))


def test_an_overlay_names_its_lines_by_run() -> None:
    (laid,) = plot.overlay({"1 BDP": [panel()], "10 BDP": [panel(high=16.0)]})
    assert [line.label for line in laid.lines] == [
        "1 BDP queue",
        "1 BDP other",
        "10 BDP queue",
        "10 BDP other",
    ]
    assert [limit.label for limit in laid.limits] == ["1 BDP limit", "10 BDP limit"]


def test_warnings_are_shown_once() -> None:
    figure = plot.timeline([panel(warnings=("a", "b")), panel(warnings=("b",))])
    assert figure.get_supxlabel() == "Warning: a; b"
    assert plot.timeline([panel()]).get_supxlabel() == ""


def test_a_figure_without_values_still_has_a_scale() -> None:
    lines = (Line("", TIMES, np.full(len(TIMES), np.nan)), Line("", TIMES[:0], TIMES[:0]))
    (axes,) = plot.timeline([Panel("A", "ms", lines)]).axes
    assert axes.get_ylim() == (0, 1)


@pytest.mark.parametrize(
    ("runs", "said"),
    [
        ({}, "nothing to draw"),
        ({"a": []}, "nothing to draw"),
        ({"a": [panel("A")], "b": [panel("B")]}, r"'b' has B \(MB\) where 'a' has A \(MB\)"),
        ({"a": [panel()], "b": [panel(), panel()]}, "'a' has 1 panels and 'b' has 2"),
    ],
)
def test_runs_that_do_not_fit_together_are_refused(runs: dict[str, list[Panel]], said: str) -> None:
    with pytest.raises(WanlabError, match=said):
        plot.comparison(runs)


@pytest.mark.parametrize("suffix", [".pdf", ".svg", ".png"])
def test_the_same_figure_is_the_same_file(
    tmp_path: Path, suffix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def draw(name: str) -> bytes:
        path = tmp_path / name / f"figure{suffix}"
        plot.save(plot.timeline([panel("A", warnings=("look",)), panel("B")], title="both"), path)
        return path.read_bytes()

    first = draw("first")
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1")  # used as the date in formats that contain one
    assert draw("second") == first


def test_the_users_own_style_changes_nothing(tmp_path: Path) -> None:
    plot.save(plot.timeline([panel()]), tmp_path / "plain.png")
    with matplotlib.rc_context({"lines.linewidth": 9, "font.size": 30, "svg.hashsalt": "x"}):
        plot.save(plot.timeline([panel()]), tmp_path / "styled.png")
        assert matplotlib.rcParams["font.size"] == 30
    assert (tmp_path / "plain.png").read_bytes() == (tmp_path / "styled.png").read_bytes()


def test_an_unknown_kind_of_file_is_refused_with_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(WanlabError, match=r"as '.jpg' .use one of .pdf, .svg, .png"):
        plot.save(plot.timeline([panel()]), tmp_path / "figure.jpg")


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(WanlabError, match=r"cannot write .*figure.png: "):
        plot.save(plot.timeline([panel()]), tmp_path / "file" / "figure.png")


@pytest.mark.parametrize("ending", [".pdf", ".svg", ".png"])
def test_a_full_disk_gives_an_error_of_one_line(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"figure{ending}"
    path.symlink_to("/dev/full")
    with pytest.raises(WanlabError) as raised:
        plot.save(plot.timeline([panel()]), path)
    assert str(raised.value) == f"cannot write {path}: No space left on device"
