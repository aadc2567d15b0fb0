"""Test what a program can do that has taken over the machine's kernel in in-process mode.

The program finds the kernel in its own process, and makes the computer's system calls from there.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from functools import cache
from pathlib import Path

import pytest
from process_tree import kernels

from wanlab import Network, shapes
from wanlab.errors import MachineError
from wanlab.machine.embedded.image import find_image
from wanlab.machine.embedded.traps import why_not_in_process

pytestmark = [
    pytest.mark.machine,
    pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler here"),
]
SOURCE = Path(__file__).with_name("takeover.c")
# The kernel's arguments that name its descriptors
DESCRIPTORS = {
    "calendar": r"time-travel=ext:fd:(\d+)",
    "channel": r"channel=\d+,(\d+)",
    "memory file": r"memory_file=(\d+)",
}


@cache
def address(name: str) -> str:
    """Return the address of a function in the kernel's image."""
    symbols = find_image().program.with_name("System.map").read_text()
    (found,) = re.findall(rf"^(\w+) [TD] {name}$", symbols, re.MULTILINE)
    return f"0x{found}"


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """A working folder with the program."""
    if why_not := why_not_in_process(find_image()):
        pytest.skip(str(why_not))
    folder = tmp_path / "work"
    folder.mkdir()
    subprocess.run(["cc", "-O1", "-w", "-static", "-o", folder / "takeover", SOURCE], check=True)
    return folder


def test_a_program_that_owns_the_kernel_can_only_read(work: Path, tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.write_text("unchanged")
    before = target.stat()
    with Network(shapes.single(1), folder=work, traps="inprocess") as net:
        done = net["h1"].run(["./takeover", address("syscall"), str(target), str(os.getpid())])
    assert done.output.splitlines() == ["taken over", "reading"]
    assert target.read_text() == "unchanged"
    after = target.stat()
    assert (after.st_mode, after.st_uid, after.st_mtime_ns, after.st_nlink) == (
        before.st_mode,
        before.st_uid,
        before.st_mtime_ns,
        before.st_nlink,
    )


@pytest.mark.parametrize(
    "attack",
    [
        *(f"garbage {name}" for name in DESCRIPTORS if name != "memory file"),
        *(f"close {name}" for name in DESCRIPTORS if name != "memory file"),
        "call machine_halt",
        "wipe init_task",
        "end",
    ],
)
def test_a_program_that_destroys_the_kernel_ends_its_own_machine_alone(
    attack: str, work: Path
) -> None:
    """wanlab says so at once, leaves no process behind, and other networks go on."""
    with Network(shapes.single(2), folder=work, traps="inprocess") as other:
        others = kernels(os.getpid())
        with Network(shapes.single(1), folder=work, traps="inprocess") as net:
            (kernel,) = kernels(os.getpid()) - others
            what, _, argument = attack.partition(" ")
            if argument in DESCRIPTORS:
                line = Path(f"/proc/{kernel}/cmdline").read_bytes().replace(b"\0", b" ").decode()
                (argument,) = re.findall(DESCRIPTORS[argument], line)
            elif argument:
                argument = address(argument)
            words = [word for word in (what, argument) if word]
            with pytest.raises(MachineError):
                net["h1"].run(["./takeover", address("syscall"), *words], timeout="100s")
                net.run_for("100s")
        assert kernel not in kernels(os.getpid())
        assert "1 received" in other["h1"].run("ping -c 1 h2").output
