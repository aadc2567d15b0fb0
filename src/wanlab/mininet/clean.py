"""Cleaning up. `cleanup` ends this program's network and calls the functions that were added with
addCleanupCallback.

Nothing else needs cleaning: everything that a script creates in a machine ends with the machine.
"""

from __future__ import annotations

import subprocess
import time as time
from collections.abc import Callable
from subprocess import PIPE as PIPE
from subprocess import CalledProcessError as CalledProcessError
from subprocess import Popen as Popen
from typing import ClassVar

from .commands import decode
from .live_network import live_network
from .log import info
from .term import cleanUpScreens as cleanUpScreens


def sh(cmd: str) -> str:
    """Run a shell command and return its output."""
    done = subprocess.run(["/bin/sh", "-c", cmd], stdout=subprocess.PIPE, check=False)
    return decode(done.stdout)


def killprocs(pattern: str) -> None:
    """End processes of this machine whose command line matches; never those of your computer."""
    sh(f"pkill -9 -f -- '{pattern}'")


class Cleanup:
    """The functions to call at cleanup."""

    callbacks: ClassVar[list[Callable[[], None]]] = []

    @classmethod
    def cleanup(cls) -> None:
        """End this program's network and call the callbacks."""
        live_network().close()
        for callback in cls.callbacks:
            callback()
        info("*** Cleanup complete.\n")

    @classmethod
    def addCleanupCallback(cls, callback: Callable[[], None]) -> None:
        if callback not in cls.callbacks:
            cls.callbacks.append(callback)


cleanup = Cleanup.cleanup
addCleanupCallback = Cleanup.addCleanupCallback
