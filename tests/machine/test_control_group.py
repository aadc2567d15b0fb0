"""Memory limits of control groups, read from folders as Linux writes them."""

import os
import signal
from pathlib import Path

import pytest

from wanlab import Network, Topology
from wanlab.errors import MachineError
from wanlab.machine.control_group import available_memory_bytes, memory_groups

MIB = 1 << 20


def write(folder: Path, **files: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name.replace("__", ".")).write_text(f"{text}\n")


@pytest.fixture
def mounts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(memory_groups, "__defaults__", (tmp_path / "own", tmp_path / "sys"))
    return tmp_path / "sys"


def test_limits_of_all_parent_groups_count(tmp_path: Path, mounts: Path) -> None:
    (tmp_path / "own").write_text("0::/jobs/1\n")
    stat = f"anon 5\ninactive_file {10 * MIB}"
    write(
        mounts / "jobs/1",
        memory__max="max",
        memory__current="5",
        memory__events="oom 1\noom_kill 3",
    )
    limit, used = str(200 * MIB), str(50 * MIB)
    write(mounts / "jobs", memory__max=limit, memory__current=used, memory__stat=stat)
    (group,) = memory_groups()
    assert (group.folder, group.limit_bytes, group.used_bytes) == (
        mounts / "jobs",
        200 * MIB,
        40 * MIB,
    )
    assert available_memory_bytes() == 160 * MIB


def test_version_1_and_its_count_of_kills_are_read(tmp_path: Path, mounts: Path) -> None:
    (tmp_path / "own").write_text("7:cpu:/\n4:memory:/docker/abc\n0::/\n")
    # In a container, the container's group is mounted as the root.
    write(
        mounts / "memory",
        memory__limit_in_bytes=str(60 * MIB),
        memory__usage_in_bytes=str(70 * MIB),
        memory__oom_control="oom_kill_disable 0\nunder_oom 0\noom_kill 2",
    )
    (group,) = memory_groups()
    assert (group.available_bytes, group.count_kills()) == (0, 2)


def test_groups_without_a_limit_are_ignored(tmp_path: Path, mounts: Path) -> None:
    (tmp_path / "own").write_text("4:memory:/\n0::/\n")
    unlimited = "9223372036854771712"
    write(mounts / "memory", memory__limit_in_bytes=unlimited, memory__usage_in_bytes="1")
    assert memory_groups() == []
    assert available_memory_bytes() is None
    (tmp_path / "own").unlink()
    assert memory_groups() == []


@pytest.mark.machine
def test_a_kernel_that_was_killed_for_the_memory_of_its_group_is_explained(
    tmp_path: Path, mounts: Path
) -> None:
    (tmp_path / "own").write_text("0::/job\n")
    group, limit, used = mounts / "job", str(8192 * MIB), str(MIB)
    write(group, memory__max=limit, memory__current=used, memory__events="oom_kill 2")
    with (
        pytest.raises(MachineError, match="memory limit of its control group, 8192 MiB"),
        Network(Topology(), folder=tmp_path) as net,
    ):
        write(group, memory__events="oom_kill 3")
        # The computer kills one process; the others end with it, but not at once.
        os.killpg(net.machine._kernel.pid, signal.SIGKILL)  # type: ignore[attr-defined]
        net.run_for("1s")
