"""Machines run where few open files are allowed: the kernel closes files that are not in use."""

from __future__ import annotations

import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from wanlab import Host, Network, Topology

pytestmark = pytest.mark.machine

Start = Callable[..., Network]

SCRIPT = """
find /usr/share /usr/lib -type f 2>/dev/null | grep -v "[ ']" | head -{files} > /tmp/list
xargs -a /tmp/list cat > /dev/null && wc -l < /tmp/list
python3 -c 'import json, http.client; print("programs start")'
"""


def run_with_limit(limit: int, folder: Path, script: str) -> subprocess.CompletedProcess[str]:
    """Run a script in a machine, with this limit of open files, soft and hard."""
    return subprocess.run(
        [sys.executable, "-m", "wanlab.cli", "exec", "--", "bash", "-c", script],
        cwd=folder,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit)),
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize(("limit", "files"), [(256, 600), (1024, 2000)])
def test_more_files_are_read_than_may_be_open(tmp_path: Path, limit: int, files: int) -> None:
    (tmp_path / "read.sh").write_text(SCRIPT.format(files=files))
    done = run_with_limit(limit, tmp_path, "bash read.sh")
    assert done.stdout.split("\n") == [str(files), "programs start", ""]
    assert done.returncode == 0


def test_the_inode_numbers_of_etc_do_not_depend_on_the_limit(tmp_path: Path) -> None:
    script = "find /usr/share/doc > /dev/null; ls -i /etc | sha256sum"
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    shown = [run_with_limit(limit, tmp_path, script).stdout for limit in (256, hard)]
    assert shown[0] == shown[1] != ""


@pytest.mark.long
def test_the_soft_limit_is_raised_to_the_hard_one(tmp_path: Path) -> None:
    """A user's soft limit on Debian is 1024, the hard limit far higher."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    script = (
        "import os, resource; from pathlib import Path; from wanlab import *\n"
        f"resource.setrlimit(resource.RLIMIT_NOFILE, (200, {hard}))\n"
        "with Network(Topology(nodes=(Host('h1'),))) as net:\n"
        "    (kernel,) = Path(f'/proc/{os.getpid()}/task/{os.getpid()}/children').read_text().split()\n"
        "    print(resource.prlimit(int(kernel), resource.RLIMIT_NOFILE)[0])\n"
        "    print(resource.getrlimit(resource.RLIMIT_NOFILE)[0])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == [str(hard), "200"]


def test_a_program_that_never_waits_can_list_any_number_of_folders(start: Start) -> None:
    """Each listing used to take kernel addresses that were freed only when the program waited."""
    net = start(Topology(nodes=(Host("h1"),)), memory="100MB")
    listing = "import os; [os.listdir('.') for _ in range(4000)]; print('listed')"
    assert net["h1"].run(["python3", "-c", listing]).output == "listed\n"


def test_a_large_folder_is_listed_completely_and_in_order(start: Start, tmp_path: Path) -> None:
    names = sorted(f"{number:05d}-{'x' * (number % 200)}" for number in range(2000))
    for name in names:
        (tmp_path / name).touch()
    net = start(Topology(nodes=(Host("h1"),)))
    listing = "import os; print(*os.listdir('.'), sep='\\n')"
    assert net["h1"].run(["python3", "-c", listing]).output.split() == names
