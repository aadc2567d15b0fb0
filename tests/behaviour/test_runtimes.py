"""Programs of other languages print the same in all modes of the machine's kernel as on the computer.

Their runtimes compile while they run, handle SIGSEGV, preempt threads by signals, and make system calls
without the C library.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from machines import needs_another_mode, other_mode

from wanlab import Network, shapes

FOLDER = Path(__file__).parent / "odd"
# name: (the program's source, how it is built on the computer, how it is run)
RUNTIMES = {
    "luajit": ("program.lua", "", "luajit program.lua"),
    "rustc": ("program.rs", "rustc -O -o program program.rs", "./program"),
    "node": ("program.js", "", "node program.js"),
    "javac": ("Program.java", "javac Program.java", "java -Xmx256m Program"),
    "go": ("program.go", "go build -o program program.go", "./program"),
    "go-static": ("program.go", "CGO_ENABLED=0 go build -o program program.go", "./program"),
}
LONG = ("node", "javac", "go", "go-static")
CONTAINER = (
    "bwrap --unshare-all --ro-bind / / --ro-bind /proc /proc --dev /dev --tmpfs /tmp sh -c "
    "'id -u; ls /tmp; cat /proc/sys/kernel/hostname; seq 1000 | xargs -n 50 | wc -l'"
)

pytestmark = [pytest.mark.machine, needs_another_mode]


def _marked(name: str) -> object:
    program = name.partition("-")[0]
    missing = pytest.mark.skipif(shutil.which(program) is None, reason=f"no {program} here")
    marks = [pytest.mark.long, pytest.mark.costs(15)] if name in LONG else []
    return pytest.param(name, marks=[missing, *marks])


def outputs(command: str, folder: Path) -> list[str]:
    """Run a command in both modes; return what it printed."""
    found = []
    for mode in ("ptrace", other_mode()):
        with Network(shapes.minimal(), folder=folder, traps=mode) as net:
            done = net["h1"].run(command, check=False)
            found.append(f"{done.status} {done.output}{done.stderr}")
    return found


@pytest.mark.parametrize("name", [_marked(name) for name in RUNTIMES])
def test_a_program_of_another_language_prints_what_it_prints_on_the_computer(
    name: str, tmp_path: Path
) -> None:
    source, build, command = RUNTIMES[name]
    shutil.copy(FOLDER / source, tmp_path)
    if build:
        subprocess.run(["sh", "-c", build], cwd=tmp_path, check=True, env=os.environ)
    done = subprocess.run(["sh", "-c", command], cwd=tmp_path, capture_output=True, text=True)
    expected = f"{done.returncode} {done.stdout}{done.stderr}"
    assert expected.startswith("0 ")
    assert outputs(command, tmp_path) == [expected] * 2


@pytest.mark.skipif(shutil.which("bwrap") is None, reason="no bwrap (bubblewrap) here")
def test_a_container_in_a_machine_is_the_same_in_both_modes(tmp_path: Path) -> None:
    first, second = outputs(CONTAINER, tmp_path)
    assert first == "0 0\nwanlab\n20\n"
    assert second == first
