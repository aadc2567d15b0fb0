"""Unusual programs print the same in all modes of the machine's kernel, and as on the computer.

The kernel's modes differ in how it takes over system calls, page faults and signals. So these programs
use them in rare ways: signal frames made by hand, code that changes itself, thousands of threads.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest
from machines import needs_another_mode, needs_the_kernel_itself, other_mode
from process_tree import descendants, kernels

from wanlab import Network, shapes
from wanlab.errors import MachineError

FOLDER = Path(__file__).parent / "odd"
MODES = ["ptrace", other_mode()]
ALL_MODES = [*MODES, "inprocess-nopatch"] if other_mode() == "inprocess" else MODES

pytestmark = [
    pytest.mark.machine,
    needs_another_mode,
    pytest.mark.skipif(shutil.which("gcc") is None, reason="no C compiler (gcc) here"),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("odd")


@pytest.fixture(scope="module")
def networks(folder: Path) -> Iterator[dict[str, Network]]:
    """A network in each mode; they share the working folder."""
    with ExitStack() as stack:
        yield {
            mode: stack.enter_context(Network(shapes.minimal(), folder=folder, traps=mode))
            for mode in ALL_MODES
        }


def compiled(name: str, folder: Path, *options: str, compiler: str = "gcc") -> str:
    program = folder / (name if compiler == "gcc" else f"{name}-{compiler}")
    if not program.exists():
        files = ["-o", str(program), str(FOLDER / f"{name}.c")]
        subprocess.run([compiler, "-O1", "-w", "-pthread", *options, *files], check=True)
    return f"./{program.name}"


def output_in(net: Network, command: list[str]) -> str:
    done = net["h1"].run(command, check=False)
    return f"status {done.status}\n{done.output}{done.stderr}"


def output_on_the_computer(command: list[str], folder: Path) -> str:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    return f"status {done.returncode}\n{done.stdout}{done.stderr}"


@pytest.mark.parametrize("mode", ALL_MODES)
@pytest.mark.parametrize("name", ["code", "signals", "processes"])
def test_a_program_prints_what_it_prints_on_the_computer(
    name: str, mode: str, networks: dict[str, Network], folder: Path
) -> None:
    """Code that is made and changed while it runs; jumps into calls; signals; ways to start."""
    command = [compiled(name, folder)]
    expected = output_on_the_computer(command, folder)
    assert expected.startswith("status 0\n")
    assert "WRONG" not in expected
    assert output_in(networks[mode], command) == expected


@pytest.mark.long
@pytest.mark.skipif(shutil.which("musl-gcc") is None, reason="no musl-gcc here")
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", ["code", "signals", "processes"])
def test_programs_with_musl_are_the_same(
    name: str, mode: str, networks: dict[str, Network], folder: Path
) -> None:
    command = [compiled(name, folder, "-static", compiler="musl-gcc")]
    assert output_in(networks[mode], command) == output_on_the_computer(command, folder)


def test_low_and_huge_addresses_are_the_same_in_all_modes(
    networks: dict[str, Network], folder: Path
) -> None:
    """Also those where the kernel has something of its own: its jumps, its image, its memory."""
    program = compiled("ranges", folder)
    expected, *others = (output_in(net, [program]) for net in networks.values())
    assert "200 GB: 200 pages" in expected
    assert "100000000000: write EFAULT, read EFAULT" in expected
    assert others == [expected] * len(others)


@pytest.mark.costs(5)
@pytest.mark.parametrize("mode", MODES)
def test_a_program_has_two_thousand_threads(
    mode: str, networks: dict[str, Network], folder: Path
) -> None:
    program = compiled("processes", folder)
    assert output_in(networks[mode], [program, "threads", "2000"]) == (
        "status 0\n2000 threads: 19990000 20000\n"
    )


@pytest.mark.long
@pytest.mark.costs(60)
def test_a_machine_has_five_thousand_processes(networks: dict[str, Network], folder: Path) -> None:
    program = compiled("processes", folder)
    assert output_in(networks[other_mode()], [program, "sleepers", "5000"]) == (
        "status 0\n5000 processes, 5000 ended as they should\n"
    )


@pytest.mark.parametrize("mode", MODES)
def test_a_machine_has_8_gb_of_memory(mode: str, tmp_path: Path) -> None:
    program = compiled("ranges", tmp_path)
    with Network(shapes.minimal(), folder=tmp_path, memory="8GiB", traps=mode) as net:
        output = output_in(net, [program, "touch", "7000", "4000"])
    assert output == "status 0\n7000 MB: 0 pages wrong\n"


@pytest.mark.parametrize("mode", MODES)
def test_a_program_that_uses_up_the_memory_is_killed_alone(mode: str, tmp_path: Path) -> None:
    program = compiled("ranges", tmp_path)
    with Network(shapes.minimal(), folder=tmp_path, memory="64MiB", traps=mode) as net:
        sleeper = net["h2"].start("sleep 1000")
        output = output_in(net, [program, "touch", "200", "1"])
        assert output == f"status {-signal.SIGKILL}\n"
        assert "Out of memory: Killed process" in net.root.run("dmesg").output
        assert sleeper.is_running


@needs_the_kernel_itself
@pytest.mark.skipif(other_mode() != "inprocess", reason="the kernel has no in-process mode")
def test_the_end_of_the_processes_in_which_the_kernel_runs_is_reported(tmp_path: Path) -> None:
    others = kernels(os.getpid())
    with Network(shapes.minimal(), folder=tmp_path, traps="inprocess") as net:
        net["h1"].start("while sleep 0.1; do :; done")
        net.run_for("1s")
        (first,) = kernels(os.getpid()) - others
        for pid in descendants(first):
            with suppress(ProcessLookupError):  # the kernel ends when it has lost one
                os.kill(pid, signal.SIGKILL)
        with pytest.raises(MachineError, match="killed a process of the kernel"):
            net.run_for("10s")
