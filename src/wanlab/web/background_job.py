"""A job of the server in a process of its own, such as the report of a unit. It can be cancelled."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

from wanlab.errors import WanlabError
from wanlab.jobs.batch import perform_one
from wanlab.jobs.job import FINISHED, Job, read_failure
from wanlab.jobs.progress import BatchProgress
from wanlab.jobs.worker import JobProgram
from wanlab.temporary import TemporaryFolder


class _CancelledError(Exception):
    """Raised by the listener of a job that is to end."""


class BackgroundJob:
    """One job that is performed while the server goes on."""

    def __init__(self, program: JobProgram) -> None:
        self._program = program
        self._is_cancelled = False

    def cancel(self) -> None:
        """End the job."""
        self._is_cancelled = True

    async def perform(
        self, job_in: Callable[[Path], Job], said: Callable[[str], None]
    ) -> str | None:
        """Perform the job that `job_in` makes for a folder; return why it has failed, or "".

        None: it was cancelled. `said` is called in the loop with what the job says about its progress.
        """
        loop = asyncio.get_running_loop()
        last = ""

        def listen(state: BatchProgress) -> None:
            nonlocal last
            if self._is_cancelled:
                raise _CancelledError
            text = "".join(state.says)
            if text != last:
                last = text
                loop.call_soon_threadsafe(said, text)

        with TemporaryFolder("job") as folder:
            job = job_in(folder / "job")
            try:
                ended = await asyncio.to_thread(
                    perform_one, self._program, job, listen, is_pinned=False
                )
            except _CancelledError:
                return None
            except (WanlabError, OSError) as error:
                return str(error)
            finally:
                self.cancel()  # if the server ends, its thread ends the job
            failure = read_failure(job.folder)
        if ended.status == FINISHED:
            return ""
        return failure.reason if failure else "its process has ended without a reason"
