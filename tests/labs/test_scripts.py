"""Test the course's programs with captured files of iperf3 (tests/golden/counters)."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

from wanlab.labs import scripts
from wanlab.labs.scripts import fairness, plot_iperf, plot_q, xdg_open
from wanlab.labs.scripts.fairness import as_bc, index

ROOT = Path(__file__).resolve().parents[2]
COUNTERS = ROOT / "tests" / "golden" / "counters"
OF_TCP = [
    "throughput.pdf",
    "cwnd.pdf",
    "retransmits.pdf",
    "RTT.pdf",
    "RTT_Var.pdf",
    "MTU.pdf",
    "bytes.pdf",
]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def files(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


@dataclass(frozen=True)
class Ended:
    """The visible result of a program."""

    status: object
    output: str
    errors: str


Call = Callable[..., Ended]


@pytest.fixture
def call(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Call:
    """Return a function that calls a program as the files in machine/programs do."""

    def run(module: ModuleType, *arguments: str) -> Ended:
        monkeypatch.setattr(sys, "argv", ["program", *arguments])
        with pytest.raises(SystemExit) as ended:
            scripts.run(module.__name__.rpartition(".")[2] + ".sh", module.USAGE, module.main)
        captured = capsys.readouterr()
        return Ended(ended.value.code, captured.out, captured.err)

    return run


# -- plot_iperf.sh ----------------------------------------------------------------------------------


def test_all_figures_and_numbers_of_a_tcp_run_are_written(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert plot_iperf.main([str(COUNTERS / "iperf3_tcp.json")]) == 0
    assert files(folder / "results") == {*OF_TCP, "1.dat"}
    assert all((folder / "results" / name).read_bytes()[:5] == b"%PDF-" for name in OF_TCP)
    assert capsys.readouterr().out == f"results: {' '.join(OF_TCP)} 1.dat\n"


def test_the_numbers_are_csv_with_a_row_for_each_interval(folder: Path) -> None:
    plot_iperf.main([str(COUNTERS / "iperf3_tcp.json")])
    header, *rows = (folder / "results" / "1.dat").read_text().splitlines()
    assert header.split(",") == [
        "start_s",
        "end_s",
        "sender",
        "omitted",
        "bytes",
        "bits_per_second",
        "retransmits",
        "snd_cwnd_bytes",
        "snd_wnd_bytes",
        "rtt_us",
        "rttvar_us",
        "pmtu_bytes",
    ]
    assert len(rows) > 1
    assert all(row.count(",") == header.count(",") for row in rows)


@pytest.mark.long
def test_every_stream_has_its_file_of_numbers(folder: Path) -> None:
    plot_iperf.main([str(COUNTERS / "iperf3_tcp_streams.json")])
    streams = sorted(path.name for path in (folder / "results").glob("*.dat"))
    assert streams == [f"{number}.dat" for number in range(1, len(streams) + 1)]
    assert len(streams) > 1


@pytest.mark.long
def test_figures_that_udp_lacks_are_left_out_with_a_message(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plot_iperf.main([str(COUNTERS / "iperf3_tcp_streams.json")])
    capsys.readouterr()
    plot_iperf.main([str(COUNTERS / "iperf3_udp.json")])
    # No figures or numbers of the previous run are left.
    assert files(folder / "results") == {"throughput.pdf", "bytes.pdf", "1.dat"}
    assert capsys.readouterr().out.splitlines()[1] == (
        "plot_iperf.sh: not drawn: cwnd, retransmits, RTT, RTT_Var, MTU (UDP does not have them)"
    )


def test_figures_that_only_the_sender_has_are_left_out_with_a_message(
    capsys: pytest.CaptureFixture[str],
) -> None:
    plot_iperf.main([str(COUNTERS / "iperf3_tcp_reverse.json")])
    assert "only the sender knows them, and this side received" in capsys.readouterr().out


@pytest.mark.long
def test_an_interrupted_run_is_drawn_with_a_message(capsys: pytest.CaptureFixture[str]) -> None:
    plot_iperf.main([str(COUNTERS / "iperf3_interrupted.json")])
    assert "the run ended before its time: interrupt" in capsys.readouterr().out


def test_both_directions_are_drawn(folder: Path) -> None:
    assert plot_iperf.main([str(COUNTERS / "iperf3_bidirectional.json")]) == 0
    assert set(OF_TCP) <= files(folder / "results")


def test_other_files_of_the_user_are_kept(folder: Path) -> None:
    (folder / "results").mkdir()
    (folder / "results" / "notes.dat").write_text("mine")
    plot_iperf.main([str(COUNTERS / "iperf3_udp.json")])
    assert (folder / "results" / "notes.dat").read_text() == "mine"


WHOLE = (COUNTERS / "iperf3_tcp.json").read_bytes()


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "is empty: iperf3 has not ended yet"),
        (b" \n", "is empty: iperf3 has not ended yet"),
        (WHOLE[:3000], "is cut off in the middle: iperf3 has not ended yet, or was killed"),
        (b"Connecting to host", "is not JSON from iperf3; it begins with: Connecting to host"),
        (b'{"a": 1}', "cannot parse the output of iperf3"),
        ((COUNTERS / "iperf3_no_server.json").read_bytes(), "Connection refused"),
    ],
)
@pytest.mark.parametrize(("program", "name"), [(plot_iperf, "plot_iperf"), (fairness, "fairness")])
def test_a_file_that_is_no_run_is_refused_in_one_line(
    folder: Path, call: Call, program: ModuleType, name: str, content: bytes, said: str
) -> None:
    (folder / "out.json").write_bytes(content)
    ended = call(program, "out.json")
    assert (ended.status, ended.output) == (1, "")
    (line,) = ended.errors.splitlines()
    assert line.startswith(f"{name}.sh: out.json")
    assert said in line
    assert files(folder) == {"out.json"}


def test_the_error_for_a_missing_file_lists_the_existing_ones(folder: Path, call: Call) -> None:
    (folder / "out.json").touch()
    ended = call(plot_iperf, "our.json")
    assert ended.errors == "plot_iperf.sh: our.json: there is no such file (there is out.json)\n"


def test_the_error_for_a_wrong_call_shows_the_usage(call: Call) -> None:
    assert call(plot_iperf).status == 2
    assert call(plot_iperf, "a", "b").errors.startswith("plot_iperf.sh: takes one file\nusage: ")
    assert call(plot_iperf, "--help").output.startswith("usage: plot_iperf.sh FILE.json\n")


# -- fairness.sh ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rates", "printed"),
    [
        ([5, 3, 1], ".77142"),  # the manual's example: 81/105
        ([7], "1.00000"),
        ([4, 4, 4], "1.00000"),
        ([1, 0], ".50000"),
        ([0, 0, 0, 1, 0, 0, 0, 0], ".12500"),
    ],
)
def test_the_index_is_cut_after_five_decimals_without_a_zero_before_them(
    rates: list[int], printed: str
) -> None:
    assert as_bc(index([Fraction(rate) for rate in rates])) == printed


def test_the_index_of_a_run_is_calculated_from_its_streams(
    capsys: pytest.CaptureFixture[str],
) -> None:
    one, several = (str(COUNTERS / f"iperf3_tcp{name}.json") for name in ("", "_streams"))
    fairness.main([one])
    fairness.main([one, one])
    fairness.main([several])
    alone, equal, shared = capsys.readouterr().out.splitlines()
    assert (alone, equal) == ("1.00000", "1.00000")
    assert shared.startswith(".")


def test_two_directions_have_no_index(call: Call) -> None:
    ended = call(fairness, str(COUNTERS / "iperf3_bidirectional.json"))
    assert (ended.status, ended.output) == (1, "")
    assert "both directions, which do not share one path" in ended.errors


def test_the_shared_folder_can_have_any_name(tmp_path: Path) -> None:
    mounts = tmp_path / "mounts"
    mounts.write_text("working-folder /home/Zo\u00eb/wan\\040lab hostfs rw 0 0\n", encoding="utf-8")
    assert xdg_open.shared_folder(mounts) == Path("/home/Zo\u00eb/wan lab")


def test_an_interrupt_while_plot_q_writes_does_not_lose_its_figure(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    readings = plot_q.QueueLog([0.0], [1500], [1], [0])

    def write(*_: object) -> list[str]:
        signal.raise_signal(signal.SIGINT)
        return ["queue_s1-eth2.pdf"]

    here = SimpleNamespace(node_of=lambda port: "root")
    monkeypatch.setattr(plot_q, "LocalView", lambda: nullcontext(here))
    monkeypatch.setattr(plot_q, "watch", lambda *_: (readings, "tbf"))
    monkeypatch.setattr(plot_q, "write", write)
    assert plot_q.main(["s1-eth2"]) == 0
    assert capsys.readouterr().out.endswith("written: queue_s1-eth2.pdf\n")
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
