"""Test what browsers receive about terminals."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from wanlab.web.terminals.terminals import TerminalList


class Process:
    is_running = True

    def show_on(self, on_output: Any) -> None:
        pass


class Network:
    now_ns = 0


class Worker:
    def follow(self, process: Any) -> None:
        pass


def test_browsers_learn_of_a_terminal_when_its_program_has_started() -> None:
    """Before the start, it could not accept the size and keys that a browser sends at once."""

    async def run() -> None:
        snapshots = []
        terminals = TerminalList(lambda: snapshots.append(terminals.snapshot().terminals))
        terminal = terminals.new("id", "h1")
        assert terminals.snapshot().terminals == ()
        terminal.begin(
            Worker(),  # type: ignore[arg-type]
            Network(),  # type: ignore[arg-type]
            lambda *words, **options: Process(),  # type: ignore[arg-type]
            ["sh"],
            size=(24, 80),
        )
        await asyncio.sleep(0)
        assert snapshots == [(terminal.info(),)]

    with ThreadPoolExecutor(1) as thread:  # Playwright may have a running event loop in this thread
        thread.submit(asyncio.run, run()).result()
