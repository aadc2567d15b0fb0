"""Finds out whether the programs in terminals are busy, or wait for the user to type a line."""

from __future__ import annotations

import os
import termios

IDLE_STATES = (b"Z", b"T")  # ended, stopped
OWING_STATES = (b"I", b"D")
"""It sleeps until its node's processor has done its work: time_travel_doze() in kernel/patches/0026."""


def is_raw_mode(master: int) -> bool:
    """Whether a program has switched off the terminal's line editing (ICANON)."""
    return not termios.tcgetattr(master)[3] & termios.ICANON


def waits_for_line(master: int, pid: int) -> bool:
    """Whether the program started in a terminal is in the foreground and edits a line there.

    A shell whose node has a slow processor needs time for each key, and does not wait meanwhile.
    """
    try:
        modes = termios.tcgetattr(master)[3]
        # Without ISIG it passes keys on to something else, as ssh and screen do.
        edits_line = not modes & termios.ICANON and bool(modes & termios.ISIG)
        is_in_foreground = edits_line and os.tcgetpgrp(master) == pid
        return is_in_foreground and _fields(str(pid))[0] not in OWING_STATES
    except OSError:  # nobody has the terminal open
        return False


def busy_sessions() -> set[int]:
    """Return the leaders of sessions in which a process besides the leader runs, and their ancestors.

    The ancestors count because a background job at Mininet's prompt belongs to the shell of a node.
    """
    sessions = set()
    parents = {}
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            fields = _fields(name)
        except OSError:  # it has ended
            continue
        state, parent, session = fields[0], int(fields[1]), int(fields[3])
        parents[int(name)] = parent
        if state not in IDLE_STATES and session != int(name):
            sessions.add(session)
    for leader in list(sessions):
        while (leader := parents.get(leader, 0)) > 1:
            sessions.add(leader)
    return sessions


def _fields(pid: str) -> list[bytes]:
    """Return what proc_pid_stat(5) says of a process, from its state on."""
    with open(f"/proc/{pid}/stat", "rb") as file:
        return file.read().rpartition(b")")[2].split()
