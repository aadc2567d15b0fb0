"""The kernel runs on processors with any amount of extended registers, and keeps all of them.

The size of the XSTATE differs between processors (576 to 11,008 bytes); `fake_xstate.c` shows the
kernel under test any size on any computer.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from machines import needs_seccomp_mode

from wanlab import Host, Network, Topology
from wanlab.errors import MachineError
from wanlab.machine.embedded import confinement, find_image

pytestmark = [
    pytest.mark.machine,
    pytest.mark.costs(3),
    pytest.mark.skipif(shutil.which("gcc") is None, reason="no C compiler here"),
]

SOURCES = Path(__file__).parent / "xstate"
CHECKS = ("threads", "page faults", "fork", "signals", "damaged frame", "debugger")


def compiled(source: str, target: Path) -> Path:
    command = ["gcc", "-O1", "-o", str(target), str(SOURCES / source)]
    subprocess.run([*command, "-lpthread"], check=True)
    return target


@pytest.fixture(scope="session")
def fake_xstate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled("fake_xstate.c", tmp_path_factory.mktemp("xstate") / "fake_xstate")


UNFILTERED = """\
\"\"\"Start kernels without their seccomp filter, which refuses the tracer inside the confinement.\"\"\"

try:
    from wanlab.machine.embedded import confinement
except ImportError:  # another Python than wanlab's
    pass
else:
    confinement._PR_SET_SECCOMP = -1
"""


def environment_of(image: Path) -> dict[str, str]:
    """Return the environment in which commands use an image of `simulate_processor`."""
    return {"WANLAB_KERNEL": str(image), "PYTHONPATH": str(image / "python")}


def simulate_processor(size: str, program: Path, folder: Path) -> Path:
    """Make an image whose kernel sees an XSTATE of another size than the computer's.

    Its processes have no seccomp filter: in this process with `unfiltered`, and in other processes with
    the variables of `environment_of`.
    """
    image = find_image().folder
    shutil.copytree(image, folder)
    # If there is one, this computer's processor is already simulated.
    if not (folder / "linux.real").exists():
        (folder / "linux").rename(folder / "linux.real")
    # Processes of a class may read only the image's folder.
    shutil.copy(program, folder / "fake_xstate")
    (folder / "python").mkdir(exist_ok=True)
    (folder / "python" / "sitecustomize.py").write_text(UNFILTERED)
    wrapper = f"#!/bin/sh\nexec '{folder}/fake_xstate' {size} '{folder}/linux.real' \"$@\"\n"
    (folder / "linux").write_text(wrapper)
    (folder / "linux").chmod(0o755)
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest["files"]["linux"] = {
        "size_bytes": len(wrapper),
        "sha256": hashlib.sha256(wrapper.encode()).hexdigest(),
    }
    (folder / "manifest.json").write_text(json.dumps(manifest))
    return folder


def unfiltered(monkeypatch: pytest.MonkeyPatch) -> None:
    """Start kernels without their seccomp filter: the simulation traces them in the same confinement."""
    monkeypatch.setattr(confinement, "_PR_SET_SECCOMP", -1)


@pytest.fixture(autouse=True)
def traced(monkeypatch: pytest.MonkeyPatch) -> None:
    """The size of the XSTATE is simulated in the kernel's calls of ptrace."""
    monkeypatch.setenv("WANLAB_TRAPS", "ptrace")


@pytest.mark.parametrize(
    ("size", "registers"),
    [
        pytest.param("0", "sse", marks=pytest.mark.long),
        ("576", "sse"),
        pytest.param("832", "avx", marks=pytest.mark.long),
        ("2696", "avx512"),
        pytest.param("11008", "avx512", marks=pytest.mark.long),
        pytest.param("16384", "avx512", marks=pytest.mark.long),
    ],
)
def test_all_registers_survive_with_an_xstate_of_any_size(
    size: str,
    registers: str,
    fake_xstate: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    unfiltered(monkeypatch)
    image = simulate_processor(size, fake_xstate, tmp_path / "image")
    monkeypatch.setenv("WANLAB_KERNEL", str(image))
    folder = tmp_path / "work"
    folder.mkdir()
    check_registers(registers, folder)


@needs_seccomp_mode
@pytest.mark.parametrize("registers", ["sse", "avx512"])
def test_all_registers_survive_in_seccomp_mode(
    registers: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Programs use avx512 only as far as the computer has it."""
    monkeypatch.setenv("WANLAB_TRAPS", "seccomp")
    check_registers(registers, tmp_path)


def check_registers(registers: str, folder: Path) -> None:
    compiled("registers.c", folder / "registers")
    with Network(Topology(nodes=(Host("h1"),)), folder=folder) as net:
        output = net["h1"].run(f"{folder}/registers {registers}").output
    assert output.splitlines()[1:] == [f"{check}: ok" for check in CHECKS]


def test_commands_run_on_a_simulated_processor(fake_xstate: Path, tmp_path: Path) -> None:
    """`./dev bench session_ways --xstate` and tools/distributions start commands, as other users."""
    image = simulate_processor("2696", fake_xstate, tmp_path / "image")
    command = [sys.executable, "-m", "wanlab.cli", "exec", "--", "echo", "here"]
    environment = os.environ | environment_of(image)
    environment["PYTHONPATH"] += os.pathsep + os.environ.get("PYTHONPATH", "")
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.stdout == "here\n", done.stderr


def test_a_host_that_cannot_restore_the_registers_is_named_at_boot(
    fake_xstate: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    unfiltered(monkeypatch)
    image = simulate_processor("broken", fake_xstate, tmp_path / "image")
    monkeypatch.setenv("WANLAB_KERNEL", str(image))
    with pytest.raises(MachineError) as raised, Network(Topology(nodes=(Host("h1"),))):
        pass
    assert "this computer lacks" in str(raised.value)
    assert "NT_X86_XSTATE" in str(raised.value)
    assert "wanlab doctor" in str(raised.value)
    assert os.strerror(14) in str(raised.value)  # EFAULT, the simulated host's error
    assert raised.value.console == ""
