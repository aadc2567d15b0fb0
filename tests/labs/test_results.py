"""The folder of a run, with a lab that is made for these tests: one flow of half a second."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from wanlab import Flows, Network, Queues, Record, Sampling, plot, record
from wanlab.errors import CommandError, RequirementError
from wanlab.labs import find
from wanlab.labs.lab import Finding, Lab, LabResult, Run, Underway
from wanlab.labs.results import run_lab
from wanlab.labs.terminals import CLIENT, Terminals

pytestmark = pytest.mark.machine

Perform = Callable[[Network, LabResult, Callable[[str], None]], None]
SHAPER = "tc qdisc add dev s1-eth2 root handle 1: tbf rate 10mbit burst 10000 limit 50000"


def begin(network: Network, result: LabResult, say: Callable[[str], None]) -> Sampling:
    """Half a second of a flow, sampled."""
    terminals = Terminals(network, say, result.outputs)
    terminals.run(CLIENT, SHAPER)
    sampling = Sampling(network, [Queues("s1-eth2"), Flows("h1")], every="50ms")
    result.underway = Underway("flow", "one flow", sampling)
    server = terminals.start("h3", "iperf3 -s")
    network.run_for("10ms")
    flow = terminals.start("h1", "iperf3 -c 10.0.0.3 -n 600K")
    sampling.run(flow)
    terminals.end("h1", flow)
    terminals.interrupt("h3", server)
    return sampling


def whole(network: Network, result: LabResult, say: Callable[[str], None]) -> None:
    sampling = begin(network, result, say)
    made = Record(network.provenance(), sampling.tables())
    result.runs.append(Run("flow", "one flow", made, [plot.rtt(made)]))
    result.underway = None
    peak = float(max(made.tables["qdisc"]["backlog_bytes"]))
    result.findings.append(Finding("queue peak", "5e4", peak, "B", 0, 50_000))


def lab(perform: Perform) -> Lab:
    return Lab(
        number=99,
        title="A test",
        topology=find(14).topology,
        wire="gso",
        line_rate_bps=0,
        sysctls={},
        perform=perform,
    )


def run(perform: Perform, results: Path, seed: int = 1) -> tuple[Path, dict[str, Any]]:
    return run_lab(lab(perform), seed=seed, clock="virtual", results=results, say=lambda _: None)


def content(folder: Path) -> dict[str, str]:
    """Hashes of all files, by their paths."""
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in folder.rglob("*")
        if path.is_file()
    }


def test_a_run_leaves_one_folder_with_everything(tmp_path: Path) -> None:
    folder, report = run(whole, tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == [folder.name]
    assert set(content(folder)) == {
        "report.json",
        "report.txt",
        "transcript.txt",
        "figures/flow.pdf",
        "figures/flow.png",
        "flow/provenance.json",
        "flow/qdisc.parquet",
        "flow/tcp.parquet",
    }
    assert report == json.loads((folder / "report.json").read_text()) | {"folder": str(folder)}
    assert (folder / "report.txt").read_text().endswith("\n1 of 1 reproduced\n")
    assert f"client$ {SHAPER}" in (folder / "transcript.txt").read_text()
    assert report["runs"]["flow"]["digest"] == record.read(folder / "flow").digest()


def test_the_same_seed_gives_the_same_files_and_another_seed_others(tmp_path: Path) -> None:
    first, _ = run(whole, tmp_path / "first")
    second, _ = run(whole, tmp_path / "second, elsewhere".replace(",", ""))
    other, _ = run(whole, tmp_path / "first", seed=2)
    assert first.name == second.name != other.name
    assert content(first) == content(second)
    assert content(first)["flow/tcp.parquet"] != content(other)["flow/tcp.parquet"]


def test_a_second_run_of_that_name_replaces_the_first(tmp_path: Path) -> None:
    folder, _ = run(whole, tmp_path)
    (folder / "report.txt").write_text("old")
    assert run(whole, tmp_path)[0] == folder
    assert "reproduced" in (folder / "report.txt").read_text()


def test_what_was_measured_before_an_interrupt_is_kept(tmp_path: Path) -> None:
    def interrupted(network: Network, result: LabResult, say: Callable[[str], None]) -> None:
        whole(network, result, say)
        begin_again = Sampling(network, [Queues("s1-eth2")], every="50ms")
        result.underway = Underway("more", "more of it", begin_again)
        begin_again.run("200ms")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt) as raised:
        run(interrupted, tmp_path)
    (partial,) = tmp_path.iterdir()
    assert partial.name.endswith(".partial")
    assert raised.value.__notes__ == [f"what was measured until then is in {partial}"]
    assert json.loads((partial / "report.json").read_text())["reproduced"] == 1
    kept = record.read(partial / "more-interrupted")
    assert set(kept.tables["qdisc"]["time_ns"]) == set(range(0, 200_000_001, 50_000_000))
    assert kept.provenance.parameters == {"interrupted": True}


def test_a_run_that_ends_before_it_began_leaves_nothing(tmp_path: Path) -> None:
    def broken(network: Network, result: LabResult, say: Callable[[str], None]) -> None:
        network.root.run("nonesuch")

    with pytest.raises(CommandError) as raised:
        run(broken, tmp_path)
    assert not hasattr(raised.value, "__notes__")
    assert list(tmp_path.iterdir()) == []


def test_two_equal_runs_at_once_are_refused(tmp_path: Path) -> None:
    def twice(network: Network, result: LabResult, say: Callable[[str], None]) -> None:
        with pytest.raises(RequirementError, match="the same run is under way already"):
            run(twice, tmp_path)
        whole(network, result, say)

    assert run(twice, tmp_path)[1]["reproduced"] == 1


def test_remains_of_a_run_that_was_killed_are_replaced(tmp_path: Path) -> None:
    folder, _ = run(whole, tmp_path)
    remains = folder.rename(folder.with_name(folder.name + ".partial"))
    (remains / "work").mkdir()
    (remains / "link").symlink_to(tmp_path)
    assert run(whole, tmp_path)[0] == folder
    assert [path.name for path in tmp_path.iterdir()] == [folder.name]
    assert "link" not in content(folder)
