"""Test `wanlab plot`: the figures that it draws of records, and its messages."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from wanlab import Record, iperf3, plot
from wanlab.cli import figures
from wanlab.errors import RecordError, WanlabError
from wanlab.record import Provenance, Table, write

GOLDEN = Path(__file__).resolve().parents[1] / "golden"


def make(
    folder: Path, *, rate: float = 1e9, warnings: tuple[str, ...] = (), rtt: bool = True
) -> None:
    iperf3 = {"start_s": [0.0, 1.0], "end_s": [1.0, 2.0], "bits_per_second": [rate, rate]}
    tables = {"iperf3": Table.of(iperf3, {"bits_per_second": "bit/s"})}
    if rtt:
        tables["ping"] = Table.of({"time_ns": [0, 10**9], "rtt_ms": [20.0, 40.0]})
    write(Record(Provenance(wanlab="1", warnings=warnings), tables), folder)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    make(tmp_path / "1-bdp", warnings=("12 packets were lost",))
    make(tmp_path / "10-bdp", rate=2e9)
    return tmp_path


Drawn = dict[str, Any]


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> Drawn:
    """Return a dictionary that gets the figure and the path instead of a file being written."""
    kept: Drawn = {}

    def keep(figure: object, path: Path) -> None:
        kept.update(figure=figure, path=path, labels=[a.get_ylabel() for a in figure.axes])  # type: ignore[attr-defined]

    monkeypatch.setattr(plot, "save", keep)
    return kept


def draw(*folders: str, **options: Any) -> int:
    known = {"what": None, "ports": (), "as_distribution": False, "columns": False}
    return figures.run(folders, **{**known, "title": None, "output": None, **options})


def legend(figure: Any, place: int) -> list[str]:
    shown = figure.axes[place].get_legend()
    return [] if shown is None else [text.get_text() for text in shown.get_texts()]


def test_the_file_is_named_after_the_record(
    drawn: Drawn, capsys: pytest.CaptureFixture[str]
) -> None:
    assert draw("1-bdp") == 0
    assert capsys.readouterr().out == "1-bdp.pdf\n"
    assert drawn["path"] == Path("1-bdp.pdf")
    assert drawn["labels"] == ["Throughput\n(Gbit/s)", "RTT\n(ms)"]


def test_the_figure_shows_the_warnings_of_the_record(drawn: Drawn) -> None:
    draw("1-bdp")
    assert drawn["figure"].get_supxlabel() == "Warning: 12 packets were lost"
    draw("10-bdp")
    assert drawn["figure"].get_supxlabel() == ""
    draw("1-bdp", "10-bdp")
    assert drawn["figure"].get_supxlabel() == "Warning: 1-bdp: 12 packets were lost"


def test_several_records_share_panels(drawn: Drawn) -> None:
    draw("1-bdp", "10-bdp", what="throughput")
    assert drawn["labels"] == ["Throughput\n(Gbit/s)"]
    assert legend(drawn["figure"], 0) == ["1-bdp", "10-bdp"]


def test_columns_show_the_quantities_that_all_records_have(folder: Path, drawn: Drawn) -> None:
    make(folder / "other", rtt=False)
    draw("1-bdp", "other", columns=True)
    titles = [axes.get_title(loc="left") for axes in drawn["figure"].axes]
    assert (titles, drawn["labels"]) == (["1-bdp", "other"], ["Throughput\n(Gbit/s)", ""])


def test_columns_of_different_rates_have_one_unit(folder: Path, drawn: Drawn) -> None:
    make(folder / "slow", rate=5e6)
    draw("slow", "10-bdp", columns=True, what="throughput")
    assert drawn["labels"] == ["Throughput\n(Gbit/s)", ""]
    slow, fast = (axes.lines[0].get_ydata().tolist() for axes in drawn["figure"].axes)
    assert (slow, fast) == ([0.005] * 4, [2.0] * 4)


def test_a_folder_of_one_record_stands_for_it(folder: Path, drawn: Drawn) -> None:
    make(folder / "results" / "one" / "record")
    draw("results", what="rtt")
    assert drawn["path"] == Path("record.pdf")


def test_a_folder_of_records_names_them_or_is_drawn_side_by_side(
    folder: Path, drawn: Drawn
) -> None:
    make(folder / "results" / "1-bdp")
    make(folder / "results" / "10-bdp")
    with pytest.raises(
        WanlabError,
        match=r"results holds 2 records: 1-bdp, 10-bdp .choose one, as in results/1-bdp, or .*columns",
    ):
        draw("results")
    draw("results", columns=True)
    titles = [axes.get_title(loc="left") for axes in drawn["figure"].axes]
    assert titles == ["1-bdp", "10-bdp", "", ""]


def test_a_missing_path_is_reported(folder: Path) -> None:
    with pytest.raises(WanlabError, match=r"1-bpd does not exist .did you mean 1-bdp"):
        draw("1-bpd")
    with pytest.raises(WanlabError, match=r"no/such does not exist .there is no folder no"):
        figures.show_list(["no/such"])
    (folder / "empty").mkdir()
    with pytest.raises(RecordError, match="there is no record in empty"):
        draw("empty")


@pytest.mark.parametrize("test", ["tcp", "tcp_streams", "bidirectional", "udp"])
def test_the_json_of_iperf3_is_drawn(folder: Path, drawn: Drawn, test: str) -> None:
    output = (GOLDEN / "counters" / f"iperf3_{test}.json").read_bytes()
    (folder / "out.json").write_bytes(output)
    draw("out.json", what="throughput")
    assert drawn["path"] == Path("out.pdf")
    (axes,) = drawn["figure"].axes
    streams = iperf3.parse(output).streams
    assert len(axes.lines) == len(streams)


def test_the_json_of_another_program_is_refused(folder: Path) -> None:
    (folder / "other.json").write_text('{"kind": "bulk"}')
    with pytest.raises(WanlabError, match=r"other.json is neither a record nor .* iperf3 -J"):
        draw("other.json")
    with pytest.raises(WanlabError, match=r"is a part of a record .draw the folder: 1-bdp"):
        draw("1-bdp/provenance.json")


def test_the_x_axis_of_a_distribution_is_the_quantity(drawn: Drawn) -> None:
    draw("1-bdp", "10-bdp", what="rtt", as_distribution=True)
    (axes,) = drawn["figure"].axes
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("RTT (ms)", "Share of readings")


def test_records_with_equal_names_are_labelled_with_their_folders(
    folder: Path, drawn: Drawn
) -> None:
    for run in ("monday", "tuesday"):
        (folder / run).mkdir()
        make(folder / run / "1-bdp")
    draw("monday/1-bdp", "tuesday/1-bdp", what="throughput")
    assert legend(drawn["figure"], 0) == ["monday-1-bdp", "tuesday-1-bdp"]
    with pytest.raises(WanlabError, match="named twice"):
        draw("1-bdp", "./1-bdp")


def test_an_unknown_quantity_or_port_is_reported_with_the_available_ones() -> None:
    with pytest.raises(RecordError, match=r"no quantity 'rt' .did you mean rtt"):
        draw("1-bdp", what="rt")
    with pytest.raises(RecordError, match=r"no queue was recorded .the record has throughput, rtt"):
        draw("1-bdp", what="queue")
    with pytest.raises(WanlabError, match="--what needs at least one quantity"):
        draw("1-bdp", what=",")
    with pytest.raises(WanlabError, match="cannot be combined"):
        draw("1-bdp", columns=True, as_distribution=True)
    with pytest.raises(WanlabError, match=r"as '.jpg' .use one of .pdf, .svg, .png"):
        draw("1-bdp", output="figure.jpg")


def test_the_list_shows_the_quantities_that_can_be_drawn(
    capsys: pytest.CaptureFixture[str],
) -> None:
    figures.show_list(["1-bdp"])
    assert capsys.readouterr().out.splitlines() == [
        "1-bdp",
        "  throughput   Throughput",
        "  rtt          RTT",
        "  iperf3.COLUMN: bits_per_second",
        "  ping.COLUMN: rtt_ms",
        "  Warning: 12 packets were lost",
    ]


@pytest.mark.long
def test_the_program_draws_each_kind_of_file(wanlab: Any, folder: Path) -> None:
    for kind, begins in (("pdf", b"%PDF"), ("svg", b"<?xml"), ("png", b"\x89PNG")):
        ran = wanlab("plot", "1-bdp", "10-bdp", "-o", f"both.{kind}")
        assert (ran.status, ran.output, ran.errors) == (0, f"both.{kind}\n".encode(), "")
        assert (folder / f"both.{kind}").read_bytes().startswith(begins)
    ran = wanlab("plot", "nothing")
    assert (ran.status, ran.output) == (1, b"")
    assert ran.errors == "wanlab: nothing does not exist\n"
