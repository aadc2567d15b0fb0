"""A job of the server in a process of its own, such as the report of a unit. It can be cancelled."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

from wanlab.errors import WanlabError
from wanlab.jobs.batch import perform_one
from wanlab.jobs.job import FINISHED, Job, read_failure
from wanlab.jobs.progress import BatchProgress, Listener
from wanlab.jobs.worker import JobProgram
from wanlab.temporary import TemporaryFolder


class JobCancelledError(Exception):
    """Raised by the listener of a job that is to end."""


class CancellableListener:
    """Passes the progress of jobs on to `listener`, until `cancel` ends the jobs."""

    def __init__(self, listener: Listener) -> None:
        self._listener = listener
        self._is_cancelled = False

    def cancel(self) -> None:
        """End the jobs: what performs them raises JobCancelledError. May be called in any thread."""
        self._is_cancelled = True

    def __call__(self, state: BatchProgress) -> None:
        """Note the progress, in the thread that performs the jobs."""
        if self._is_cancelled:
            raise JobCancelledError
        self._listener(state)


class BackgroundJob:
    """One job that is performed while the server goes on. `said` gets what it says, in the loop."""

    def __init__(self, program: JobProgram, said: Callable[[str], None]) -> None:
        self._program = program
        self._said = said
        self._loop = asyncio.get_running_loop()
        self._last = ""
        self._listener = CancellableListener(self._note)
        self.cancel = self._listener.cancel

    def _note(self, state: BatchProgress) -> None:
        text = "".join(state.says)
        if text != self._last:
            self._last = text
            self._loop.call_soon_threadsafe(self._said, text)

    async def perform(self, job_in: Callable[[Path], Job]) -> str | None:
        """Perform the job that `job_in` makes for a folder; return why it has failed, or "".

        None: it was cancelled.
        """
        with TemporaryFolder("job") as folder:
            job = job_in(folder / "job")
            try:
                ended = await asyncio.to_thread(
                    perform_one, self._program, job, self._listener, is_pinned=False
                )
            except JobCancelledError:
                return None
            except (WanlabError, OSError) as error:
                return str(error)
            finally:
                self.cancel()  # if the server ends, its thread ends the job
            failure = read_failure(job.folder)
        if ended.status == FINISHED:
            return ""
        return failure.reason if failure else "its process has ended without a reason"
