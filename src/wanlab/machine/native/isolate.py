"""Runs a command as the first process (PID 1) of fresh namespaces.

    python3 -I -S FILE HOW PARENT COMMAND...

HOW is `user`, to make a user namespace in which the user is root, or `root`, if the user is root
already. PARENT is the pid of the process that the command belongs to.

    PARENT  <-----------  this program  ----------->  COMMAND, PID 1 of the namespaces
            watches its pidfd           dies with it

When PARENT ends for whatever reason, this program kills the command, and the kernel kills all other
processes of the PID namespace with it. When this program is killed, the kernel kills the command.
(PR_SET_PDEATHSIG would not do for PARENT: it acts when the thread that started us ends.)

Standard library only; nothing of wanlab is imported.
"""

import ctypes
import errno
import os
import select
import signal
import sys
from typing import NoReturn

CLONE_NEWNS = 0x00020000
CLONE_NEWUTS = 0x04000000
CLONE_NEWIPC = 0x08000000
CLONE_NEWUSER = 0x10000000
CLONE_NEWPID = 0x20000000
CLONE_NEWNET = 0x40000000
FRESH = CLONE_NEWNS | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWPID | CLONE_NEWNET
PR_SET_PDEATHSIG = 1
REFUSED = 125
"""Our exit status when namespaces are not allowed; the reason is on standard error."""
LIMIT = "no more namespaces are allowed (see the sysctls user.max_*_namespaces)"

_libc = ctypes.CDLL(None, use_errno=True)


def main() -> NoReturn:
    how, parent_pid, *command = sys.argv[1:]
    try:
        parent = os.pidfd_open(int(parent_pid))
        # The pid may have been reused before we opened the pidfd.
        if os.getppid() != int(parent_pid):
            os._exit(REFUSED)
        enter_namespaces(how == "user")
        child, *handles = start(command)
    except OSError as error:
        # unshare(2) says "No space left on device" when a limit of namespaces is reached.
        print(LIMIT if error.errno == errno.ENOSPC else error.strerror, file=sys.stderr)
        os._exit(REFUSED)
    # Nobody but the command may hold its end of the channel.
    _close_all_but(0, 1, 2, parent, *handles)
    watch(parent, handles[0], child)


def enter_namespaces(with_user: bool) -> None:
    user, group = os.geteuid(), os.getegid()
    unshare(FRESH | (CLONE_NEWUSER if with_user else 0))
    if with_user:
        # An unprivileged user may map their group only after giving up setgroups(2).
        write("/proc/self/setgroups", "deny")
        write("/proc/self/uid_map", f"0 {user} 1")
        write("/proc/self/gid_map", f"0 {group} 1")


def start(command: list[str]) -> tuple[int, int, int]:
    """Start the command. Return its pid, its pidfd, and a descriptor to keep open while we live."""
    alive, keep_alive = os.pipe()  # neither is inherited by the command
    child = os.fork()
    if child:
        os.close(alive)
        return child, os.pidfd_open(child), keep_alive
    try:
        os.close(keep_alive)
        _libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        # If our parent ended before that, it has closed the other end of the pipe.
        if not select.select([alive], [], [], 0)[0]:
            os.execv(command[0], command)
    finally:
        os._exit(REFUSED)


def watch(parent: int, handle: int, child: int) -> NoReturn:
    """Wait until PARENT or the command ends, and exit with the command's status."""
    poll = select.poll()
    poll.register(parent, select.POLLIN)
    poll.register(handle, select.POLLIN)
    ended = {descriptor for descriptor, _ in poll.poll()}
    if handle not in ended:
        signal.pidfd_send_signal(handle, signal.SIGKILL)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    os._exit(status if status >= 0 else 128 - status)


def unshare(flags: int) -> None:
    if _libc.unshare(flags) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"unshare: {os.strerror(number)}")


def write(path: str, text: str) -> None:
    descriptor = os.open(path, os.O_WRONLY)
    try:
        os.write(descriptor, text.encode())
    except OSError as error:
        raise OSError(error.errno, f"{path}: {error.strerror}") from None
    finally:
        os.close(descriptor)


def _close_all_but(*kept: int) -> None:
    for name in os.listdir("/proc/self/fd"):  # noqa: PTH208  (pathlib takes longer to load)
        if int(name) not in kept:
            try:
                os.close(int(name))
            except OSError:  # the descriptor of the listing itself
                continue


if __name__ == "__main__":
    main()
