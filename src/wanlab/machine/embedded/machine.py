"""The embedded machine: our own kernel in user space, with the calendar or the real clock."""

from __future__ import annotations

import contextlib
import platform
import re
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from wanlab.agent.messages import Frame
from wanlab.errors import CommandError, MachineError, PeerError

from .. import DEFAULT_LINE_RATE_BPS, READY_NS, Clock, MachineDescription, Preemption, notes
from ..channel import Channel
from ..control_group import memory_groups
from ..conversation import Conversation
from ..guest_environment import ENVIRONMENT, guest_environment, required_folders
from ..interruption import signals_blocked
from ..loop import ConnectionClosed, RealLoop
from ..patience import Patience
from ..traits import EMBEDDED
from ..working_folder import can_be_shared, check_working_folder, padded
from .boot import START_OF_DAY_NS, BootOptions, KernelProcess
from .calendar import Calendar
from .image import find_image
from .loop import VirtualLoop
from .resources import (
    RAISE_MEMORY_LIMIT,
    ClaimedCpu,
    check_limits,
    check_memory_available,
    choose_memory_folder,
    warn_of_processor_limit,
)
from .traps import IN_PROCESS, choose_traps, refuse_unconfined

DEFAULT_MEMORY_BYTES = 1 << 30
SETTLE_REAL_S = 1.0
IDLE_PID = "0"
HALT_REAL_S = 5.0
BOOT_REAL_S = 600.0
"""Longer than any boot takes, even on a heavily loaded computer."""
STALL_SAMPLE_REAL_S = 0.2
COMPUTING_REAL_S = 10.0
BUSY_SHARE = 0.2
"""A machine with a smaller share of a processor has not stalled: the computer is busy."""

LOST_BROKER = (
    "the process that changes files of the working folder for the machine was killed: what programs "
    "have changed there since then is missing"
)

StallReport = Callable[[str], None]


class EmbeddedMachine:
    """A machine that boots when it is created. It ends at `close`, or when this process ends.

    visible_folders  more folders of the computer that programs may read, wherever they are
    seed             the seed of its random numbers
    line_rate_bps    the line rate of every port; 0 means no limit
    about            further entries of machine.json, besides the machine's own description
    guest_folder     where the working folder is mounted; "" means at the same path
    kernel           the name or the folder of the kernel to boot
    traps            how it takes over system calls; by default the best mode that is possible
    on_stall         called with a message when a process keeps virtual time from passing
    """

    def __init__(
        self,
        working_folder: Path,
        *,
        visible_folders: Sequence[str] = (),
        clock: Clock = "virtual",
        seed: int = 1,
        line_rate_bps: int = DEFAULT_LINE_RATE_BPS,
        memory_bytes: int = DEFAULT_MEMORY_BYTES,
        host_name: str = "wanlab",
        about: Mapping[str, object] | None = None,
        guest_folder: str = "",
        kernel: str = "",
        traps: str = "",
        on_stall: StallReport | None = None,
    ) -> None:
        self.clock: Clock = clock
        self.seed = seed
        self.image = find_image(kernel)
        mode = choose_traps(self.image, clock, traps, memory_bytes)
        self.traits = replace(EMBEDDED, traps=mode)
        self.environment = dict(ENVIRONMENT)
        self._on_stall = on_stall or _print_stall
        folder = check_working_folder(working_folder)
        shared_folder = folder if can_be_shared(folder, guest_folder) else None
        check_limits(memory_bytes)
        warn_of_processor_limit()
        check_memory_available(memory_bytes)
        memory_folder = choose_memory_folder(memory_bytes, shared_folder)
        self._memory_kills = _count_memory_kills()
        self._closed = False
        self.preemptions: list[Preemption] = []
        self._console_read = 0
        with contextlib.ExitStack() as failed:
            self._cpu = ClaimedCpu()
            failed.callback(self._cpu.release)
            boot_options = BootOptions(
                image=self.image,
                memory_bytes=memory_bytes,
                memory_folder=memory_folder,
                working_folder=shared_folder,
                cpu=self._cpu.number,
                virtual=clock == "virtual",
                seed=seed,
                line_rate_mbps=line_rate_bps // 1_000_000,
                traps=mode,
            )
            self._boot(boot_options, failed)
            self.agent.prepare(
                environment=self.environment,
                embedded_root={
                    "working_folder": padded(str(shared_folder)) if shared_folder else "",
                    "host_name": host_name,
                    "kernel_config": str(self.image.config.resolve()),
                    "built_in": self.image.built_in(),
                    "visible_folders": [
                        path
                        for path in (*required_folders(), *visible_folders)
                        if shared_folder is None
                        or not Path(path).is_relative_to(guest_folder or shared_folder)
                    ],
                    "guest_folder": padded(guest_folder) if guest_folder else "",
                },
                guest_environment=guest_environment({**self.describe(), **(about or {})}),
            )
            failed.pop_all()

    def _boot(self, options: BootOptions, failed: contextlib.ExitStack) -> None:
        """Start the kernel and wait for its agent. What this acquires is released by `failed`."""
        with signals_blocked():  # a suspended kernel without a handle would stay for ever
            self._kernel = KernelProcess(options)
            failed.callback(self._kernel.close)
        refuse_unconfined(options.traps, self._kernel.missing)
        self._note = notes.write("embedded", self._kernel.pid)
        failed.callback(notes.remove, self._note)
        self.channel = Channel(self._send)
        self._loop = self._make_loop()
        self._conversation = Conversation(
            self._loop,
            self.channel,
            explain_end=self._explain_end,
            console=self._kernel.console,
        )
        failed.callback(self._conversation.close)
        self.agent = self._conversation.agent
        self._await_agent()

    def _make_loop(self) -> VirtualLoop | RealLoop:
        if self.clock == "real":
            return RealLoop(self._kernel.pipes, self.channel.feed)
        return VirtualLoop(
            self._kernel.pipes,
            Calendar(START_OF_DAY_NS),
            on_data=self.channel.feed,
            on_stall=self._report_stall,
            check_computing=self._check_computing,
            is_stepping=lambda: self.channel.has_requests,
        )

    # -- the Machine protocol ---------------------------------------------------------------------

    @property
    def now_ns(self) -> int:
        return self._loop.now_ns

    @property
    def next_event_ns(self) -> int:
        return self._loop.next_event_ns

    def describe(self) -> MachineDescription:
        described: MachineDescription = {
            "machine": "embedded",
            "clock": self.clock,
            "kernel": self.image.name,
            "kernel_release": self.image.release,
            "kernel_manifest": self.image.manifest_hash,
            "seed": self.seed,
            "architecture": platform.machine(),
        }
        if missing := self._kernel.missing:
            described["missing_confinement"] = missing
        return described

    def run(self, until_ns: int, stop: Callable[[], bool]) -> None:
        self._conversation.run(until_ns, stop)

    def observe(
        self,
        on_sent: Callable[[bytes], None] | None,
        on_frame: Callable[[Frame], None] | None,
    ) -> None:
        self._loop.on_sent = on_sent
        self.channel.on_frame = on_frame

    def prefix(self, node: str, folder: str) -> list[str]:
        raise CommandError(
            f"{node}: processes of the embedded machine run on its own kernel, not on this computer's",
            "start it with run() or start(), or run your script inside: wanlab python SCRIPT",
        )

    @property
    def computed_real_s(self) -> float:
        return self._loop.computed_real_s

    def pace_to_real(self, wanted: bool, speed: float = 1.0) -> None:
        self._loop.pace_to_real(wanted, speed)

    def end_stalled_process(self) -> None:
        self._kernel.signal(signal.SIGUSR1)

    def kill(self) -> None:
        self._kernel.kill()

    def close(self) -> None:
        """End the machine. What processes wrote to the working folder is kept."""
        if self._closed:
            return
        if self._conversation.is_forked:  # the machine is the parent's
            self._closed = True
            self._conversation.close()
            return
        try:
            self._halt()
        finally:
            self._closed = True
            self._conversation.close()
            self._kernel.close()
            if self._kernel.lost_broker:
                self._on_stall(LOST_BROKER)
            self._cpu.release()
            notes.remove(self._note)

    # -- inside -----------------------------------------------------------------------------------

    def _await_agent(self) -> None:
        """Wait until the machine has booted. MachineError if it has not after BOOT_REAL_S."""
        patience = self._loop.patience = Patience(BOOT_REAL_S)
        try:
            self._conversation.await_agent()
            if not self.channel.is_ready:  # the loop gave up
                raise self._explain_end()
        except MachineError as error:
            what = error.what
            if patience.is_over:
                what = f"the machine's kernel has not started within {BOOT_REAL_S:.0f} s"
            hint = error.hint or "`wanlab doctor` checks what this computer lacks"
            raise MachineError(what, hint, error.console) from None
        self._loop.patience = None

    def _send(self, data: bytes) -> None:
        self._loop.send(data)

    def _halt(self) -> None:
        """Let the agent write files back and power off; give up soon if it cannot."""
        if not self.channel.is_ready:
            return
        self.pace_to_real(False)
        with contextlib.suppress(ConnectionClosed, PeerError, MachineError):
            self._loop.patience = Patience(SETTLE_REAL_S)
            self._loop.settle()
            self._loop.patience = Patience(HALT_REAL_S)
            self.channel.call("halt")
            self._loop.run(self.now_ns + READY_NS, lambda: False)

    def _check_computing(self) -> bool:
        """Have the kernel preempt a process that computes without system calls.

        Return whether there has been one.
        """
        self._kernel.signal(signal.SIGURG)
        lines, self._console_read = self._kernel.console_after(self._console_read)
        for instant, pid, program in re.findall(r"^preempted: (\d+) (\d+) (.*)$", lines, re.M):
            preemption = Preemption(int(instant), int(pid), program.strip())
            self.preemptions.append(preemption)
            self._on_stall(
                f"process {pid} ({preemption.program}) computes without system calls: "
                "the run is not repeatable from here on"
            )
        return bool(self.preemptions)

    def programs_computed_ns(self) -> Mapping[int, int]:
        if not self.image.counts_computing or self.traits.traps not in IN_PROCESS:
            return {}
        lines = self._kernel.answer_to(signal.SIGWINCH, "computed.\n", COMPUTING_REAL_S)
        found = re.findall(r"^computed: (\d+) (\d+)$", lines, re.M)
        return {int(inode): int(computed_ns) for inode, computed_ns in found}

    def _explain_end(self) -> MachineError:
        status = self._kernel.wait(2.0)
        for group in memory_groups():
            if status == -signal.SIGKILL and group.count_kills() > self._memory_kills:
                return MachineError(
                    "the machine's kernel was killed because of the memory limit of its control "
                    f"group, {group.limit_bytes >> 20} MiB",
                    RAISE_MEMORY_LIMIT,
                )
        return explain_end(status, self._kernel.console())

    def _report_stall(self, real_s: float) -> None:
        if self._kernel.is_suspended():
            self._on_stall(
                f"the machine's kernel, process {self._kernel.pid}, has been suspended for "
                f"{real_s:.0f} s (let it continue: kill -CONT {self._kernel.pid})"
            )
            return
        if not self.channel.is_ready:
            return  # a slow boot; the signal below would kill a kernel that does not handle it yet
        before = len(self._kernel.console())
        self._kernel.signal(signal.SIGUSR2)
        share = self._kernel.processor_share(STALL_SAMPLE_REAL_S)
        running = re.findall(r"running: (\d+) (.*)", self._kernel.console()[max(0, before - 200) :])
        pid, name = running[-1] if running else (IDLE_PID, "")
        program = "" if pid == IDLE_PID else f"process {pid} ({name.strip()})"
        self._on_stall(explain_stall(real_s, program, share))


KERNEL = "the kernel, busy with packets (a storm if switches form a loop without STP),"


def explain_stall(real_s: float, program: str, processor_share: float) -> str:
    """Return a sentence that says why virtual time has not passed.

    program           the process that runs in the machine; "" for the kernel itself
    processor_share   how much of a processor the machine got; 0 if that is not known
    """
    stall = f"virtual time has hardly passed for {real_s:.0f} s: "
    if 0 < processor_share < BUSY_SHARE:
        return (
            f"{stall}this computer is busy and gives the machine {processor_share:.0%} of a processor"
            f" ({program or KERNEL} runs in it)"
        )
    if not program:
        return f"{stall}{KERNEL} computes"
    return (
        f"{stall}{program} computes without a pause or makes very many system calls "
        "(Ctrl-C interrupts the run; a program can call Network.end_stalled_process())"
    )


def _count_memory_kills() -> int:
    return max((group.count_kills() for group in memory_groups()), default=0)


def explain_end(status: int | None, console: str) -> MachineError:
    """Return why a kernel ended, from its exit status (None: it has not ended) and its console."""
    # The kernel checks the host before it starts (start_up.c, patch 20).
    lacking = re.search(r"The host lacks: (.*)", console)
    if lacking:
        return MachineError(
            f"this computer lacks what the machine's kernel needs: {lacking[1]}",
            "sandboxes that emulate ptrace cannot run it; `wanlab doctor` checks this computer",
        )
    if "check_ptrace : expected SIG" in console:  # start_up.c: PTRACE_TRACEME was refused
        return MachineError(
            "this computer does not let the machine's kernel trace its own processes (ptrace)",
            "`wanlab doctor` says which setting forbids it; in other modes machines run without it: see "
            "wanlab docs kernels",
        )
    if "Bus error - the host" in console:  # arch/um/kernel/trap.c, bus_handler()
        return MachineError(
            "the folder with the machine's memory is full",
            "set TMPDIR to a folder with more space, or end other programs",
        )
    panic = re.search(r"Kernel panic - not syncing: (.*)", console)
    if panic:
        what = f"the machine's kernel panicked: {panic[1]}"
    elif status is not None and status < 0:
        what = f"the machine's kernel was killed by {signal.Signals(-status).name}"
    elif status:
        what = f"the machine's kernel ended with status {status}"
    elif status == 0:
        what = "the machine powered off"
    else:
        what = "the machine's kernel closed its channel"
    return MachineError(what, console=_without_startup_lines(console))


def _print_stall(message: str) -> None:
    print(f"wanlab: {message}", file=sys.stderr)


def _without_startup_lines(console: str) -> str:
    """Return the console without the lines that User-Mode Linux prints at every start."""
    lines = console.splitlines()
    return "\n".join(
        line
        for line in lines
        if not re.match(r"(Checking|Core dump limits|\s+(soft|hard) -)", line)
    )
