"""Runs an agent as an ordinary child process on the kernel that this program runs on.

The agent ends when its channel is closed, so it cannot outlive this program, however that ends.
"""

from __future__ import annotations

import contextlib
import socket
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from .compiled_modules import compile_ahead

END_REAL_S = 10.0


def agent_folder() -> Path:
    """Return the agent's folder, which Python can run; its modules are compiled."""
    import wanlab.agent

    folder = Path(wanlab.agent.__file__).parent
    compile_ahead(folder)
    return folder


class AgentProcess:
    """A running agent and our end of its channel, `socket`.

    `prefix` goes before the agent's command, such as a program that makes namespaces. `options` are for
    the agent itself. `stderr` is a descriptor for its messages before it is ready. Default: ours.
    """

    def __init__(
        self, prefix: Sequence[str] = (), options: Sequence[str] = (), stderr: int | None = None
    ) -> None:
        self.socket, agent_end = socket.socketpair()
        with agent_end:
            self._process = subprocess.Popen(
                [
                    *prefix,
                    sys.executable,
                    *("-I", "-S", "-B", "-X", "utf8"),
                    str(agent_folder()),
                    str(agent_end.fileno()),
                    *options,
                ],
                stdin=subprocess.DEVNULL,
                stderr=stderr,
                pass_fds=[agent_end.fileno()],
                cwd="/",
                start_new_session=True,
            )

    @property
    def pid(self) -> int:
        return self._process.pid

    def wait(self, real_s: float = END_REAL_S) -> int | None:
        """Return the exit status; None if the process has not ended after `real_s`."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            return self._process.wait(real_s)
        return None

    def close(self) -> None:
        """End the agent, which first removes what it has created."""
        self.socket.close()
        if self.wait() is None:
            self._process.kill()
            self._process.wait()
