"""Opens results on the user's desktop, as `xdg-open` in a machine requests.

A program in a machine must not be able to open anything that the user could. So only files with the
suffix of a result are opened, and only from the working folder, which the machine shares.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

from wanlab import Network
from wanlab.network import Connection

from .display import has_display

PROGRAM = "xdg-open"
MAX_OPENED = 100
"""A program inside could otherwise fill the desktop, and start any number of processes."""
RESULTS = (".pdf", ".png", ".svg", ".txt", ".dat", ".csv", ".json", ".log", ".pcap", ".pcapng")


class Desktop:
    """Opens files of a folder. The programs that it starts outlive wanlab."""

    def __init__(self, folder: Path, environment: Mapping[str, str] = os.environ) -> None:
        self._folder = folder.resolve()
        self._environment = environment
        self._started: list[subprocess.Popen[bytes]] = []

    def on_request(self, connection: Connection) -> None:
        """Serve {"do": "open", "path"}; answer {"opened": true} or {"opened": false, "why"}."""
        why = self.show(str(connection.request.get("path", "")))
        answer: dict[str, object] = {"opened": not why}
        connection.answer(answer | ({"why": why} if why else {}))

    def show(self, name: str) -> str:
        """Open a file; return "", or the reason why it is not opened."""
        try:
            # Resolve symbolic links, so that none leads out of the folder.
            path = Path(name).resolve()
        except (OSError, RuntimeError, ValueError) as error:  # too long, or a loop of links
            return f"it cannot be opened: {error}"
        if not path.is_relative_to(self._folder):
            return f"only files in {self._folder} are opened"
        if not path.is_file():
            return "it is not a file"
        if path.suffix.lower() not in RESULTS:
            return f"only results are opened: {' '.join(RESULTS)}"
        if not has_display(self._environment):
            return "there is no desktop to open it on"
        if len(self._started) >= MAX_OPENED:
            return f"{MAX_OPENED} files have been opened already"
        program = shutil.which(PROGRAM, path=self._environment.get("PATH"))
        if program is None:
            return f"there is no {PROGRAM} on this computer"
        self._started.append(
            subprocess.Popen(
                [program, str(path)],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
                env=dict(self._environment),
            )
        )
        return ""


def offer(network: Network) -> None:
    """Let programs in the network open results from now on."""
    network.host_service["open"] = Desktop(network.folder).on_request
