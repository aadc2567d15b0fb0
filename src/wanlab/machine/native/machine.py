"""The native machine: an agent in fresh namespaces on the computer's own kernel."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from wanlab.agent.messages import Frame
from wanlab.errors import MachineError, RequirementError

from .. import Clock, MachineDescription, Preemption, notes
from ..agent_process import AgentProcess
from ..channel import AgentFailure, Channel
from ..conversation import Conversation
from ..guest_environment import ENVIRONMENT, guest_environment, required_folders
from ..loop import Pipes, RealLoop
from ..traits import NATIVE
from ..working_folder import check_working_folder
from .isolate import REFUSED

# Folders below /run that programs may need, wherever those are installed.
SYSTEM_FOLDERS = ("/run/current-system", "/run/wrappers")
CAP_SYS_ADMIN = 21
ALLOW_NAMESPACES = (
    "allow unprivileged user namespaces (sysctl user.max_user_namespaces, "
    "kernel.unprivileged_userns_clone=1, kernel.apparmor_restrict_unprivileged_userns=0), or be root, "
    "or use the embedded machine, which needs none of that: --machine embedded"
)


class NativeMachine:
    """A machine that starts when it is created. It ends at `close`, or when this process ends.

    The user is root inside: in a user namespace, unless this program runs as root. `visible_folders`
    are more folders below /run that programs may read. `about` has further entries of machine.json,
    besides the machine's own description.
    """

    def __init__(
        self,
        working_folder: Path,
        *,
        visible_folders: Sequence[str] = (),
        host_name: str = "wanlab",
        about: Mapping[str, object] | None = None,
    ) -> None:
        self.clock: Clock = "real"
        self.traits = NATIVE
        self.environment = dict(ENVIRONMENT)
        folder = check_working_folder(working_folder)
        self._closed = False
        self._stderr = os.memfd_create("wanlab-agent", os.MFD_CLOEXEC)
        self.has_user_namespace = not is_real_root()
        self._process = AgentProcess(
            isolation_prefix(self.has_user_namespace), options=["native"], stderr=self._stderr
        )
        self._note = notes.write("native", self._process.pid)
        self.channel = Channel(self._send)
        pipes = Pipes(None, self._process.socket, self._process.socket)
        self._loop = RealLoop(pipes, self.channel.feed)
        self._conversation = Conversation(
            self._loop, self.channel, explain_end=self._explain_end, console=self._console
        )
        self.agent = self._conversation.agent
        visible = [str(folder), *required_folders(), *visible_folders, *SYSTEM_FOLDERS]
        try:
            self._conversation.await_agent()
            self.agent.prepare(
                environment=self.environment,
                native_root={"host_name": host_name, "visible_folders": visible},
                guest_environment=guest_environment({**self.describe(), **(about or {})}),
            )
        except AgentFailure as failure:
            self.close()
            raise RequirementError(
                f"cannot set up the native machine: {failure.what}", ALLOW_NAMESPACES
            ) from None
        except BaseException:
            self.close()
            raise

    # -- the Machine protocol ---------------------------------------------------------------------

    @property
    def preemptions(self) -> Sequence[Preemption]:
        """None: the computer's own kernel schedules its processes itself."""
        return ()

    @property
    def now_ns(self) -> int:
        return self._loop.now_ns

    @property
    def next_event_ns(self) -> int:
        return self._loop.next_event_ns

    def describe(self) -> MachineDescription:
        return {
            "machine": "native",
            "clock": "real",
            "kernel_release": platform.release(),
            "kernel": "",
            "kernel_manifest": "",
            "seed": None,
            "architecture": platform.machine(),
        }

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
        """Return words that enter the machine, as its user, and then the node."""
        paths = self.agent.paths(node)
        proc = f"/proc/{self._first_process()}"
        as_user = [f"--user={proc}/ns/user", "--preserve-credentials"]
        return [
            "nsenter",
            *(as_user if self.has_user_namespace else []),
            *(f"--{name}={proc}/ns/{name}" for name in ("uts", "ipc", "pid")),
            f"--net={proc}/fd/{Path(paths['net']).name}",
            f"--mount={proc}/fd/{Path(paths['mount']).name}",
            # Entering a mount namespace changes the current folder to its root.
            *("/bin/sh", "-c", 'cd "$0" && exec "$@"', folder),
        ]

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
            result = subprocess.run(
                ["ip", "link", "set", name, "netns", str(self._first_process())],
                capture_output=True,
                text=True,
                check=False,
            )
            if result.returncode:
                raise RequirementError(
                    f"{name}: {result.stderr.strip()}", "ip link lists interfaces"
                )

    @property
    def computed_real_s(self) -> float:
        return 0.0

    def pace_to_real(self, wanted: bool, speed: float = 1.0) -> None:
        self._loop.pace_to_real(wanted, speed)

    def end_stalled_process(self) -> None:
        """Nothing keeps the real clock from passing."""

    def kill(self) -> None:
        """Nothing delays the end of a native machine."""

    def close(self) -> None:
        """End the machine and everything in it."""
        if self._closed:
            return
        self._closed = True
        self._conversation.close()
        if self._conversation.is_forked:  # the machine is the parent's
            return
        self._process.close()
        notes.remove(self._note)
        os.close(self._stderr)

    # -- inside -----------------------------------------------------------------------------------

    def _send(self, data: bytes) -> None:
        self._loop.send(data)

    def _first_process(self) -> int:
        """Return the pid, outside the machine, of the agent, which is PID 1 inside."""
        starter = self._process.pid
        children = Path(f"/proc/{starter}/task/{starter}/children").read_text(encoding="ascii")
        return int(children.split()[0])

    def _console(self) -> str:
        size = os.fstat(self._stderr).st_size
        return os.pread(self._stderr, size, 0).decode(errors="replace")

    def _explain_end(self) -> MachineError | RequirementError:
        status = self._process.wait()
        console = self._console().strip()
        if status == REFUSED:
            return RequirementError(
                f"the native machine needs namespaces of its own: {console}", ALLOW_NAMESPACES
            )
        how = "closed its channel" if status is None else f"ended with status {status}"
        return MachineError(f"the machine's agent {how}", console=console)


def is_real_root() -> bool:
    """Whether this program is root with root's rights, which some containers take away."""
    if os.geteuid() != 0:
        return False
    for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
        if line.startswith("CapEff:"):
            return bool(int(line.split()[1], 16) >> CAP_SYS_ADMIN & 1)
    return False


def isolation_prefix(with_user: bool) -> list[str]:
    """Return what to put before a command so that it runs in fresh namespaces."""
    program = str(Path(__file__).with_name("isolate.py"))
    how = "user" if with_user else "root"
    return [sys.executable, "-I", "-S", program, how, str(os.getpid())]
