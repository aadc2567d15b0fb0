"""A result on the user's desktop: what `xdg-open` inside a machine requests.

A program inside is not the user. So only results are shown, by their suffix, and only from the working
folder, which is the one place that both share.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from wanlab import Network
from wanlab.network import Connection

from .display import has_display

PROGRAM = "xdg-open"
RESULTS = (".pdf", ".png", ".svg", ".txt", ".dat", ".csv", ".json", ".log", ".pcap", ".pcapng")


class Desktop:
    """Shows files of a folder. What it has started goes on when we end, as windows do."""

    def __init__(self, folder: Path, environment: Mapping[str, str] = os.environ) -> None:
        self._folder = folder.resolve()
        self._environment = environment
        self._started: list[subprocess.Popen[bytes]] = []

    def take(self, connection: Connection) -> None:
        """{"do": "open", "path": ...}: answered by {"opened": true}, or by why it is not."""
        why = self.show(str(connection.request.get("path", "")))
        answer: dict[str, Any] = {"opened": not why}
        connection.answer(answer | ({"why": why} if why else {}))

    def show(self, name: str) -> str:
        """Opens a file; "" or why that is not done."""
        # Links are followed here, too: one inside must not lead out of the folder.
        path = Path(name).resolve()
        if not path.is_relative_to(self._folder):
            return f"only what is in {self._folder} is shown"
        if not path.is_file():
            return "it is no file"
        if path.suffix.lower() not in RESULTS:
            return f"only results are opened: {' '.join(RESULTS)}"
        if not has_display(self._environment):
            return "there is no desktop to show it on"
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
    """Programs in the network may show results from now on."""
    network.host_service["open"] = Desktop(network.folder).take
