"""The embedded machine: our own kernel in user space, with the calendar or the real clock."""

from __future__ import annotations

import contextlib
import platform
import re
import signal
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from wanlab.errors import CommandError, MachineError, PeerError, RequirementError

from .. import DEFAULT_LINE_RATE_BPS, READY_NS, Clock, MachineDescription, runs
from ..channel import Channel
from ..furniture import ENVIRONMENT, furniture, required_folders
from ..loop import Lost, RealLoop
from ..traits import EMBEDDED
from ..working_folder import check_working_folder
from .boot import START_OF_DAY_NS, BootOptions, KernelProcess
from .calendar import FOREVER_NS, Calendar
from .image import find_image
from .loop import VirtualLoop
from .resources import ClaimedCpu, check_memory_available, choose_memory_folder

DEFAULT_MEMORY_BYTES = 1 << 30
SETTLE_REAL_S = 1.0
IDLE_PID = "0"
HALT_REAL_S = 5.0

StallReport = Callable[[str], None]


class EmbeddedMachine:
    """Boots at once; ends at `close`, and when this process ends in whatever way.

    `visible_folders`: more folders that programs may read, wherever they are. `seed`: of its random
    numbers.
    `line_rate_bps`: of the wire out of every port, 0 is no limit.
    `about`: what machine.json says besides. `guest_folder`: where the working folder is seen inside, if
    not at its own path.
    `on_stall` is told when a process keeps virtual time from passing.
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
        about: Mapping[str, Any] | None = None,
        guest_folder: str = "",
        on_stall: StallReport | None = None,
    ) -> None:
        self.clock: Clock = clock
        self.traits = EMBEDDED
        self.seed = seed
        self.image = find_image()
        self.environment = dict(ENVIRONMENT)
        self._on_stall = on_stall or _print_stall
        folder = check_mountable(working_folder)
        check_memory_available(memory_bytes)
        memory_folder = choose_memory_folder(memory_bytes)
        self._cpu = ClaimedCpu()
        self._closed = False
        try:
            self._kernel = KernelProcess(
                BootOptions(
                    image=self.image,
                    memory_bytes=memory_bytes,
                    memory_folder=memory_folder,
                    cpu=self._cpu.number,
                    virtual=clock == "virtual",
                    seed=seed,
                    line_rate_mbps=line_rate_bps // 1_000_000,
                )
            )
        except BaseException:
            self._cpu.release()
            raise
        self._note = runs.note("embedded", self._kernel.pid)
        self.channel = Channel(self._say)
        self._loop: VirtualLoop | RealLoop
        if clock == "virtual":
            self._loop = VirtualLoop(
                self._kernel.pipes, Calendar(START_OF_DAY_NS), self.channel.feed, self._stalled
            )
            self._loop.goes_step_by_step = lambda: self.channel.has_requests
        else:
            self._loop = RealLoop(self._kernel.pipes, self.channel.feed)
        try:
            self.run(FOREVER_NS, lambda: self.channel.is_ready)
            self.call(
                "prepare",
                environment=self.environment,
                root_folder={
                    "working_folder": str(folder),
                    "host_name": host_name,
                    "kernel_config": str(self.image.config),
                    "built_in": self.image.built_in(),
                    "visible_folders": [*required_folders(), *visible_folders],
                    "guest_folder": guest_folder,
                },
                furniture=furniture({**self.describe(), **(about or {})}),
            )
        except BaseException:
            self.close()
            raise

    # -- the Machine protocol ---------------------------------------------------------------------

    @property
    def now_ns(self) -> int:
        return self._loop.now_ns

    def describe(self) -> MachineDescription:
        return {
            "machine": "embedded",
            "clock": self.clock,
            "kernel_release": self.image.release,
            "kernel_manifest": self.image.manifest_hash,
            "seed": self.seed,
            "architecture": platform.machine(),
        }

    def call(self, do: str, **arguments: object) -> Any:
        number = self.channel.call(do, **arguments)
        self.run(FOREVER_NS, lambda: self.channel.is_answered(number))
        if not self.channel.is_answered(number):
            raise MachineError(f"the agent did not answer {do!r}", console=self._kernel.console())
        return self.channel.answer(number)

    def run(self, until_ns: int, stop: Callable[[], bool]) -> None:
        if self._closed:
            raise MachineError("the machine has been closed")
        try:
            self._loop.run(until_ns, self.channel.serving(stop, self._loop.is_settled))
        except Lost:
            raise self._death() from None
        except PeerError as error:
            raise MachineError(str(error), console=self._kernel.console()) from error

    def prefix(self, node: str, folder: str) -> list[str]:
        raise CommandError(
            f"{node}: the embedded machine's processes are not this computer's",
            "start it with run() or start(), or run your script inside: wanlab python SCRIPT",
        )

    def move_interfaces(self, names: Iterable[str]) -> None:
        raise RequirementError(
            f"the embedded machine cannot have interfaces of the computer: {', '.join(names)}",
            'use the native machine: --machine native (machine="native")',
        )

    def pace_to_real(self, wanted: bool) -> None:
        """Never faster than the real clock, for people who watch or answer."""
        if isinstance(self._loop, VirtualLoop):
            self._loop.pace_to_real(wanted)
        else:
            self._loop.looks_often = wanted

    def close(self) -> None:
        """Ends the machine. What processes wrote to the working folder is there."""
        if self._closed:
            return
        try:
            self._halt()
        finally:
            self._closed = True
            self._loop.close()
            self._kernel.close()
            self._cpu.release()
            runs.forget(self._note)

    # -- inside -----------------------------------------------------------------------------------

    def _say(self, data: bytes) -> None:
        self._loop.say(data)

    def _halt(self) -> None:
        """Lets the agent write files back and power off; gives up soon if it cannot."""
        if not self.channel.is_ready:
            return
        self.pace_to_real(False)
        with contextlib.suppress(Lost, PeerError, MachineError):
            self._loop.give_up_at_real_s = time.monotonic() + SETTLE_REAL_S
            self._loop.settle()
            self._loop.give_up_at_real_s = time.monotonic() + HALT_REAL_S
            self.channel.call("halt")
            self._loop.run(self.now_ns + READY_NS, lambda: False)

    def _death(self) -> MachineError:
        status = self._kernel.wait(2.0)
        return death(status, self._kernel.console())

    def _stalled(self, real_s: float) -> None:
        before = len(self._kernel.console())
        self._kernel.signal(signal.SIGUSR2)
        time.sleep(0.2)
        told = re.findall(r"running: (\d+) (.*)", self._kernel.console()[max(0, before - 200) :])
        stood = f"virtual time has stood still for {real_s:.0f} s: "
        pid, name = told[-1] if told else (IDLE_PID, "")
        if pid == IDLE_PID:
            self._on_stall(stood + "the kernel is busy with the network's own packets")
            return
        self._on_stall(
            f"{stood}process {pid} ({name.strip()}) computes without a pause "
            "(it can be ended with end_stalled_process(), or the run with Ctrl-C)"
        )

    def end_stalled_process(self) -> None:
        """Kills the process that keeps virtual time from passing."""
        self._kernel.signal(signal.SIGUSR1)


def death(status: int | None, console: str) -> MachineError:
    """What a kernel died of, from its exit status (None: it has not ended) and its console."""
    # The kernel checks the host before it starts (start_up.c, patch 20).
    lacking = re.search(r"The host lacks: (.*)", console)
    if lacking:
        return MachineError(
            f"this computer lacks what the machine's kernel needs: {lacking[1]}",
            "sandboxes that emulate ptrace cannot run it; `wanlab doctor` checks this computer",
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
    return MachineError(what, console=_without_checks(console))


def check_mountable(folder: Path) -> Path:
    """The working folder, absolute. RequirementError if hostfs cannot mount it."""
    resolved = check_working_folder(folder)
    if "," in str(resolved):
        raise RequirementError(f"working folder {folder} has a comma in its path", "rename it")
    return resolved


def _print_stall(message: str) -> None:
    print(f"wanlab: {message}", file=sys.stderr)


def _without_checks(console: str) -> str:
    """The console without what User-Mode Linux says at every start."""
    lines = console.splitlines()
    return "\n".join(
        line
        for line in lines
        if not re.match(r"(Checking|Core dump limits|\s+(soft|hard) -)", line)
    )
