"""An agent beside us: an ordinary process on the kernel that we run on, too.

It ends when its channel is closed, so it cannot outlive us, however we end.
"""

from __future__ import annotations

import contextlib
import socket
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from .furniture import compile_ahead

END_REAL_S = 10.0


def agent_folder() -> Path:
    """The agent, as an argument for Python."""
    import wanlab.agent

    folder = Path(wanlab.agent.__file__).parent
    compile_ahead(folder)
    return folder


class AgentProcess:
    """`command`: what goes in front of it, such as a program that makes namespaces. `words`: for the
    agent itself. `errors`: a descriptor for what goes wrong before it listens; otherwise ours."""

    def __init__(
        self, command: Sequence[str] = (), words: Sequence[str] = (), errors: int | None = None
    ) -> None:
        self.end, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(
                [
                    *command,
                    sys.executable,
                    *("-I", "-S", "-B", "-X", "utf8"),
                    str(agent_folder()),
                    str(theirs.fileno()),
                    *words,
                ],
                stdin=subprocess.DEVNULL,
                stderr=errors,
                pass_fds=[theirs.fileno()],
                cwd="/",
                start_new_session=True,
            )

    @property
    def pid(self) -> int:
        return self._process.pid

    def wait(self, real_s: float = END_REAL_S) -> int | None:
        """Exit status, None if it has not ended by then."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            return self._process.wait(real_s)
        return None

    def close(self) -> None:
        """Ends it; what it has to undo, it undoes first."""
        self.end.close()
        if self.wait() is None:
            self._process.kill()
            self._process.wait()
