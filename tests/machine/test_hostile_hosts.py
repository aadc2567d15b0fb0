"""Containers and hardened computers: machines run, or the error and `wanlab doctor` name the obstacle.

`tools/distributions/limits.py` sets the limits that the kernel of a container or of such a computer
would.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import resource
import shutil
import subprocess
from pathlib import Path

import pytest
from limited import PING, run_limited
from machines import needs_a_kernel_without_seccomp_mode, needs_the_kernel_itself

from wanlab.errors import MachineError, RequirementError
from wanlab.machine import checkup
from wanlab.machine.embedded import EmbeddedMachine, find_image, traps
from wanlab.machine.embedded import machine as embedded


def can_make_containers() -> bool:
    """Return whether containers can be made; root can do so, but not inside a container."""
    tried = subprocess.run(["unshare", "--mount", "true"], capture_output=True, check=False)
    groups = [path for path in Path("/sys/fs/cgroup").iterdir() if path.name != "unified"]
    writable = os.access(groups[0], os.W_OK) if groups else False
    return os.geteuid() == 0 and tried.returncode == 0 and writable


@pytest.mark.machine
@needs_the_kernel_itself
@pytest.mark.parametrize("limits", [["--yama", "1"], ["--personality"]])
def test_a_machine_runs_on_a_hardened_computer(limits: list[str], tmp_path: Path) -> None:
    status, output, errors = run_limited(limits, *PING, folder=tmp_path)
    assert (status, errors) == (0, "")
    assert "1 received" in output


@pytest.mark.long
@pytest.mark.machine
def test_memory_is_the_same_even_with_a_randomized_heap(tmp_path: Path) -> None:
    """Without `personality`, the kernel's process has its heap elsewhere in each run."""
    show = ["exec", "--topo", "single,2", "--node", "h1", "--", "grep", "-E"]
    show += ["start_pfn|spanned|present|managed|MemTotal", "/proc/zoneinfo", "/proc/meminfo"]
    shown = [
        run_limited(limits, *show, folder=tmp_path) for limits in ([], *3 * [["--personality"]])
    ]
    assert "MemTotal" in shown[0][1]
    assert shown == 4 * [shown[0]]


@pytest.mark.long
@pytest.mark.machine
@needs_a_kernel_without_seccomp_mode
def test_if_tracing_is_forbidden_the_error_points_to_the_doctor_which_names_the_cause(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WANLAB_TRAPS", "ptrace")
    status, _, errors = run_limited(["--yama", "3"], *PING, folder=tmp_path)
    assert status == 1
    assert errors.startswith(
        "wanlab: this computer does not let the machine's kernel trace its own processes (ptrace) "
        "(`wanlab doctor` says which setting forbids it; in other modes machines run without it: see "
        "wanlab docs kernels)"
    )
    status, output, _ = run_limited(["--yama", "3"], "doctor", "--json", folder=tmp_path)
    findings = {(it["area"], it["name"]): it for it in json.loads(output)["findings"]}
    missing = [
        name
        for (area, name), it in findings.items()
        if area == "embedded" and it["is_needed"] and not it["is_there"]
    ]
    assert (status, missing) == (1, ["ptrace", "boot"])
    assert "or use another mode" in findings["embedded", "ptrace"]["remedy"]
    assert findings["embedded", "boot"]["remedy"] == "see what is missing above"


@pytest.mark.machine
@pytest.mark.skipif(not can_make_containers(), reason="only root can make a container")
@pytest.mark.skipif(Path(__file__).is_relative_to("/tmp"), reason="/tmp is the container's own")
def test_a_machine_runs_in_a_container_with_the_default_limits_of_docker() -> None:
    """64 MB of shared memory, 1 CPU, 2 GB, no capabilities; only the working folder is writable."""
    folder = Path("/var/tmp") / f"wanlab-test-{os.getpid()}"  # /tmp is the container's own
    folder.mkdir()
    try:
        status, output, errors = run_limited(["--docker"], *PING, folder=folder)
        assert (status, errors) == (0, "")
        assert "1 received" in output
        status, output, _ = run_limited(["--docker"], "doctor", folder=folder)
        assert status == 0
        assert f"memory folder  {folder}, " in output
        # A limit of 2 GB is enough for a small network, so the doctor only mentions it.
        said = r"absent   memory limit   this control group has \d+ of 2048 MiB left"
        assert re.search(said, output)
        assert list(folder.iterdir()) == []
    finally:
        shutil.rmtree(folder)


@pytest.mark.machine
def test_a_kernel_that_never_starts_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    image = shutil.copytree(find_image().folder, tmp_path / "image")
    sleeper = b"#!/bin/sh\nexec sleep 600\n"
    (image / "linux").write_bytes(sleeper)
    manifest = json.loads((image / "manifest.json").read_text())
    manifest["files"]["linux"] = {
        "size_bytes": len(sleeper),
        "sha256": hashlib.sha256(sleeper).hexdigest(),
    }
    (image / "manifest.json").write_text(json.dumps(manifest))
    monkeypatch.setenv("WANLAB_KERNEL", str(image))
    monkeypatch.setattr(embedded, "BOOT_REAL_S", 0.2)
    with pytest.raises(MachineError) as caught:
        EmbeddedMachine(tmp_path)
    assert caught.value.what == "the machine's kernel has not started within 0 s"
    assert caught.value.hint == "`wanlab doctor` checks what this computer lacks"


# -- what the doctor says -----------------------------------------------------------------------------


@pytest.fixture
def without_ptrace(monkeypatch: pytest.MonkeyPatch) -> None:
    """The computer forbids ptrace, and the kernel cannot do without."""

    def refuse() -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(traps, "try_tracing", refuse)
    monkeypatch.setattr(traps, "has_seccomp_mode", lambda image: False)
    monkeypatch.setattr(traps, "has_in_process_mode", lambda image: False)


@pytest.mark.parametrize(
    ("scope", "cure"),
    [("2", "sysctl kernel.yama.ptrace_scope=1"), ("3", "reboot")],
)
@pytest.mark.usefixtures("without_ptrace")
def test_the_doctor_recognises_yamas_restriction(
    scope: str, cure: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "ptrace_scope").write_text(f"{scope}\n")
    monkeypatch.setattr(checkup, "YAMA", tmp_path / "ptrace_scope")
    with pytest.raises(RequirementError) as caught:
        checkup._ptrace()
    assert caught.value.what == f"forbidden by kernel.yama.ptrace_scope={scope}"
    assert cure in caught.value.hint


@pytest.mark.parametrize("scope", [None, "0", "1"])
@pytest.mark.usefixtures("without_ptrace")
def test_the_doctor_does_not_blame_yama_for_another_refusal(
    scope: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if scope is not None:
        (tmp_path / "ptrace_scope").write_text(f"{scope}\n")
    monkeypatch.setattr(checkup, "YAMA", tmp_path / "ptrace_scope")
    with pytest.raises(
        RequirementError, match="cannot be traced: Operation not permitted"
    ) as caught:
        checkup._ptrace()
    assert "--security-opt seccomp=unconfined" in caught.value.hint


@pytest.mark.parametrize(
    ("policy", "left_kib", "says"),
    [
        ("0", 0, "allowed"),
        ("2", 3 << 20, "forbidden (vm.overcommit_memory=2), 3.0 GiB are left"),
        ("2", 1 << 10, "and only 1 MiB are left"),
    ],
)
def test_the_doctor_respects_the_overcommit_limit(
    policy: str, left_kib: int, says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "overcommit_memory").write_text(f"{policy}\n")
    meminfo = f"CommitLimit: {8 << 20} kB\nCommitted_AS: {(8 << 20) - left_kib} kB\n"
    (tmp_path / "meminfo").write_text(meminfo)
    monkeypatch.setattr(checkup, "VM", tmp_path)
    monkeypatch.setattr(checkup, "MEMINFO", tmp_path / "meminfo")
    try:
        answer = checkup._overcommit()
    except RequirementError as error:
        answer = error.what
        assert "sysctl vm.overcommit_ratio" in error.hint
    assert answer.endswith(says)


@pytest.mark.parametrize(
    ("limits", "answer"),
    [
        ((1024, 524_288), "524288 (raised from 1024 when a machine starts)"),
        ((20_000, 20_000), "20000"),
        ((256, 512), "only 512 open files are allowed: large programs run slowly"),
    ],
)
def test_the_doctor_shows_the_limit_of_open_files(
    limits: tuple[int, int], answer: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _number: limits)
    try:
        seen = checkup._open_files()
    except RequirementError as error:
        seen = error.what
    assert seen == answer
