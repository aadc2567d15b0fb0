"""How a machine's kernel takes over its programs' system calls: by ptrace, or in seccomp mode."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from limited import PING, run_limited
from machines import needs_seccomp_mode, needs_the_kernel_itself

from wanlab import Network, shapes
from wanlab.errors import RequirementError
from wanlab.machine import checkup
from wanlab.machine.embedded import Image, traps
from wanlab.machine.embedded.traps import choose_traps

OLD = Image(Path("/kernels/abc"), "abc", "6.12.117-wanlab", "6.12")
NEW = Image(Path("/kernels/def"), "def", "7.3.4-wanlab-mine", "mine")


@pytest.fixture(autouse=True)
def unset_mode(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("WANLAB_TRAPS", raising=False)


def test_a_kernel_traces_its_programs_where_the_computer_allows_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(traps, "_can_trace", lambda: True)
    assert [choose_traps(OLD), choose_traps(NEW)] == ["ptrace", "ptrace"]


def test_without_ptrace_a_new_kernel_uses_its_seccomp_mode(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(traps, "_can_trace", lambda: False)
    monkeypatch.setattr(traps, "landlock_version", lambda: 1)
    assert [choose_traps(OLD), choose_traps(NEW)] == ["ptrace", "seccomp"]


@pytest.mark.parametrize("mode", traps.MODES)
def test_the_mode_can_be_chosen(mode: traps.Traps, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WANLAB_TRAPS", mode)
    monkeypatch.setattr(traps, "landlock_version", lambda: 1)
    assert choose_traps(NEW) == mode


def test_a_mode_that_does_not_exist_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WANLAB_TRAPS", "fast")
    with pytest.raises(RequirementError) as caught:
        choose_traps(NEW)
    assert str(caught.value) == "WANLAB_TRAPS=fast: must be one of ptrace, seccomp"


def test_a_mode_that_the_kernel_lacks_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WANLAB_TRAPS", "seccomp")
    with pytest.raises(RequirementError) as caught:
        choose_traps(OLD)
    assert str(caught.value) == (
        "WANLAB_TRAPS=seccomp: the kernel 6.12 has no seccomp mode "
        "(use Linux 7.3: --kernel, kernel= or WANLAB_KERNEL)"
    )


@pytest.mark.parametrize("wanted", ["", "seccomp"])
def test_without_ptrace_and_landlock_no_machine_starts(
    wanted: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WANLAB_TRAPS", wanted)
    monkeypatch.setattr(traps, "_can_trace", lambda: False)
    monkeypatch.setattr(traps, "landlock_version", lambda: 0)
    with pytest.raises(RequirementError, match="nothing would protect your files"):
        choose_traps(NEW)


def refuse() -> None:
    raise PermissionError(1, "Operation not permitted")


def test_the_doctor_finds_no_fault_if_the_kernel_can_do_without_ptrace(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(traps, "try_tracing", refuse)
    monkeypatch.setattr("wanlab.machine.embedded.image.find_image", lambda: NEW)
    assert checkup._ptrace() == (
        "the processes of a machine cannot be traced: Operation not permitted; "
        "Linux mine uses its seccomp mode"
    )


@pytest.mark.machine
@needs_seccomp_mode
@needs_the_kernel_itself
def test_a_machine_runs_without_ptrace(tmp_path: Path) -> None:
    status, output, errors = run_limited(["--yama", "3"], *PING, folder=tmp_path)
    assert (status, errors) == (0, "")
    assert "1 received" in output


@pytest.mark.machine
@needs_seccomp_mode
@needs_the_kernel_itself
def test_a_submission_does_not_run_without_ptrace(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WANLAB_TRAPS", "seccomp")
    with (
        Network(shapes.single(2), folder=tmp_path) as net,
        pytest.raises(RequirementError) as caught,
    ):
        net.confine_programs()
    assert caught.value.what == "programs cannot be confined in a machine that runs without ptrace"
    assert "WANLAB_TRAPS" in caught.value.hint


@pytest.mark.machine
@needs_seccomp_mode
@needs_the_kernel_itself
def test_results_do_not_depend_on_the_mode(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Losses, flows, counters, ports, random numbers, processes, memory and time."""
    outputs = []
    experiment = Path(__file__).parents[1] / "determinism" / "experiment.py"
    for mode in traps.MODES:
        monkeypatch.setenv("WANLAB_TRAPS", mode)
        done = subprocess.run(
            [sys.executable, str(experiment), "1", str(tmp_path)], capture_output=True, check=True
        )
        outputs.append(done.stdout)
    assert outputs[0] == outputs[1]
