"""Runs the start command of a node and waits for its end, but not for programs in the background."""

from __future__ import annotations

import os
import signal
import subprocess

LIMIT_S = 60
"""How long a start command may take, on the clock of the network."""
MAX_OUTPUT_BYTES = 4096


def run_start_command(command: str, environment: dict[str, str], folder: str) -> None:
    """Run a command with /bin/sh. OSError with its output if it fails, or does not end."""
    # A program in the background keeps its output open, so that is a file and not a pipe.
    output = os.memfd_create("output")
    try:
        process = subprocess.Popen(
            ["/bin/sh", "-c", command],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            env=environment,
            cwd=folder,
            start_new_session=True,
        )
        try:
            process.wait(LIMIT_S)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            raise OSError(
                f"it had not ended after {LIMIT_S} s and was killed; a program that is to keep running "
                "needs an & at its end"
            ) from None
        if process.returncode != 0:
            reason = os.pread(output, MAX_OUTPUT_BYTES, 0).decode(errors="replace").strip()
            raise OSError(reason or f"exit status {process.returncode}")
    finally:
        os.close(output)
