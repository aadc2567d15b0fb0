"""Grade the hand-ins of a class at the teacher's request, while the class goes on.

It is the grading of `wanlab lab grade`, with its jobs, keys and tables: what has not changed since is
not graded again, so cancelling loses only the submission that is being graded.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable

from wanlab.errors import WanlabError
from wanlab.jobs.progress import BatchProgress, Listener
from wanlab.labs import class_run
from wanlab.labs.class_run import ClassOptions, ClassRun
from wanlab.network import NO_CHOICE, MachineChoice

from ..background_job import CancellableListener, JobCancelledError
from ..running_tasks import RunningTasks
from .roster import GRADES, HAND_INS, Roster, students_with_seeds

Grade = Callable[[Roster, Listener], str]
"""Grades a class, and returns the result in a sentence."""


class ClassGrading:
    """The grading of a class. `progress` is a line while it runs; `result` is how the last one ended."""

    def __init__(self, roster: Roster, grade: Grade | None = None) -> None:
        self._roster = roster
        self._grade = grade or grade_class
        self._tasks = RunningTasks()
        self._listener = CancellableListener(self._note)
        self.progress = ""
        self.result = ""

    def start(self) -> None:
        """Begin to grade. WanlabError if the class is being graded."""
        if self.progress:
            raise WanlabError("the hand-ins are being graded", "wait, or cancel that first")
        self._listener = CancellableListener(self._note)
        self.progress, self.result = "starting", ""
        self._tasks.start(self._perform())

    def cancel(self) -> None:
        """End the grading. Finished grades are kept."""
        self._listener.cancel()

    async def close(self) -> None:
        """End the grading, and wait for its end."""
        self.cancel()
        await self._tasks.wait()

    async def _perform(self) -> None:
        try:
            self.result = await asyncio.to_thread(self._grade, self._roster, self._listener)
        except JobCancelledError:
            self.result = "cancelled; finished grades are kept"
        except (WanlabError, OSError) as error:
            self.result = str(error)
        finally:
            self.progress = ""

    def _note(self, state: BatchProgress) -> None:
        self.progress = ": ".join([state.text(), *state.running[:1]])


def grade_class(roster: Roster, listener: Listener, choice: MachineChoice = NO_CHOICE) -> str:
    """Grade what was handed in, and write the tables."""
    options = ClassOptions(
        folder=roster.folder / HAND_INS,
        students=students_with_seeds(roster.folder),
        results=roster.folder / GRADES,
        # Half of the processors are left to the students.
        jobs=max(1, len(os.sched_getaffinity(0)) // 2),
        choice=choice,
    )
    run = ClassRun(options)
    graded = run.run(listener)
    class_run.write(options, graded, class_run.alike(run.scripts, run.sessions))
    handed_in = sum(bool(result["handed_in"]) for result in graded)
    failed = sum(map(class_run.was_refused, graded))
    return f"{handed_in} of {len(graded)} handed in, {failed} not graded"
