"""The same program gives the same bytes wherever wanlab and its Python are installed."""

from __future__ import annotations

import os
import shutil
import site
import subprocess
import sys
import tempfile
import venv
from collections.abc import Iterator
from pathlib import Path

import pytest

import wanlab
from wanlab import Network, shapes

pytestmark = pytest.mark.machine

PROGRAM = """\
import time
import matplotlib, numpy, wanlab.labs.scripts.plot_q
for _ in range(3):
    time.sleep(0.1)  # until an absolute time
    print(time.monotonic_ns(), flush=True)
"""
SOURCE = Path(wanlab.__file__).parent


def run(python: Path, source: Path, folder: Path) -> str:
    (folder / "program.py").write_text(PROGRAM)
    command = "$WANLAB_PYTHON program.py && date +%N"
    done = subprocess.run(
        [python, "-m", "wanlab.cli", "exec", "--topo", "single,2", "--", "sh", "-c", command],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(source), "MPLCONFIGDIR": "/run/matplotlib"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.long
def test_two_places_give_the_same_bytes_for_python(tmp_path: Path) -> None:
    """The files of the copy have new times, so Python does not use their compiled modules."""
    folder = tmp_path / "work"
    folder.mkdir()
    expected = run(Path(sys.executable), SOURCE.parent, folder)
    place = tmp_path / "another" / "place"
    shutil.copytree(
        SOURCE,
        place / "source" / "wanlab",
        copy_function=shutil.copyfile,
        ignore=shutil.ignore_patterns("static", "units"),
    )
    venv.create(place / "venv", symlinks=True, with_pip=False)
    packages = next((place / "venv").glob("lib/*/site-packages"))
    packages.rmdir()
    packages.symlink_to(site.getsitepackages()[0])
    assert run(place / "venv" / "bin" / "python", place / "source", folder) == expected


SERVER = "require('http').createServer((q, r) => r.end('x'.repeat(2000))).listen(8080);"
CLIENT = """\
const http = require('http');
const began = process.hrtime.bigint();
http.get('http://10.0.0.2:8080/', r => {
  r.resume();
  r.on('end', () => { console.log(process.hrtime.bigint() - began); process.exit(); });
});
"""


@pytest.mark.skipif(shutil.which("node", path="/usr/bin:/bin") is None, reason="Node is not here")
def test_at_a_fixed_path_node_takes_the_same_time_in_every_folder(tmp_path: Path) -> None:
    """The page about limitations says how. Node's threads spin for a time that depends on the path."""
    outputs = []
    for name in ("a", "a/folder with a longer path/than that of the first"):
        folder = tmp_path / name
        folder.mkdir(parents=True)
        (folder / "server.js").write_text(SERVER)
        (folder / "client.js").write_text(CLIENT)
        with Network(
            shapes.minimal(delay="2ms"), seed=1, folder=folder, guest_folder="/mine"
        ) as net:
            net["h2"].start("node server.js")
            net.run_for("2s")
            outputs.append(net["h1"].run("node client.js").output)
    assert outputs[0] == outputs[1]


NAMES = (
    "a",
    "a folder with spaces/and a long name, of more than the forty letters that fit into an entry",
    "b/c/d/e/f/g",
)
MEMORY = (
    "ps aux; free -k; cat /proc/meminfo /proc/vmstat /proc/1/status /proc/1/stat; date +%s.%N; "
)
STACK = "od -A n -t x8 /proc/self/auxv; env | wc -c"
"""Where a program's stack begins depends on the length of its environment."""


@pytest.fixture
def own_folders() -> Iterator[list[Path]]:
    """Folders with paths of several lengths, not below /tmp: a machine has a /tmp of its own."""
    with tempfile.TemporaryDirectory(dir="/var/tmp") as base:
        folders = [Path(base, name) for name in NAMES]
        for folder in folders:
            folder.mkdir(parents=True)
        yield folders


@pytest.mark.parametrize(
    ("arguments", "lines"),
    [
        (["exec", "--topo", "single,2", "--", "sh", "-c", MEMORY + STACK], ""),
        (["exec", "--", "od", "-A", "n", "-t", "x8", "/proc/self/auxv"], ""),
        (["mn", "--topo", "single,2"], f"h1 {STACK}\nh1 date +%s.%N; grep Vm /proc/1/status\n"),
    ],
)
@pytest.mark.parametrize("traps", ["inprocess", "ptrace"])
def test_the_path_of_the_working_folder_shows_in_no_number(
    own_folders: list[Path], arguments: list[str], lines: str, traps: str
) -> None:
    """Memory, addresses and times, in a folder that has the path that it has on the computer."""
    outputs = []
    for folder in own_folders:
        done = subprocess.run(
            [sys.executable, "-m", "wanlab.cli", arguments[0], "--traps", traps, *arguments[1:]],
            cwd=folder,
            env={**os.environ, "PYTHONPATH": str(SOURCE.parent)},
            input=lines,
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
        assert done.returncode == 0, done.stderr
        outputs.append(done.stdout)
    assert outputs[0].strip()
    for output in outputs[1:]:
        assert output.splitlines() == outputs[0].splitlines()
