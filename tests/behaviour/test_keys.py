"""Protection keys close the kernel's memory while a program runs in its process.

A program that gets there by mistake finds nothing there, as in ptrace mode. Its own keys stay its own.
One that means to opens the memory itself: see `test_takeover`.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from wanlab import Network, shapes
from wanlab.machine.embedded.image import find_image
from wanlab.machine.embedded.traps import why_not_in_process

pytestmark = [
    pytest.mark.machine,
    pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler here"),
    pytest.mark.skipif(
        not re.search(r"\bospke\b", Path("/proc/cpuinfo").read_text()),
        reason="this processor has no protection keys",
    ),
]
SOURCE = Path(__file__).with_name("keys.c")


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """A working folder with the program."""
    if why_not := why_not_in_process(find_image()):
        pytest.skip(str(why_not))
    subprocess.run(["cc", "-O1", "-o", tmp_path / "keys", SOURCE], check=True)
    return tmp_path


def printed(folder: Path, traps: str, *commands: str) -> list[str]:
    """Return what commands print one after the other in a machine with these traps."""
    with Network(shapes.single(1), folder=folder, traps=traps) as net:
        return [net["h1"].run(command).output for command in commands]


def symbol(name: str) -> int:
    symbols = find_image().program.with_name("System.map").read_text()
    (found,) = re.findall(rf"^(\w+) \w {name}$", symbols, re.MULTILINE)
    return int(found, 16)


def test_a_program_finds_nothing_where_the_kernels_memory_is(work: Path) -> None:
    """Image, physical memory, and what the kernel keeps for the programs' system calls"""
    start = symbol("__binary_start")
    places = [symbol("init_task"), symbol("_text"), symbol("_end") + (64 << 20), start & -(1 << 39)]
    commands = [f"./keys {how} {place:#x}" for place in places for how in ("read", "write")]
    here = printed(work, "inprocess", *commands)
    assert here == printed(work, "ptrace", *commands)
    assert all(line.startswith("signal 11, code 1,") for line in here)


def test_a_programs_own_keys_are_kept(work: Path) -> None:
    here = printed(work, "inprocess", "./keys register")
    assert here == printed(work, "ptrace", "./keys register")
    assert here[0].splitlines() == [
        "55555554 after the start",
        "15555554 after system calls",
        "15555554 after a page fault",
        "15555554 after entering a handler",
        "15555554 after a handler",
        "15555554 after fork",
        "05555554 after switches in the child",
        "15555554 after switches in the parent",
    ]
