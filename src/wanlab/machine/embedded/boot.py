"""Starts the kernel: its command line, the descriptors that it inherits, and its end.

The kernel is an ordinary process of the user's. It inherits its ends of four sockets (calendar, to the
agent, from the agent, broker of files), the file that is its memory, and one for its console, so nothing
of a machine has a name in the file system. It ends when the first three sockets are closed. A kernel
that runs in a program's process looks at them only when that program enters it, so there is a pipe, too:
the computer kills the kernel when this program's end of it is closed. So the kernel cannot outlive this
program, however that ends.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
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
from typing import NamedTuple

from wanlab.errors import RequirementError

from ..agent_folder import agent_folder
from ..loop import Pipes
from ..traits import Traps
from .broker import Broker
from .confinement import Confinement, prepare_confinement, warn_once
from .image import Image
from .resources import max_processes, memory_file

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
# The kernel rounds its memory up to pages, but cannot run in its programs' processes then.
PAGE_BYTES = 4096
# The kernel boots faster if its heap is not at a random address (kernel/patches/0035).
ADDR_NO_RANDOMIZE = 0x0040000
CONSOLE_TAIL_BYTES = 8192
F_SETSIG = 10  # fcntl(2): the signal of O_ASYNC
END_REAL_S = 10.0
WAIT_STEP_REAL_S = 0.005
ENDED = (os.CLD_EXITED, os.CLD_KILLED, os.CLD_DUMPED)

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


class Descriptors(NamedTuple):
    """The descriptors that the kernel inherits; -1 for those that it does not have."""

    calendar: int
    channel_in: int
    channel_out: int
    broker: int
    memory: int


def command_line(options: BootOptions, inherited: Descriptors) -> list[str]:
    """Return the kernel's arguments."""
    arguments = [
        str(options.image.program),
        f"mem={-(-options.memory_bytes // PAGE_BYTES) * PAGE_BYTES // 1024}k",
        f"memory_file={inherited.memory}",
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
        f"channel={inherited.channel_in},{inherited.channel_out}",
        f"hostfs_broker={inherited.broker}",
        f"random_seed={options.seed}",
        f"tcp_loaded={LOADED_ALGORITHMS}",
        f"veth.speed={options.line_rate_mbps}",
        f"sysctl.kernel.threads-max={max_processes(options.memory_bytes)}",
        *NO_DEFAULT_INTERFACES,
        # Trace events have the time to the microsecond; the default clock has ticks of 4 ms.
        "trace_clock=mono",
        # It waits for a clock that varies, for ever. IPsec's random numbers do without it.
        "initcall_blacklist=jent_mod_init",
        "PYTHONHASHSEED=0",
    ]
    if options.traps == "seccomp":
        arguments.append("seccomp=on")
    elif options.traps != "ptrace":
        arguments.append(f"traps={options.traps.replace('-', ',')}")
    if options.virtual:
        arguments += [
            f"time-travel=ext:fd:{inherited.calendar}",
            f"time-travel-start={START_OF_DAY_NS}",
        ]
    python = _quoted(os.path.realpath(sys.executable))
    return [
        *arguments,
        f"init={python}",
        "--",
        "-I",
        "-S",
        "-B",
        "-X",
        "utf8",
        _quoted(str(agent_folder())),
    ]


def _quoted(path: str) -> str:
    """Return a path as one word of the kernel's command line, which cannot hold quotation marks."""
    if '"' in path:
        raise RequirementError(
            f"the path {path} contains a quotation mark, which the kernel's command line cannot hold",
            "move wanlab or its Python to another folder",
        )
    if path.startswith("/dev/"):
        raise RequirementError(
            f"a machine cannot start {path}: it has a file system of its own at /dev",
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
    inherited: Sequence[int],
    console: int,
    lifeline: int,
    confinement: Confinement,
) -> tuple[subprocess.Popen[bytes], list[str]]:
    """Start the kernel confined; return its process, and what this computer lacks to confine it.

    `console` is the descriptor that takes its output, `lifeline` the end of the pipe whose other end
    keeps it alive. OSError if the kernel cannot be executed.
    """
    report_end, child_end = os.pipe()

    def prepare_child() -> None:
        os.sched_setaffinity(0, {options.cpu})
        _libc.personality(ADDR_NO_RANDOMIZE)  # some containers forbid it
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        raise_open_files_limit()
        signal.pthread_sigmask(signal.SIG_SETMASK, [])
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # who writes too much gets an error instead
        _end_with(lifeline)
        os.write(child_end, " ".join(confinement.apply()).encode() or b" ")

    try:
        process = subprocess.Popen(
            arguments,
            stdin=subprocess.DEVNULL,
            stdout=console,
            stderr=console,
            pass_fds=[*inherited, lifeline],
            env={"PATH": os.defpath, "HOME": "/"},
            preexec_fn=prepare_child,
            cwd="/",
            start_new_session=True,
        )
    finally:
        os.close(child_end)
        missing = os.read(report_end, 100).decode().split()
        os.close(report_end)
    return process, missing


def _end_with(lifeline: int) -> None:
    """Let the computer kill this process when the other end of a pipe is closed."""
    fcntl.fcntl(lifeline, fcntl.F_SETOWN, os.getpid())
    fcntl.fcntl(lifeline, F_SETSIG, signal.SIGKILL)
    fcntl.fcntl(lifeline, fcntl.F_SETFL, os.O_ASYNC)


class KernelProcess:
    """A running kernel, and our ends of its sockets (`pipes`).

    missing       the parts of its confinement that this computer does not offer
    lost_broker   whether its broker had been killed when it ended
    """

    def __init__(self, options: BootOptions) -> None:
        with contextlib.ExitStack() as kernels, contextlib.ExitStack() as failed:
            self._console = os.memfd_create("wanlab-console", os.MFD_CLOEXEC)
            failed.callback(os.close, self._console)
            lifeline, self._lifeline = os.pipe()
            kernels.callback(os.close, lifeline)
            failed.callback(os.close, self._lifeline)
            calendar = socket.socketpair() if options.virtual else None
            # Two pairs: with a single one, our reading would wake the kernel.
            to_agent, channel_in = socket.socketpair()
            channel_out, from_agent = socket.socketpair()
            to_agent.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SOCKET_BYTES)
            self.pipes = Pipes(calendar[0] if calendar else None, to_agent, from_agent)
            failed.callback(self.pipes.close)
            for end in (channel_in, channel_out, *([calendar[1]] if calendar else [])):
                kernels.enter_context(end)
            memory = kernels.enter_context(memory_file(options.memory_folder))
            confinement = prepare_confinement(signals_children=options.image.signals_children)
            kernels.callback(confinement.close)
            try:
                self._broker = self._start_broker(options)
                if self._broker is not None:
                    failed.callback(self._broker.close)
                    kernels.enter_context(self._broker.kernel_end)
                inherited = Descriptors(
                    calendar[1].fileno() if calendar else -1,
                    channel_in.fileno(),
                    channel_out.fileno(),
                    self._broker.kernel_end.fileno() if self._broker else -1,
                    memory.fileno(),
                )
                self._process, self.missing = _start(
                    command_line(options, inherited),
                    options,
                    [descriptor for descriptor in inherited if descriptor >= 0],
                    self._console,
                    lifeline,
                    confinement,
                )
            except OSError as error:
                raise RequirementError(
                    f"cannot start {options.image.program}: {error.strerror}",
                    "build it again with: wanlab kernel build --again",
                ) from None
            failed.pop_all()
        self.lost_broker = False
        warn_once(self.missing)

    def _start_broker(self, options: BootOptions) -> Broker | None:
        if options.working_folder is None:
            return None
        return Broker(options.image.program, options.working_folder, options.cpu, self._console)

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

    def answer_to(self, number: int, last_line: str, real_s: float) -> str:
        """Send a signal, and return what the kernel prints, up to its last line or for `real_s`."""
        position = os.fstat(self._console).st_size
        give_up = time.monotonic() + real_s
        self.signal(number)
        answer = ""
        while not answer.endswith(last_line) and time.monotonic() < give_up:
            lines, position = self.console_after(position)
            answer += lines
            if not lines:
                time.sleep(WAIT_STEP_REAL_S)
        return answer

    def signal(self, number: int) -> None:
        if not self._has_ended():
            os.kill(self.pid, number)

    def wait(self, real_s: float) -> int | None:
        """Return the exit status; None if the kernel has not ended after `real_s`."""
        end = time.monotonic() + real_s
        while not self._has_ended():
            if time.monotonic() > end:
                return None
            time.sleep(WAIT_STEP_REAL_S)
        self.kill()
        return self._process.wait()

    def _has_ended(self) -> bool:
        """Whether the kernel's first process has ended.

        Popen.poll() would take a process that is traced by this one, and stopped, for one that ended.
        """
        if self._process.returncode is not None:
            return True
        try:
            status = os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        except ChildProcessError:
            return True
        return status is not None and status.si_code in ENDED

    def kill(self) -> None:
        """Kill the kernel's processes at once: it may run in any of them.

        A process cannot leave the group (`host_calls`).
        The number of the group is not used again until its first process has been waited for.
        """
        if self._process.returncode is None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.pid, signal.SIGKILL)

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
        self.lost_broker = self._broker is not None and self._broker.was_killed
        self.pipes.close()
        try:
            self.wait(0.2)
        finally:
            self.kill()
        self.wait(END_REAL_S)
        if self._broker is not None:
            self._broker.wait()

    def close(self) -> None:
        self.end()
        os.close(self._lifeline)
        os.close(self._console)
