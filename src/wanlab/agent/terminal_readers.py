"""Finds the programs that wait for input from a terminal, by the system calls in which they wait.

A program that reads lines does not change the terminal's settings, so only the call shows that it reads.
`/proc/PID/task/TID/syscall` (proc_pid_syscall(5)) has the number and the arguments of that call:

    read(fd, ...), readv                  a descriptor
    poll(fds, count, ...), ppoll          an array of struct pollfd
    select(count, readfds, ...), pselect6 a bit for each descriptor
    epoll_wait(epfd, ...), ...            /proc/PID/fdinfo/EPFD lists the descriptors

A kernel without these files has no readers, and neither has a computer whose calls have other numbers.
"""

from __future__ import annotations

import fcntl
import os
import platform
import struct
import termios
from collections.abc import Iterator

# The numbers of x86-64: arch/x86/entry/syscalls/syscall_64.tbl
READ = frozenset((0, 19))
POLL = frozenset((7, 271))
SELECT = frozenset((23, 270))
EPOLL = frozenset((232, 281, 441))
EPOLLIN = 1
POLLFD = struct.Struct("=ihh")
TIOCGPTN = 0x80045430  # ioctl_tty(2): the number of a pseudo-terminal
PTS_MAJOR = 136
MAX_DESCRIPTORS = 4096


def waits_for_input(master: int) -> bool:
    """Whether a program waits for a line, or edits one, in this terminal.

    In raw mode, where Ctrl-C is an ordinary key, it may pass the keys on to another terminal, as
    Mininet's prompt does during a command. That does not count.
    """
    modes = termios.tcgetattr(master)[3]
    is_raw_mode = not modes & termios.ICANON and not modes & termios.ISIG
    return not is_raw_mode and any(readers(master))


def readers(master: int) -> Iterator[int]:
    """Yield the process IDs of the foreground processes that wait for input from this terminal."""
    if platform.machine() != "x86_64" or not os.path.exists("/proc/self/syscall"):
        return
    (number,) = struct.unpack("=i", fcntl.ioctl(master, TIOCGPTN, b"\0" * 4))
    device = os.makedev(PTS_MAJOR, number)
    for name in os.listdir("/proc"):
        if name.isdigit() and _is_in_foreground(name, device) and _waits(name, device):
            yield int(name)


def _is_in_foreground(pid: str, device: int) -> bool:
    try:
        fields = _read(f"/proc/{pid}/stat").rpartition(b")")[2].split()
    except OSError:  # it has ended
        return False
    state, group, terminal, foreground = fields[0], fields[2], int(fields[4]), fields[5]
    # How the kernel writes a device number there: new_encode_dev().
    minor = terminal & 0xFF | terminal >> 12 & 0xFFF00
    its_device = os.makedev(terminal >> 8 & 0xFFF, minor)
    return state == b"S" and its_device == device and group == foreground


def _waits(pid: str, device: int) -> bool:
    try:
        for task in os.listdir(f"/proc/{pid}/task"):
            call = _read(f"/proc/{pid}/task/{task}/syscall").split()
            if len(call) > 2 and any(
                _is_device(pid, descriptor, device) for descriptor in _descriptors(pid, call)
            ):
                return True
    except (OSError, ValueError):  # it has ended, or is not ours to look at
        return False
    return False


def _is_device(pid: str, descriptor: int, device: int) -> bool:
    try:
        return os.stat(f"/proc/{pid}/fd/{descriptor}").st_rdev == device
    except OSError:
        return False


def _descriptors(pid: str, call: list[bytes]) -> list[int]:
    """Return the descriptors that a system call waits to read."""
    number = int(call[0])
    first, second = int(call[1], 16), int(call[2], 16)
    if number in READ:
        return [first]
    if number in POLL:
        size = POLLFD.size * min(second, MAX_DESCRIPTORS)
        entries = POLLFD.iter_unpack(_read_memory(pid, first, size))
        return [descriptor for descriptor, events, _ in entries if events & EPOLLIN]
    if number in SELECT and second:
        count = min(first, MAX_DESCRIPTORS)
        bits = int.from_bytes(_read_memory(pid, second, -(-count // 64) * 8), "little")
        return [descriptor for descriptor in range(count) if bits >> descriptor & 1]
    if number in EPOLL:
        return _watched_descriptors(_read(f"/proc/{pid}/fdinfo/{first}"))
    return []


def _watched_descriptors(fdinfo: bytes) -> list[int]:
    """Return the descriptors of an epoll instance whose input is awaited: "tfd: 0 events: 19 ..."."""
    lines = [line.split() for line in fdinfo.splitlines() if line.startswith(b"tfd:")]
    return [int(words[1]) for words in lines if int(words[3], 16) & EPOLLIN]


def _read(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()


def _read_memory(pid: str, address: int, size: int) -> bytes:
    with open(f"/proc/{pid}/mem", "rb", buffering=0) as memory:
        memory.seek(address)
        return memory.read(size)
