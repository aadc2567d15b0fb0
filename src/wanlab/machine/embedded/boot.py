"""Starts the kernel: its command line, the descriptors that it inherits, and its end.

The kernel is an ordinary process of the user's. It inherits its ends of three sockets (calendar, to the
agent, from the agent) and a memory file for its console, so nothing of a machine has a name in the file
system. It ends when these sockets are closed, so it cannot outlive this program, however that ends.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import resource
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from wanlab.errors import RequirementError

from ..agent_process import agent_folder
from ..loop import Pipes
from .confinement import Confinement, prepare_confinement, warn_once
from .image import Image
from .traps import Traps

# 2026-01-01T00:00:00Z, at which the wall clock of every machine on virtual time starts.
START_OF_DAY_NS = 1_767_225_600_000_000_000
# Keeps built-in drivers from making interfaces that nobody asked for.
NO_DEFAULT_INTERFACES = (
    "fb_tunnels=none",
    "bonding.max_bonds=0",
    "dummy.numdummies=0",
    "ifb.numifbs=0",
)
LOADED_ALGORITHMS = "reno,cubic,bbr"
SOCKET_BYTES = 1 << 20
# The kernel boots faster if its heap is not at a random address (kernel/patches/0035).
ADDR_NO_RANDOMIZE = 0x0040000
CONSOLE_TAIL_BYTES = 8192
END_REAL_S = 10.0

_libc = ctypes.CDLL(None)


@dataclass(frozen=True, kw_only=True)
class BootOptions:
    image: Image
    memory_bytes: int
    memory_folder: Path
    working_folder: Path | None
    """Where the kernel may write; None: nowhere."""
    cpu: int
    virtual: bool
    seed: int
    line_rate_mbps: int
    """Line rate of every new port; 0 means no limit."""
    traps: Traps


def command_line(
    options: BootOptions, calendar: int, channel_in: int, channel_out: int
) -> list[str]:
    """Return the kernel's arguments. The three numbers are descriptors that it inherits."""
    arguments = [
        str(options.image.program),
        f"mem={options.memory_bytes // 1024}k",
        "root=/dev/root",
        "rootfstype=hostfs",
        "rootflags=/",
        "ro",
        "con=null",
        "stderr=1",
        "console=stderr",
        "loglevel=4",
        "panic=-1",
        "noreboot",
        f"channel={channel_in},{channel_out}",
        f"random_seed={options.seed}",
        f"tcp_loaded={LOADED_ALGORITHMS}",
        f"veth.speed={options.line_rate_mbps}",
        *NO_DEFAULT_INTERFACES,
        "PYTHONHASHSEED=0",
    ]
    if options.traps == "seccomp":
        arguments.append("seccomp=on")
    if options.virtual:
        arguments += [f"time-travel=ext:fd:{calendar}", f"time-travel-start={START_OF_DAY_NS}"]
    python = _quoted(os.path.realpath(sys.executable))
    return [
        *arguments,
        f"init={python}",
        "--",
        *("-I", "-S", "-B", "-X", "utf8"),
        _quoted(str(agent_folder())),
    ]


def _quoted(path: str) -> str:
    """Return a path as one word of the kernel's command line, which cannot hold quotation marks."""
    if '"' in path:
        raise RequirementError(
            f"the path {path} contains a quotation mark, which the kernel's command line cannot hold",
            "move wanlab or its Python to another folder",
        )
    return f'"{path}"' if " " in path else path


def raise_open_files_limit() -> None:
    """Raise the soft limit of this process to the hard one.

    The kernel keeps a descriptor for each cached file, and Debian's soft limit is 1024.
    """
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def is_stopped(pid: int) -> bool:
    """Whether a process has been stopped, as by SIGSTOP.

    A tracer such as strace stops it at each system call and signal (state t), but lets it continue.
    """
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] == "T"


def processor_ns(pid: int) -> int:
    """Return the processor time of a kernel and of the processes inside it, which are its children.

    Source: Linux, Documentation/scheduler/sched-stats.rst (`/proc/PID/schedstat`).
    """
    used_ns = 0
    with contextlib.suppress(OSError):  # a kernel without these files, or one that has ended
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii")
        for process in (str(pid), *children.split()):
            with contextlib.suppress(OSError):
                used_ns += int(Path(f"/proc/{process}/schedstat").read_text("ascii").split()[0])
    return used_ns


def _start(
    arguments: Sequence[str],
    options: BootOptions,
    inherited: Sequence[socket.socket],
    console: int,
    confinement: Confinement,
) -> tuple[subprocess.Popen[bytes], list[str]]:
    """Start the kernel confined; return its process, and what this computer lacks to confine it.

    `console` is the descriptor that takes its output. OSError if the kernel cannot be executed.
    """
    report_end, child_end = os.pipe()

    def prepare_child() -> None:
        os.sched_setaffinity(0, {options.cpu})
        _libc.personality(ADDR_NO_RANDOMIZE)  # some containers forbid it
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        raise_open_files_limit()
        signal.pthread_sigmask(signal.SIG_SETMASK, [])
        os.write(child_end, " ".join(confinement.apply()).encode() or b" ")

    try:
        process = subprocess.Popen(
            arguments,
            stdin=subprocess.DEVNULL,
            stdout=console,
            stderr=console,
            pass_fds=[end.fileno() for end in inherited],
            env={"TMPDIR": str(options.memory_folder), "PATH": os.defpath, "HOME": "/"},
            preexec_fn=prepare_child,
            cwd="/",
        )
    finally:
        os.close(child_end)
        missing = os.read(report_end, 100).decode().split()
        os.close(report_end)
    return process, missing


class KernelProcess:
    """A running kernel, and our ends of its sockets (`pipes`)."""

    def __init__(self, options: BootOptions) -> None:
        self._console = os.memfd_create("wanlab-console", os.MFD_CLOEXEC)
        calendar = socket.socketpair() if options.virtual else None
        # Two pairs: with a single one, our reading would wake the kernel.
        to_agent, channel_in = socket.socketpair()
        channel_out, from_agent = socket.socketpair()
        to_agent.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SOCKET_BYTES)
        kernel_ends = [channel_in, channel_out, *([calendar[1]] if calendar else [])]
        self.pipes = Pipes(calendar[0] if calendar else None, to_agent, from_agent)
        arguments = command_line(
            options,
            calendar[1].fileno() if calendar else -1,
            channel_in.fileno(),
            channel_out.fileno(),
        )
        writable = [folder for folder in (options.working_folder,) if folder is not None]
        confinement = prepare_confinement([*writable, options.memory_folder])
        try:
            self._process, missing = _start(
                arguments, options, kernel_ends, self._console, confinement
            )
        except OSError as error:
            os.close(self._console)
            self.pipes.close()
            raise RequirementError(
                f"cannot start {options.image.program}: {error.strerror}",
                "build it again with: wanlab kernel build --again",
            ) from None
        finally:
            confinement.close()
            for end in kernel_ends:
                end.close()
        warn_once(missing)

    @property
    def pid(self) -> int:
        return self._process.pid

    def console(self) -> str:
        """Return the end of the kernel's output, at most 8 KB."""
        size = os.fstat(self._console).st_size
        data = os.pread(self._console, CONSOLE_TAIL_BYTES, max(0, size - CONSOLE_TAIL_BYTES))
        return data.decode(errors="replace").replace("\r", "")

    def console_after(self, position: int) -> tuple[str, int]:
        """Return the whole lines that the kernel printed after `position`, and where they end."""
        data = os.pread(self._console, CONSOLE_TAIL_BYTES, position)
        lines = data[: data.rfind(b"\n") + 1]
        return lines.decode(errors="replace"), position + len(lines)

    def signal(self, number: int) -> None:
        self._process.send_signal(number)

    def wait(self, real_s: float) -> int | None:
        """Return the exit status; None if the kernel has not ended after `real_s`."""
        try:
            return self._process.wait(real_s)
        except subprocess.TimeoutExpired:
            return None

    def is_suspended(self) -> bool:
        return is_stopped(self.pid)

    def processor_share(self, real_s: float) -> float:
        """Return the share of a processor that the kernel and its processes use during `real_s`.

        It is at most 1, because only one of them runs at a time, and 0 if the computer does not report
        it.
        """
        before_ns, before = processor_ns(self.pid), time.monotonic_ns()
        time.sleep(real_s)
        return (processor_ns(self.pid) - before_ns) / (time.monotonic_ns() - before)

    def end(self) -> None:
        """End the kernel and all its processes, whatever it is doing.

        It is killed even if the wait is interrupted: a suspended kernel does not end by itself.
        """
        self.pipes.close()
        try:
            self.wait(0.2)
        finally:
            if self._process.poll() is None:
                self._process.kill()
        self.wait(END_REAL_S)

    def close(self) -> None:
        self.end()
        os.close(self._console)
