"""Nothing to clean: what was made in a machine ends with it, and what somebody else made is not ours.

`cleanup` ends this program's network and calls what was added with addCleanupCallback.
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from typing import ClassVar

from .ground import ground
from .log import info
from .util import decode


def sh(cmd: str) -> str:
    """Runs a command by the shell; its output."""
    done = subprocess.run(["/bin/sh", "-c", cmd], stdout=subprocess.PIPE, check=False)
    return decode(done.stdout)


def killprocs(pattern: str) -> None:
    """Ends processes of this machine whose command line matches; never those of your computer."""
    sh(f"pkill -9 -f -- '{pattern}'")


class Cleanup:
    """What Mininet's users hook into."""

    callbacks: ClassVar[list[Callable[[], None]]] = []

    @classmethod
    def cleanup(cls) -> None:
        """Ends this program's network."""
        ground.close()
        for callback in cls.callbacks:
            callback()
        info("*** Cleanup complete.\n")

    @classmethod
    def addCleanupCallback(cls, callback: Callable[[], None]) -> None:
        if callback not in cls.callbacks:
            cls.callbacks.append(callback)


cleanup = Cleanup.cleanup
addCleanupCallback = Cleanup.addCleanupCallback
