"""Test `wanlab doctor` and `wanlab clean`."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Wanlab = Callable[..., Any]
pytestmark = pytest.mark.machine


def test_the_doctor_prints_a_line_for_each_finding(wanlab: Wanlab) -> None:
    ran = wanlab("doctor")
    lines = ran.output.decode().splitlines()
    assert ran.status == 0
    assert "The machine: can run" in lines
    names = [line.split()[1] for line in lines if line.startswith("  ")]
    for name in ("bash", "tc", "kernel", "memory", "ptrace", "boot"):
        assert name in names
    assert all("->" in line for line in lines if line.startswith(("  missing", "  absent")))


def test_the_doctor_prints_json_for_programs(wanlab: Wanlab) -> None:
    report = json.loads(wanlab("doctor", "--json").output)
    assert report["can_run"] is True
    found = {(it["area"], it["name"]): it for it in report["findings"]}
    assert found["embedded", "boot"]["is_there"]
    assert found["programs", "tc"]["is_needed"]


def test_without_a_kernel_the_doctor_says_how_to_get_one_and_fails(
    wanlab: Wanlab, tmp_path: Path
) -> None:
    ran = wanlab("doctor", environment={"WANLAB_KERNEL": "", "XDG_CACHE_HOME": str(tmp_path)})
    (line,) = [it for it in ran.output.decode().splitlines() if it.startswith("  missing  kernel")]
    assert ran.status == 1
    assert "wanlab kernel build" in line


def test_there_is_nothing_to_clean_when_nothing_was_killed(wanlab: Wanlab, tmp_path: Path) -> None:
    ran = wanlab("clean", environment={"XDG_CACHE_HOME": str(tmp_path), "XDG_RUNTIME_DIR": ""})
    assert (ran.status, ran.output) == (0, b"nothing to clean\n")


def test_a_dry_run_of_clean_removes_nothing(wanlab: Wanlab, tmp_path: Path) -> None:
    left = tmp_path / "wanlab" / "kernels" / "building-kernel"
    left.mkdir(parents=True)
    environment = {"XDG_CACHE_HOME": str(tmp_path), "XDG_RUNTIME_DIR": ""}
    dry = wanlab("clean", "--dry-run", environment=environment)
    assert dry.output.decode().startswith(f"would remove: {left}")
    assert left.exists()
    done = wanlab("clean", environment=environment)
    assert done.output.decode().startswith(f"removed: {left}")
    assert not left.exists()
