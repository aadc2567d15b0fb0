import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from wanlab.errors import RequirementError
from wanlab.machine.embedded import resources
from wanlab.machine.embedded.resources import (
    ClaimedCpu,
    check_memory_available,
    choose_memory_folder,
)

HUGE_BYTES = 1 << 60
NOWHERE = Path("/no/working/folder")


def test_the_first_folder_with_enough_space_is_chosen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", "/no/such/folder")
    monkeypatch.setattr(resources, "MEMORY_FOLDERS", ("/nor/this", str(tmp_path)))
    assert choose_memory_folder(1 << 20, NOWHERE) == tmp_path


def test_the_users_choice_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    assert choose_memory_folder(1 << 20, NOWHERE) == tmp_path


def test_a_relative_choice_is_made_absolute(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The kernel starts in another folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TMPDIR", ".")
    assert choose_memory_folder(1 << 20, NOWHERE) == tmp_path


def test_without_space_the_error_says_what_is_wrong_with_each_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(resources, "MEMORY_FOLDERS", ("/no/such/folder", "/proc"))
    monkeypatch.setattr(resources, "format_size", lambda size: "much" if size > 1e15 else "little")
    with pytest.raises(RequirementError) as caught:
        choose_memory_folder(HUGE_BYTES, NOWHERE)
    assert caught.value.what == (
        f"no folder can hold much of memory for the machine: {tmp_path}: only little free; "
        "/no/such/folder: No such file or directory; /proc: No such file or directory; "
        "/no/working/folder: No such file or directory"
    )
    assert "set TMPDIR" in caught.value.hint


def test_the_working_folder_is_the_last_resort(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a container with a read-only root, it may be the only writable folder."""
    monkeypatch.delenv("TMPDIR", raising=False)
    monkeypatch.setattr(resources, "MEMORY_FOLDERS", ("/proc",))
    assert choose_memory_folder(1 << 20, tmp_path) == tmp_path


def test_if_no_folder_has_enough_space_the_one_with_the_most_is_chosen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a computer with 2 GB, /dev/shm has 1 GB, which is enough for most networks."""
    small, large = tmp_path / "small", tmp_path / "large"
    free_bytes = {str(small): 200 << 20, str(large): 900 << 20, str(NOWHERE): 50 << 20}
    monkeypatch.setenv("TMPDIR", str(small))
    monkeypatch.setattr(resources, "MEMORY_FOLDERS", (str(large),))
    monkeypatch.setattr(resources, "_free_for_memory_bytes", free_bytes.__getitem__)
    assert choose_memory_folder(2 << 30, NOWHERE) == large
    free_bytes[str(large)] = free_bytes[str(small)] = 100 << 20
    with pytest.raises(RequirementError, match=r"228MiB of memory.*only 100MiB free"):
        choose_memory_folder(2 << 30, NOWHERE)


def test_a_folder_that_cannot_be_written_is_not_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TMPDIR", raising=False)
    monkeypatch.setattr(resources, "MEMORY_FOLDERS", ("/proc",))
    with pytest.raises(RequirementError, match="/proc: No such file or directory"):
        choose_memory_folder(0, NOWHERE)


def test_choosing_a_folder_leaves_nothing_in_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    choose_memory_folder(1 << 20, NOWHERE)
    assert list(tmp_path.iterdir()) == []


def test_more_memory_than_available_is_refused() -> None:
    with pytest.raises(RequirementError, match=r"the machine needs at least .* are available"):
        check_memory_available(HUGE_BYTES)
    check_memory_available(2 << 30)


def test_a_computer_of_two_gigabytes_runs_small_networks(monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernel has 2 GB of memory there as well, because results could depend on its size."""
    monkeypatch.setattr(Path, "read_text", lambda *_, **__: "MemAvailable:  1846520 kB\n")
    check_memory_available(2 << 30)
    monkeypatch.setattr(Path, "read_text", lambda *_, **__: "MemAvailable:  120000 kB\n")
    with pytest.raises(RequirementError, match="at least 228 MiB of memory, and 117 MiB are"):
        check_memory_available(2 << 30)


@pytest.fixture
def cpus(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Use three CPU numbers that no other program claims."""
    numbers = [9001, 9002, 9003]
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(numbers))
    return numbers


def test_machines_at_the_same_time_claim_different_cpus(cpus: list[int]) -> None:
    claims = [ClaimedCpu() for _ in cpus]
    assert sorted(claim.number for claim in claims) == cpus
    one_more = ClaimedCpu()
    assert one_more.number in cpus
    for claim in [*claims, one_more]:
        claim.release()


def test_a_cpu_that_was_released_can_be_claimed_again(cpus: list[int]) -> None:
    first = ClaimedCpu()
    first.release()
    first.release()
    again = ClaimedCpu()
    assert again.number == first.number
    again.release()


def test_a_claim_ends_with_its_process(cpus: list[int]) -> None:
    program = (
        "import os, signal\n"
        "from wanlab.machine.embedded.resources import ClaimedCpu\n"
        "os.sched_getaffinity = lambda _: {9001, 9002, 9003}\n"
        "claim = ClaimedCpu()\n"
        "print(claim.number, flush=True)\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True
    )
    claim = ClaimedCpu()
    assert claim.number == int(done.stdout)
    claim.release()


@pytest.mark.parametrize(
    ("limit", "said"),
    [
        ("ulimit -n 12", "only 12 open files are allowed"),
        ("ulimit -n 20", "only 20 open files are allowed"),
        ("ulimit -v 1000000", "the address space is limited to 976 MiB"),
        ("ulimit -f 1000", "the size of files is limited to 0 MiB"),
    ],
)
def test_limits_that_are_too_low_are_named_before_the_machine_starts(
    limit: str, said: str, tmp_path: Path
) -> None:
    done = subprocess.run(
        ["sh", "-c", f'{limit}; exec "$0" -m wanlab.cli exec true', sys.executable],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert said in line


def test_a_limit_of_processor_time_is_named_once(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A process that reaches it is killed, and cannot say why."""
    monkeypatch.setattr(resources, "_has_warned", False)
    resources.warn_of_processor_limit()
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(resource, "getrlimit", lambda _: (600, 600))
    resources.warn_of_processor_limit()
    resources.warn_of_processor_limit()
    (line,) = capsys.readouterr().err.splitlines()
    assert "limited to 600 s" in line
    assert "ulimit -t unlimited" in line


def test_a_control_group_that_is_too_small_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resources, "available_memory_bytes", lambda: 60 << 20)
    with pytest.raises(RequirementError, match="this control group allows only 60 MiB more"):
        resources.check_limits(1 << 20)


@pytest.mark.machine
@pytest.mark.skipif(os.geteuid() != 0, reason="mounts a small file system, which needs root")
def test_a_machine_whose_memory_folder_is_full_says_so(tmp_path: Path) -> None:
    program = (
        "from wanlab import Network, shapes\n"
        "from wanlab.machine.embedded import resources\n"
        "resources.MEMORY_FOLDERS = ()\n"
        "with Network(shapes.single(2)) as net:\n"
        "    print(net['h1'].run('echo started').output, end='', flush=True)\n"
        "    net['h1'].run('head -c 300M /dev/zero | tail -c 300M')\n"
    )
    line = 'mount -t tmpfs -o size=250m none "$1" && cd "$1" && TMPDIR=$1 exec "$0" -c "$2"'
    done = subprocess.run(
        ["unshare", "--mount", "sh", "-c", line, sys.executable, str(tmp_path), program],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout == "started\n"
    assert "the folder with the machine's memory is full" in done.stderr.splitlines()[-1]
