"""The wheel carries the kernel that the environment names, and says which platform it is for."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from dev import wheel

ROOT = Path(__file__).resolve().parents[2]
pytest.importorskip("hatchling")


def build(tmp_path: Path, kernel: Path | None) -> Path:
    environment = {k: v for k, v in os.environ.items() if k != wheel.KERNEL_VARIABLE}
    if kernel is not None:
        environment[wheel.KERNEL_VARIABLE] = str(kernel)
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path / "dist")],
        cwd=ROOT,
        env=environment,
        check=True,
        capture_output=True,
    )
    (built,) = (tmp_path / "dist").glob("*.whl")
    return built


def test_a_wheel_with_a_kernel_is_for_linux_on_x86_64(tmp_path: Path) -> None:
    kernel = tmp_path / "kernel"
    kernel.mkdir()
    (kernel / "linux").write_text("a kernel")
    (kernel / "linux").chmod(0o755)
    (kernel / "manifest.json").write_text("{}")
    built = build(tmp_path, kernel)
    assert built.name.endswith("-py3-none-manylinux_2_17_x86_64.musllinux_1_1_x86_64.whl")
    with zipfile.ZipFile(built) as archive:
        program = archive.getinfo("wanlab/machine/embedded/kernel/linux")
        assert archive.read(program) == b"a kernel"
        assert program.external_attr >> 16 & 0o111 == 0o111
        assert "wanlab/machine/embedded/kernel/manifest.json" in archive.namelist()
        assert "wanlab/labs/units/lab14/lab.yaml" in archive.namelist()


def test_a_wheel_without_a_kernel_is_pure(tmp_path: Path) -> None:
    built = build(tmp_path, None)
    assert built.name.endswith("-py3-none-any.whl")
    with zipfile.ZipFile(built) as archive:
        assert not [name for name in archive.namelist() if "embedded/kernel/" in name]
