"""Test that commands end with the process that has started them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from web_client import wait_until

from wanlab.parent_death import with_us

STARTER = """
import subprocess
from wanlab.parent_death import with_us
child = subprocess.Popen(with_us(["sleep", "600"]))
print(child.pid, flush=True)
child.wait()
"""


def name_of(pid: int) -> str:
    """Return the name of a process; "" if it has ended."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return ""
    name, state = fields.partition("(")[2].rpartition(")")[::2]
    return "" if state.split()[0] == "Z" else name


def test_a_command_keeps_its_pid_its_arguments_and_its_status() -> None:
    program = "import os, sys; print(os.getpid(), sys.argv[1:]); sys.exit(3)"
    with subprocess.Popen(
        with_us([sys.executable, "-c", program, "a b", "--c"]), stdout=subprocess.PIPE, text=True
    ) as process:
        output, _ = process.communicate()
    assert output == f"{process.pid} ['a b', '--c']\n"
    assert process.returncode == 3


def test_a_command_ends_when_its_starter_is_killed() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", STARTER], stdout=subprocess.PIPE, text=True
    ) as starter:
        assert starter.stdout is not None
        pid = int(starter.stdout.readline())
        wait_until(lambda: name_of(pid) == "sleep")
        starter.kill()
        wait_until(lambda: not name_of(pid))
