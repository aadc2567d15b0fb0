"""A suspended network goes on as if nothing had happened.

Batch systems and cgroups suspend a program with all its processes. These tests read the real clock:
the network has to be suspended while it runs.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest
from patience import PATIENCE_S
from process_tree import descendants

pytestmark = [pytest.mark.machine, pytest.mark.costs(6)]

COMMAND = (
    sys.executable,
    "-m",
    "wanlab.cli",
    "exec",
    "--topo",
    "single,2",
    "--node",
    "h1",
    "--",
    "ping",
    "-c",
    "3000",
    "-i",
    "0.02",
    "h2",
)


def processes_of(running: subprocess.Popen[bytes]) -> list[int]:
    """Wait until the first ping has been sent; return the process ids of everything that runs."""
    assert running.stdout is not None
    running.stdout.readline()
    running.stdout.readline()
    return [running.pid, *descendants(running.pid)]


def send_to_all(pids: list[int], number: signal.Signals) -> None:
    for pid in pids:
        with suppress(ProcessLookupError):  # a program that had started the ping
            os.kill(pid, number)


@pytest.mark.long
@pytest.mark.parametrize("with_wanlab", [True, False], ids=["everything", "the kernel's side"])
def test_a_suspended_network_has_the_same_results_as_an_undisturbed_one(
    tmp_path: Path, with_wanlab: bool
) -> None:
    expected = subprocess.run(COMMAND, cwd=tmp_path, stdout=subprocess.PIPE, check=True).stdout
    with subprocess.Popen(COMMAND, cwd=tmp_path, stdout=subprocess.PIPE) as running:
        pids = processes_of(running)[0 if with_wanlab else 1 :]
        for _ in range(3):
            send_to_all(pids, signal.SIGSTOP)
            time.sleep(0.2)
            send_to_all(pids, signal.SIGCONT)
            time.sleep(0.05)
        rest, _ = running.communicate(timeout=PATIENCE_S)
        assert running.returncode == 0
    assert rest.splitlines()[-3:-1] == expected.splitlines()[-3:-1]
    assert b"3000 received, 0% packet loss" in rest
