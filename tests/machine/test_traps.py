"""How a machine's kernel takes over its programs' system calls: by ptrace, in process, by seccomp."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from limited import PING, run_limited
from machines import (
    needs_another_mode,
    needs_the_kernel_itself,
    other_mode,
)

from wanlab import Network, shapes
from wanlab.errors import RequirementError, WanlabError
from wanlab.labs import catalog, unit_run
from wanlab.labs.class_run import ClassOptions, ClassRun
from wanlab.machine import checkup
from wanlab.machine.embedded import Image, traps
from wanlab.machine.embedded.traps import choose_traps, protecting_mode
from wanlab.machine.traits import Traps
from wanlab.network import MachineChoice
from wanlab.record import Record

OLD = Image(Path("/kernels/abc"), "abc", "6.12.117-wanlab", "6.12")
NEW = Image(Path("/kernels/def"), "def", "7.3.4-wanlab-mine", "mine")


@pytest.fixture(autouse=True)
def unset_mode(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("WANLAB_TRAPS", raising=False)


def test_a_kernel_without_in_process_mode_traces_its_programs(
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


@pytest.mark.parametrize("mode", ["ptrace", "seccomp"])
def test_the_mode_can_be_chosen(mode: Traps, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WANLAB_TRAPS", mode)
    monkeypatch.setattr(traps, "landlock_version", lambda: 1)
    assert choose_traps(NEW) == mode


@pytest.fixture
def in_process_image(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Image:
    """An image that has in-process mode, on a computer that allows it."""
    monkeypatch.setattr(traps, "landlock_version", lambda: 1)
    monkeypatch.setattr(traps, "_has_user_dispatch", lambda: True)
    (tmp_path / "config").write_text("CONFIG_UML=y\nCONFIG_UML_INPROC=y\n")
    return Image(tmp_path, "abc", "6.12.117-wanlab", "6.12")


def test_in_process_mode_is_the_default_on_virtual_time(in_process_image: Image) -> None:
    assert choose_traps(in_process_image) == "inprocess"
    assert choose_traps(in_process_image, "real") == "ptrace"
    with pytest.raises(RequirementError, match="in-process mode: it needs virtual time"):
        choose_traps(in_process_image, "real", "inprocess")


def test_an_argument_takes_precedence_over_the_environment(in_process_image: Image) -> None:
    assert choose_traps(in_process_image, "virtual", "ptrace") == "ptrace"


@pytest.mark.parametrize("value", ["", "ptrace"])
def test_programs_that_must_not_take_over_the_kernel_run_in_ptrace_mode(
    value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WANLAB_TRAPS", value)
    assert protecting_mode("nothing is graded") == "ptrace"


@pytest.mark.parametrize(("value", "name"), [("inprocess", "in-process"), ("seccomp", "seccomp")])
def test_another_mode_for_such_programs_is_an_error(
    value: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WANLAB_TRAPS", value)
    with pytest.raises(RequirementError) as caught:
        protecting_mode("nothing is graded")
    assert str(caught.value) == (
        f"nothing is graded in {name} mode: programs could take over their machine's kernel "
        "(leave out the mode (--traps, traps= or WANLAB_TRAPS), or choose ptrace)"
    )


def test_grading_begins_with_an_error_in_another_mode(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WANLAB_TRAPS", "inprocess")
    options = ClassOptions(folder=tmp_path, students=[], results=tmp_path)
    with pytest.raises(RequirementError, match="a submission cannot be graded in in-process mode"):
        ClassRun(options)
    with pytest.raises(WanlabError, match="no student has handed in anything"):
        ClassRun(replace(options, choice=MachineChoice(traps="ptrace")))
    with pytest.raises(RequirementError, match="a submission cannot be graded in seccomp mode"):
        ClassRun(replace(options, choice=MachineChoice(traps="seccomp")))
    with pytest.raises(RequirementError, match="a submission cannot be graded in in-process mode"):
        unit_run.grade_work(catalog.find("prob1"), None, seed=1, clock="virtual", say=print)


def test_no_machine_runs_without_ptrace_if_landlock_cannot_be_used() -> None:
    traps.refuse_unconfined("ptrace", ["landlock"])
    traps.refuse_unconfined("inprocess", ["seccomp"])
    with pytest.raises(RequirementError, match="in-process mode: Landlock cannot be used here"):
        traps.refuse_unconfined("inprocess", ["landlock"])


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("landlock_version", 0, "without Landlock, nothing would protect your files"),
        ("_has_user_dispatch", False, "this computer's kernel lacks syscall user dispatch"),
        ("too_low_limit", RequirementError("the size of files is limited"), "the size of files is"),
        ("has_in_process_mode", False, "the kernel 6.12 does not have it"),
    ],
)
def test_without_what_in_process_mode_needs_a_kernel_traces_its_programs(
    name: str,
    value: object,
    message: str,
    in_process_image: Image,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(traps, name, lambda *_: value)
    monkeypatch.setattr("wanlab.machine.embedded.image.find_image", lambda: in_process_image)
    assert choose_traps(in_process_image) == "ptrace"
    assert checkup._traps().startswith(f"ptrace mode, not in-process: {message}")
    with pytest.raises(RequirementError, match=f"in-process mode: {message}"):
        choose_traps(in_process_image, "virtual", "inprocess")


def test_a_mode_that_does_not_exist_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WANLAB_TRAPS", "fast")
    with pytest.raises(RequirementError) as caught:
        choose_traps(NEW)
    assert str(caught.value) == (
        "traps fast: there is no such mode (choose from: ptrace, inprocess, inprocess-nopatch, seccomp)"
    )


def test_a_mode_that_the_kernel_lacks_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WANLAB_TRAPS", "seccomp")
    with pytest.raises(RequirementError) as caught:
        choose_traps(OLD)
    assert str(caught.value) == (
        "seccomp mode: the kernel 6.12 does not have it (use Linux 7.3: --kernel 7.3, or leave out "
        "the mode (--traps, traps= or WANLAB_TRAPS))"
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
        "Linux mine runs in seccomp mode"
    )


@pytest.mark.machine
@needs_another_mode
@needs_the_kernel_itself
def test_a_machine_runs_without_ptrace(tmp_path: Path) -> None:
    status, output, errors = run_limited(["--yama", "3"], *PING, folder=tmp_path)
    assert (status, errors) == (0, "")
    assert "1 received" in output


@pytest.mark.machine
@needs_another_mode
@needs_the_kernel_itself
def test_a_submission_does_not_run_without_ptrace(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WANLAB_TRAPS", other_mode())
    with (
        Network(shapes.single(2), folder=tmp_path) as net,
        pytest.raises(RequirementError) as caught,
    ):
        net.confine_programs()
    assert caught.value.what == "programs cannot be confined in a machine that runs without ptrace"
    assert caught.value.hint == 'start it with traps="ptrace"'


@pytest.mark.machine
@needs_another_mode
@needs_the_kernel_itself
def test_a_record_names_the_mode_and_is_equal_in_all_of_them(tmp_path: Path) -> None:
    records = {}
    for mode in ("ptrace", other_mode()):
        with Network(shapes.single(2), folder=tmp_path, traps=mode) as net:
            net["h1"].run("ping -c 1 h2")
            records[mode] = Record(net.provenance())
    assert [record.provenance.traps for record in records.values()] == list(records)
    first, second = records.values()
    assert (first, first.digest()) == (second, second.digest())


@pytest.mark.machine
@needs_another_mode
@needs_the_kernel_itself
def test_results_do_not_depend_on_the_mode(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Losses, flows, counters, ports, random numbers, processes, memory and time."""
    outputs = []
    experiment = Path(__file__).parents[1] / "determinism" / "experiment.py"
    for mode in ("ptrace", other_mode()):
        monkeypatch.setenv("WANLAB_TRAPS", mode)
        done = subprocess.run(
            [sys.executable, str(experiment), "1", str(tmp_path)], capture_output=True, check=True
        )
        outputs.append(done.stdout)
    assert outputs[0] == outputs[1]
