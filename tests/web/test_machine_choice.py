"""The machine that `wanlab web` was started with is that of all networks of its laboratory."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from wanlab import Network, shapes
from wanlab.network import MachineChoice
from wanlab.web.laboratory import Laboratory
from wanlab.web.limits import ClassRules
from wanlab.web.protocol.model import Document


def network_of(folder: Path, rules: ClassRules) -> Network:
    """Return the network of a document that was drawn, not started."""

    async def make() -> Network:
        laboratory = Laboratory(folder, rules=rules)
        try:
            return laboratory._plan(Document(), shapes.minimal()).make()
        finally:
            await laboratory.close()

    # In a thread of its own: a browser of another test may have left an event loop in this one.
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(lambda: asyncio.run(make())).result()


def test_a_drawn_network_has_the_chosen_machine(tmp_path: Path) -> None:
    choice = MachineChoice("7.3", "seccomp", "server-2019")
    options = network_of(tmp_path, ClassRules(memory_bytes=1 << 30, choice=choice)).options
    assert (options.kernel, options.traps, options.memory_bytes) == ("7.3", "seccomp", 1 << 30)
    assert options.cpu is not None
    assert options.cpu.model == "server-2019"


def test_without_a_choice_it_has_the_default(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("WANLAB_CPU", raising=False)
    options = network_of(tmp_path, ClassRules()).options
    assert options.traps == ""
    assert options.cpu is None
