"""How many processes of this computer the networks of a class may use.

Each process in a network is one of the computer's. The network's kernel has a limit, which root in a
node can raise. The limit of the account (RLIMIT_NPROC) holds nevertheless. It counts all processes of
the account, threads included, so students who share an account have one limit together.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from wanlab.machine.embedded import max_processes

from .roster import Participant
from .sandbox import account_of

SERVER_PROCESSES = 100
"""For a student's own process with its threads, and what it runs besides the network."""


def process_limits(participants: Sequence[Participant]) -> dict[str, int]:
    """Return the limit of each account that runs students' networks; "" is ours."""
    limits: dict[str, int] = {}
    for it in participants:
        if it.user not in limits:
            limits[it.user] = _count(account_of(it.user).pw_uid if it.user else os.getuid())
        limits[it.user] += max_processes(it.limits.memory_bytes) + SERVER_PROCESSES
    return limits


def _count(user: int) -> int:
    """Return how many processes a user has now, threads included."""
    count = 0
    for tasks in Path("/proc").glob("[0-9]*/task"):
        with suppress(OSError):  # it has ended in the meantime
            count += len(list(tasks.iterdir())) if tasks.stat().st_uid == user else 0
    return count
