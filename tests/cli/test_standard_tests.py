"""Test the command `wanlab test`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from wanlab.standard_tests import catalog


def test_all_tests_are_listed(wanlab: Any) -> None:
    lines = wanlab("test", "list").output.decode().splitlines()
    assert [line.split()[0] for line in lines] == [*catalog.TESTS, "tcp_Nup"]


@pytest.mark.long
@pytest.mark.machine
def test_the_command_compares_queues(wanlab: Any, tmp_path: Path) -> None:
    ran = wanlab(
        "test",
        "ping",
        "--time",
        "1",
        "--queue",
        "fifo,fq_codel",
        "--seeds",
        "1",
        "--format",
        ".svg",
        "--json",
        "--no-cache",
        "-j",
        "1",
    )
    assert ran.status == 0, ran.errors
    said = json.loads(ran.output)
    assert [run["parameters"]["queue"] for run in said["runs"]] == ["fifo", "fq_codel"]
    assert said["figures"] == ["results/ping/ping.svg", "results/ping/ping-cdf.svg"]
    assert str(tmp_path).encode() not in ran.output  # the same in every folder
    assert (tmp_path / "results" / "ping" / "ping-cdf.svg").exists()


def test_options_of_the_default_path_do_not_fit_another_topology(wanlab: Any) -> None:
    ran = wanlab("test", "ping", "--topo", "single,2", "--rate", "1Mbps")
    assert ran.status == 1
    assert "--rate cannot be combined with --topo" in ran.errors
    ran = wanlab("test", "rrull")
    assert (ran.status, "did you mean rrul" in ran.errors) == (1, True)
