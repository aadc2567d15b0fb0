"""A fork bomb in a terminal keeps neither its network nor the server from ending.

The bomb starts ever more processes at one instant, so time stands still and no call to the network
is answered. Then only killing the machine ends it.
"""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from web_client import RefusedCommandError, Server, WebClient, machines_of, wait_until

from wanlab.machine import notes
from wanlab.web.running import worker

pytestmark = [pytest.mark.machine, pytest.mark.costs(7)]

BOMB = ":(){ :|:& };:\r"
EXPLODED = 30
"""How many processes the machine has once the bomb has exploded; it has fewer than 10 before."""
END_WITHIN_S = 2 * (worker.LEAVE_REAL_S + worker.END_REAL_S)
"""Twice the worker's limits, since the computer may be busy."""


@pytest.fixture
def machine(server: Server, client: WebClient) -> Iterator[int]:
    """Run a network with a fork bomb in a terminal of h2; yield the process id of its machine."""
    client.do("open", path="two.yaml")
    client.run()
    (pid,) = machines_of(server.process.pid)
    handle = os.pidfd_open(pid)
    try:
        with client.terminal("h2") as terminal:
            terminal.until("# ")
            terminal.type(BOMB)
            wait_until(lambda: len(processes_of(pid)) > EXPLODED)
            yield pid
    finally:
        # After a failure, the bomb would go on until the computer has no memory.
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(handle, signal.SIGKILL)
        os.close(handle)


def processes_of(machine: int) -> list[int]:
    """Return the processes of a machine, which are one process group, without zombies."""
    found = []
    for entry in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):  # it ended in the meantime
            state, _, group, *_ = entry.read_text().rpartition(")")[2].split()
            if int(group) == machine and state != "Z":
                found.append(int(entry.parent.name))
    return found


def has_ended(machine: int) -> bool:
    """Return whether nothing of a machine is left, not even its note."""
    return not processes_of(machine) and all(run.machine.pid != machine for run in notes.read_all())


def begin_terminal(server: Server, client: WebClient) -> int:
    """Ask for a terminal, and check that the server answers others meanwhile.

    Returns the number of the command. Its reply comes with the network's end at the latest.
    """
    number = client.begin("terminal", node=client.id_of("h1"))
    label = {"id": "t1", "text": "not blocked", "x": 1.0, "y": 2.0}
    client.begin("edit", put={"labels": [label]})
    wait_until(lambda: client.document["labels"] == [label], END_WITHIN_S)
    assert server.get("/api/state").status_code == 200
    return number


def test_stop_ends_a_network_with_a_fork_bomb(
    server: Server, client: WebClient, machine: int
) -> None:
    asked = begin_terminal(server, client)
    client.begin("stop")
    wait_until(lambda: client.state["run"]["phase"] == "stopped", END_WITHIN_S)
    assert client.state["run"]["error"] is None
    wait_until(lambda: has_ended(machine))
    with contextlib.suppress(RefusedCommandError):  # it may have opened before the end
        client.reply(asked)
    client.run()
    with client.terminal("h1") as terminal:
        terminal.until("# ")
    client.stop()


@pytest.mark.long
def test_a_signal_ends_a_server_with_a_fork_bomb(
    server: Server, client: WebClient, machine: int
) -> None:
    begin_terminal(server, client)
    server.process.send_signal(signal.SIGTERM)
    assert server.process.wait(END_WITHIN_S) == 0
    server.end()  # reads the rest of its output
    assert "Traceback" not in "".join(server.said)
    wait_until(lambda: has_ended(machine))
