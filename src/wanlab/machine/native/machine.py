"""An agent in fresh namespaces on the computer's own kernel."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from wanlab.errors import MachineError, PeerError, RequirementError

from .. import Clock, MachineDescription, runs
from ..beside import AgentProcess
from ..channel import AgentFailure, Channel
from ..furniture import ENVIRONMENT, furniture, required_folders
from ..loop import Lost, Pipes, RealLoop
from ..traits import NATIVE
from ..working_folder import check_working_folder
from .isolate import REFUSED

FOREVER_NS = 1 << 62
NAMESPACES = ("user", "net", "mnt", "pid", "uts", "ipc")
# Folders below /run that programs may need, wherever they are found.
SYSTEM_FOLDERS = ("/run/current-system", "/run/wrappers")
EMBEDDED = "or use the embedded machine, which needs none of that: --machine embedded"
WITHOUT_NAMESPACES = (
    "allow unprivileged user namespaces (sysctl user.max_user_namespaces, "
    "kernel.unprivileged_userns_clone=1, kernel.apparmor_restrict_unprivileged_userns=0), or be root, "
    + EMBEDDED
)


class NativeMachine:
    """Starts at once; ends at `close`, and when this process ends in whatever way.

    Its user is root inside: in a user namespace, unless we are root already. `about`: what
    machine.json says besides.
    """

    def __init__(
        self,
        working_folder: Path,
        *,
        visible_folders: Sequence[str] = (),
        host_name: str = "wanlab",
        about: Mapping[str, Any] | None = None,
    ) -> None:
        self.clock: Clock = "real"
        self.traits = NATIVE
        self.environment = dict(ENVIRONMENT)
        folder = check_working_folder(working_folder)
        self._closed = False
        self._errors = os.memfd_create("wanlab-agent", os.MFD_CLOEXEC)
        self.has_user_namespace = not is_real_root()
        self._agent = AgentProcess(
            isolated(self.has_user_namespace), words=["native"], errors=self._errors
        )
        self._note = runs.note("native", self._agent.pid)
        self._loop = RealLoop(Pipes(None, self._agent.end, self._agent.end), self._hear)
        self.channel = Channel(self._loop.say)
        try:
            self.run(FOREVER_NS, lambda: self.channel.is_ready)
            self.call(
                "prepare",
                environment=self.environment,
                native_root={
                    "host_name": host_name,
                    "visible_folders": [
                        str(folder),
                        *required_folders(),
                        *visible_folders,
                        *SYSTEM_FOLDERS,
                    ],
                },
                furniture=furniture({**self.describe(), **(about or {})}),
            )
        except AgentFailure as failure:
            self.close()
            raise RequirementError(
                f"the native machine cannot be made: {failure.what}", WITHOUT_NAMESPACES
            ) from None
        except BaseException:
            self.close()
            raise

    # -- the Machine protocol ---------------------------------------------------------------------

    @property
    def now_ns(self) -> int:
        return self._loop.now_ns

    def describe(self) -> MachineDescription:
        return {
            "machine": "native",
            "clock": "real",
            "kernel_release": platform.release(),
            "kernel_manifest": "",
            "seed": None,
            "architecture": platform.machine(),
        }

    def call(self, do: str, **arguments: object) -> Any:
        number = self.channel.call(do, **arguments)
        self.run(FOREVER_NS, lambda: self.channel.is_answered(number))
        return self.channel.answer(number)

    def run(self, until_ns: int, stop: Callable[[], bool]) -> None:
        if self._closed:
            raise MachineError("the machine has been closed")
        try:
            self._loop.run(until_ns, self.channel.serving(stop, self._loop.is_settled))
        except Lost:
            raise self._death() from None
        except PeerError as error:
            raise MachineError(str(error), console=self._said()) from error

    def prefix(self, node: str, folder: str) -> list[str]:
        """Enters the machine as its user, and the node."""
        paths = self.call("paths", node=node)
        inside = f"/proc/{self._first_process()}"
        spaces = [f"--user={inside}/ns/user", "--preserve-credentials"]
        return [
            "nsenter",
            *(spaces if self.has_user_namespace else []),
            *(f"--{name}={inside}/ns/{name}" for name in ("uts", "ipc", "pid")),
            f"--net={inside}/fd/{Path(paths['net']).name}",
            f"--mount={inside}/fd/{Path(paths['mount']).name}",
            # Entering a mount namespace leads to its root.
            *("/bin/sh", "-c", 'cd "$0" && exec "$@"', folder),
        ]

    def pace_to_real(self, wanted: bool) -> None:
        """It has no other pace; but somebody may have to be listened to."""
        self._loop.looks_often = wanted

    def end_stalled_process(self) -> None:
        """Nothing keeps the real clock from passing."""

    def move_interfaces(self, names: Iterable[str]) -> None:
        """Move interfaces of the computer into the machine.

        Physical NICs come back when the machine ends, without their addresses; virtual interfaces are
        removed with it.
        """
        for name in names:
            if self.has_user_namespace:
                raise RequirementError(
                    f"{name}: only root may move an interface of the computer into a network",
                    "run wanlab as root, or leave the interface out",
                )
            moved = subprocess.run(
                ["ip", "link", "set", name, "netns", str(self._first_process())],
                capture_output=True,
                text=True,
                check=False,
            )
            if moved.returncode:
                raise RequirementError(
                    f"{name}: {moved.stderr.strip()}", "ip link lists interfaces"
                )

    def close(self) -> None:
        """Ends the machine and everything in it."""
        if self._closed:
            return
        self._closed = True
        self._loop.close()
        self._agent.close()
        runs.forget(self._note)
        os.close(self._errors)

    # -- inside -----------------------------------------------------------------------------------

    def _hear(self, data: bytes) -> None:
        self.channel.feed(data)

    def _first_process(self) -> int:
        """The agent, as we see it: PID 1 in there."""
        starter = self._agent.pid
        children = Path(f"/proc/{starter}/task/{starter}/children").read_text(encoding="ascii")
        return int(children.split()[0])

    def _said(self) -> str:
        size = os.fstat(self._errors).st_size
        return os.pread(self._errors, size, 0).decode(errors="replace")

    def _death(self) -> MachineError | RequirementError:
        status = self._agent.wait()
        said = self._said().strip()
        if status == REFUSED:
            return RequirementError(
                f"the native machine needs namespaces of its own: {said}", WITHOUT_NAMESPACES
            )
        how = "has not ended" if status is None else f"ended with status {status}"
        return MachineError(f"the machine's agent {how}", console=said)


def is_real_root() -> bool:
    """Root with its rights: some containers take them away."""
    if os.geteuid() != 0:
        return False
    for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
        if line.startswith("CapEff:"):
            return bool(int(line.split()[1], 16) >> CAP_SYS_ADMIN & 1)
    return False


CAP_SYS_ADMIN = 21


def isolated(with_user: bool) -> list[str]:
    """What goes in front of a command so that it has namespaces of its own."""
    program = str(Path(__file__).with_name("isolate.py"))
    how = "user" if with_user else "root"
    return [sys.executable, "-I", "-S", program, how, str(os.getpid())]
