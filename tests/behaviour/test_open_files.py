"""Machines open files of the computer as its limits and modes allow, and close those not in use."""

from __future__ import annotations

import os
import re
import resource
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from wanlab import Host, Network, Topology, shapes
from wanlab.machine.embedded import EmbeddedMachine

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


def test_the_kernel_keeps_the_descriptors_that_it_starts_with(start: Start) -> None:
    net = start(shapes.minimal())
    machine = net.machine
    assert isinstance(machine, EmbeddedMachine)
    files = Path(f"/proc/{machine._kernel.pid}/fd")
    assert [str((files / number).readlink()) for number in "01"] == [
        "/dev/null",
        "/memfd:wanlab-console (deleted)",
    ]


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
        "    *_, kernel = Path(f'/proc/{os.getpid()}/task/{os.getpid()}/children').read_text().split()\n"
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


def test_a_file_larger_than_the_users_limit_is_refused_as_on_linux(tmp_path: Path) -> None:
    """The limit's signal ends neither the kernel nor the process that changes files for it."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (600 << 20, limits[1]))
    try:
        with Network(Topology(), folder=tmp_path, memory="256MiB") as net:
            script = (
                "truncate -s 700M large; dd if=/dev/zero of=far bs=1 count=1 seek=700M conv=notrunc;"
                "echo more > after; cat after"
            )
            output = net.root.run(f"({script}) 2>&1", check=False).output
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert output.count("File too large") == 2
    assert output.endswith("more\n")


def test_a_file_is_opened_for_what_the_program_wants_only(tmp_path: Path) -> None:
    """A user may have files that can be written, but not read."""
    log = tmp_path / "log"
    log.touch(mode=0o200)
    with Network(Topology(), folder=tmp_path) as net:
        net.root.start("sleep 1000 >> log")
        net.run_for("1s")
        machine = net.machine
        assert isinstance(machine, EmbeddedMachine)
        folder = Path(f"/proc/{machine._kernel.pid}")
        (number,) = (
            path.name for path in (folder / "fd").iterdir() if path.readlink().name == "log"
        )
        (flags,) = re.findall(r"flags:\s(\d+)", (folder / "fdinfo" / number).read_text())
        assert int(flags, 8) & os.O_ACCMODE == os.O_WRONLY


def test_a_pipe_in_the_place_of_a_file_does_not_stop_the_machine(tmp_path: Path) -> None:
    """A program that opens a pipe for reading waits for one that writes: the kernel must not."""
    file = tmp_path / "file"
    file.touch()
    program = (
        "import os, time; fd = os.open('file', os.O_PATH)\n"
        "while not os.path.exists('swapped'): time.sleep(0.1)\n"
        "os.read(os.open('/proc/self/fd/%d' % fd, os.O_RDONLY), 1)"
    )
    with Network(Topology(), folder=tmp_path) as net:
        process = net.root.start(["python3", "-c", program])
        net.run_for("1s")
        file.unlink()
        os.mkfifo(file)
        (tmp_path / "swapped").touch()
        stuck = threading.Event()

        def free_the_kernel() -> None:
            stuck.set()
            os.close(os.open(file, os.O_RDWR))

        rescue = threading.Timer(20.0, free_the_kernel)
        rescue.start()
        process.wait()
        rescue.cancel()
    assert not stuck.is_set()
