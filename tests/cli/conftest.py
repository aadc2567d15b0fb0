"""Run the command line as its users do: as a program, with streams, signals and a status."""

from __future__ import annotations

import ctypes
import os
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import forks
import pytest
from patience import PATIENCE_S
from process_tree import children


@dataclass(frozen=True)
class Ran:
    """The result of a finished run of wanlab."""

    status: int
    output: bytes
    errors: str
    left_behind: Sequence[str]
    """Command lines of processes that have outlived the run."""


class Wanlab:
    """Runs `wanlab` in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._started: list[subprocess.Popen[bytes]] = []
        forks.start_server()
        self._others = children(os.getpid())

    def start(
        self,
        *arguments: str,
        environment: Mapping[str, str] | None = None,
        **options: Any,
    ) -> subprocess.Popen[bytes]:
        pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
        process = forks.start(
            *arguments,
            cwd=self.folder,
            # The terminal that the tests run in may have another width.
            environment={"COLUMNS": "80", **(environment or {})},
            start_new_session=True,
            **{**pipes, **options},
        )
        self._started.append(process)
        return process

    def end(self, process: subprocess.Popen[bytes], input: bytes | None = None) -> Ran:
        try:
            output, errors = process.communicate(input, timeout=PATIENCE_S)
        except subprocess.TimeoutExpired:
            process.kill()
            raise
        # A kernel whose sockets have just been closed is about to end.
        give_up = time.monotonic() + PATIENCE_S
        while (left := self._left_behind()) and time.monotonic() < give_up:
            time.sleep(0.01)
        return Ran(process.returncode, output or b"", (errors or b"").decode(), left)

    def end_all(self) -> None:
        """Kill what a failed test has left running: it would make a later test fail, too."""
        for process in self._started:
            if process.poll() is None:
                process.kill()
                process.wait()
            for stream in (process.stdin, process.stdout, process.stderr):
                if stream is not None:
                    with suppress(BrokenPipeError):
                        stream.close()

    def _left_behind(self) -> list[str]:
        """Return the processes left behind, without those of other tests, such as a browser."""
        now = children(os.getpid())
        return [words for pid, words in now.items() if pid not in self._others]

    def __call__(self, *arguments: str, input: bytes | None = None, **options: Any) -> Ran:
        if input is None:
            options = {"stdin": subprocess.DEVNULL, **options}
        return self.end(self.start(*arguments, **options), input)


@pytest.fixture
def wanlab(tmp_path: Path) -> Iterator[Wanlab]:
    """Run `wanlab`, and adopt the processes that it leaves behind."""
    set_child_subreaper = 36
    libc = ctypes.CDLL(None)
    assert libc.prctl(set_child_subreaper, 1) == 0
    wanlab = Wanlab(tmp_path)
    yield wanlab
    wanlab.end_all()
    libc.prctl(set_child_subreaper, 0)
