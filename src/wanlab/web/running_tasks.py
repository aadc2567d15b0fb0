"""Tasks that run beside the requests of a server.

asyncio itself keeps only weak references to tasks, so a task that nothing else refers to may vanish
before it has ended (see asyncio.create_task in Python's documentation).
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any


class RunningTasks:
    """Starts tasks, and refers to each of them until it has ended."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[None]] = set()

    def start(self, work: Coroutine[Any, Any, None]) -> None:
        """Run `work` in the running event loop. RuntimeError if there is none."""
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def cancel(self) -> None:
        """Cancel all tasks that have not ended."""
        for task in self._tasks:
            task.cancel()

    async def wait(self) -> None:
        """Wait until the tasks that are running now have ended; raise the first exception of one."""
        await asyncio.gather(*self._tasks)
