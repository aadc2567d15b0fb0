"""The wheel carries the kernel that the environment names, and says which platform it is for."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from dev import kernel as kernels
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
        recipe = {
            name.removeprefix("wanlab/machine/embedded/recipe/")
            for name in archive.namelist()
            if name.startswith("wanlab/machine/embedded/recipe/")
        }
    assert {"build.py", "recipe.toml", "README.md", "patches/series", "config/tcp.config"} <= recipe
    assert "kernelbuild/command.py" in recipe
    assert not any("__pycache__" in name for name in recipe)


@pytest.mark.long
@pytest.mark.machine
@pytest.mark.costs(20)
def test_an_installed_wheel_boots_its_kernel_without_the_checkout(tmp_path: Path) -> None:
    image = kernels.folder()
    assert image is not None
    built, place, home = build(tmp_path, image), tmp_path / "installed", tmp_path / "home"
    home.mkdir()
    pip = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--no-index"]
    subprocess.run([*pip, "--target", str(place), str(built)], check=True, capture_output=True)
    program = (
        "import wanlab; print(wanlab.__file__, flush=True); from wanlab.cli import main; main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, "exec", "--", "uname", "-r"],
        cwd=home,
        env={"PATH": os.environ["PATH"], "HOME": str(home), "PYTHONPATH": str(place)},
        capture_output=True,
        text=True,
    )
    where, release = done.stdout.splitlines()
    assert where.startswith(str(place)), done.stderr
    assert release.endswith("-wanlab")
    assert not (home / ".cache" / "wanlab" / "kernels").exists()


DEV_WHEEL = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from dev import command, wheel
folder = Path(sys.argv[2])
wheel.VENV = wheel.STATIC = folder
wheel.DIST = folder / "dist"
wheel.kernels.folder = lambda: folder
command.set_up = lambda *_: 0
command.site.build = lambda: None
sys.exit(command.main(["wheel"]))
"""
FAKE_PYTHON = """#!/bin/sh
/bin/mktemp --directory "$TMPDIR/build-via-sdist-XXXX"
/bin/sleep 60 &
echo $! >{folder}/child
/bin/sleep 60
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_build_of_the_wheel_leaves_nothing(
    tmp_path: Path, number: signal.Signals
) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "temporary").mkdir()
    os.mkfifo(tmp_path / "child")
    (tmp_path / "index.html").touch()
    (tmp_path / "bin" / "python").write_text(FAKE_PYTHON.format(folder=tmp_path))
    (tmp_path / "bin" / "python").chmod(0o755)
    with subprocess.Popen(
        [sys.executable, "-c", DEV_WHEEL, str(ROOT / "tools"), str(tmp_path)],
        env={**os.environ, "TMPDIR": str(tmp_path / "temporary")},
        stderr=subprocess.DEVNULL,
    ) as dev:
        child = os.pidfd_open(int((tmp_path / "child").read_text()))
        dev.send_signal(number)
        assert dev.wait(30) == 130
    assert select.select([child], [], [], 10)[0]
    assert list((tmp_path / "temporary").iterdir()) == []


def test_a_wheel_without_a_kernel_is_pure(tmp_path: Path) -> None:
    built = build(tmp_path, None)
    assert built.name.endswith("-py3-none-any.whl")
    with zipfile.ZipFile(built) as archive:
        assert not [name for name in archive.namelist() if "embedded/kernel/" in name]
