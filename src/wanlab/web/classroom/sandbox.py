"""The sandbox of a student's process. The student's networks inherit it.

All students have the rights of one user, the teacher's. So each process gives up rights that it does
not need: with Landlock it reads only the computer's programs and its own folder, writes only to its
own folder, opens no TCP port, and neither traces nor signals other processes. If the hub runs as
root, a process can also run as a separate user.
"""

from __future__ import annotations

import ctypes
import os
import pwd
import resource
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from wanlab.errors import RequirementError
from wanlab.machine.defaults import CPU_VARIABLE, KERNEL_VARIABLE, TRAPS_VARIABLE
from wanlab.machine.embedded import (
    confine_files,
    find_image,
    kernels_folder,
    landlock_version,
)
from wanlab.parent_death import end_with_parent

PACKAGE = Path(__file__).resolve().parents[2]
SYSTEM = (
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/etc",
    "/proc",
    "/sys",
    "/dev/null",
    "/dev/zero",
    "/dev/full",
    "/dev/random",
    "/dev/urandom",
    "/dev/tty",
)
MEMORY = Path("/dev/shm")
OUT_OF_MEMORY_SCORE = "500"
CAPABILITY_VERSION = 0x20080522
LIBC = ctypes.CDLL(None, use_errno=True)


@dataclass(frozen=True)
class StudentSandbox:
    """The files that a process may use; `temporary` is a folder for this process only.

    `kernel` is the folder of the kernel that its networks boot: in a checkout, choosing one asks the
    recipe, which the process cannot run. `cpu` is the processor of their nodes; "": the default. Both
    are the defaults of whatever the process starts, so that nothing in it runs in another mode.
    """

    folder: Path
    kernel: Path
    temporary: Path
    readable: tuple[Path, ...]
    nice: int
    max_file_bytes: int
    max_processes: int
    """The limit of the account, threads included; root has none."""
    user: str = ""
    cpu: str = ""

    def enter(self) -> None:
        """Restrict this process for good. It must have only one thread."""
        os.setsid()  # unaffected by the terminal's Ctrl-C; a separate scheduling group (autogroup)
        end_with_parent(os.getppid())
        os.umask(0o077)
        os.nice(self.nice)
        Path("/proc/self/oom_score_adj").write_text(OUT_OF_MEMORY_SCORE, encoding="ascii")
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        _lower_limit(resource.RLIMIT_FSIZE, self.max_file_bytes)
        _lower_limit(resource.RLIMIT_NPROC, self.max_processes)
        if self.user:
            _become(self.user, [self.folder, self.temporary])
        os.environ |= {
            "TMPDIR": str(self.temporary),
            "MPLCONFIGDIR": str(self.temporary),
            "WANLAB_ANSWERS": "no",
            KERNEL_VARIABLE: str(self.kernel),
            TRAPS_VARIABLE: "ptrace",
            CPU_VARIABLE: self.cpu,
        }
        os.chdir(self.folder)
        _drop_capabilities()
        if not confine_files(self.readable, [self.folder, self.temporary]):
            raise RequirementError("this computer does not offer Landlock")


def check_separation(class_folder: Path, readable: Iterable[Path]) -> None:
    """RequirementError if students could not be kept apart on this computer."""
    if not landlock_version():
        raise RequirementError(
            "this computer does not offer Landlock, which keeps students out of each other's folders",
            "Linux 5.13 or newer; `wanlab doctor` says what is missing",
        )
    for folder in (*readable, MEMORY):
        if class_folder.is_relative_to(folder.resolve()):
            raise RequirementError(
                f"the folder of a class cannot be in {folder}, which all students can read",
                "move it to a home folder, for instance",
            )


def readable_folders(kernel: str = "") -> tuple[Path, ...]:
    """Return the folders that all students can read: programs, Python, wanlab and its kernel."""
    python = (sys.prefix, sys.base_prefix, sys.exec_prefix, sys.base_exec_prefix)
    libraries = (path for path in sys.path if "site-packages" in path or "dist-packages" in path)
    kernels = (str(find_image(kernel).program.parent), str(kernels_folder()))
    names = [*SYSTEM, *python, *libraries, str(PACKAGE), *kernels]
    return tuple(Path(name) for name in dict.fromkeys(names))


def needed_folders(kernel: str = "") -> tuple[Path, ...]:
    """Return the folders that a student's process needs in order to start."""
    return PACKAGE, Path(sys.prefix), find_image(kernel).program.parent


def _lower_limit(number: int, limit: int) -> None:
    _, hard = resource.getrlimit(number)
    if hard == resource.RLIM_INFINITY or hard > limit:
        resource.setrlimit(number, (limit, limit))


def _drop_capabilities() -> None:
    """Drop root's capabilities, because Landlock does not restrict CAP_PERFMON.

    No program that is started gets them back, because Landlock comes with no_new_privs.
    """
    header = (ctypes.c_uint32 * 2)(CAPABILITY_VERSION, 0)
    if LIBC.capset(header, (ctypes.c_uint32 * 6)()):
        raise OSError(ctypes.get_errno(), "capset")


def _become(name: str, folders: Iterable[Path]) -> None:
    """Give folders to a user, and exchange the rights of root for the user's."""
    account = account_of(name)
    for folder in folders:
        os.chown(folder, account.pw_uid, account.pw_gid)
    os.initgroups(account.pw_name, account.pw_gid)
    os.setgid(account.pw_gid)
    os.setuid(account.pw_uid)
    os.environ |= {"HOME": account.pw_dir, "USER": name, "LOGNAME": name}


def account_of(name: str) -> pwd.struct_passwd:
    """Return the account of a user. RequirementError if we cannot become it."""
    try:
        account = pwd.getpwnam(name)
    except KeyError:
        raise RequirementError(
            f"there is no user {name} on this computer", "create it: useradd"
        ) from None
    if os.geteuid() != 0 and account.pw_uid != os.geteuid():
        raise RequirementError(
            f"only root can start processes of the user {name}",
            "run the server as root, or remove the column `user`",
        )
    return account


def runs_as_root(name: str) -> bool:
    """Whether the processes of a student with this user, "" for ours, run as root."""
    return (account_of(name).pw_uid if name else os.geteuid()) == 0


def check_readable(name: str, folders: Iterable[Path]) -> None:
    """RequirementError if the programs of another user could not read one of these folders."""
    account = account_of(name)
    if account.pw_uid == os.geteuid():
        return
    script = 'for it; do [ -r "$it" ] || { echo "$it"; exit; }; done'
    tried = subprocess.run(
        ["/bin/sh", "-c", script, "sh", *map(str, folders)],
        user=account.pw_uid,
        group=account.pw_gid,
        extra_groups=os.getgrouplist(name, account.pw_gid),
        capture_output=True,
        text=True,
        check=True,
    )
    if tried.stdout:
        raise RequirementError(
            f"the user {name} cannot read {tried.stdout.strip()}, which a student's programs need",
            "install wanlab and its kernel where all users can read them, in /opt for instance",
        )
