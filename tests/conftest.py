"""What all tests share: `--accept`, and what becomes of machine tests where there is no kernel."""

from __future__ import annotations

import difflib
import os
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from wanlab import Network, Topology
from wanlab.errors import RequirementError
from wanlab.machine.embedded import find_image

# The same examples in every run; new ones are looked for with --hypothesis-profile=search.
# Without a deadline, because a busy computer is no defect.
settings.register_profile("same", derandomize=True, deadline=None)
settings.register_profile("search", max_examples=1000)
settings.load_profile("same")

GOLDEN = Path(__file__).parent / "golden"
# Set by `./dev test`, which has built a kernel: that it is missing then is a failure.
REQUIRE_KERNEL = "WANLAB_REQUIRE_KERNEL"

Golden = Callable[[str, str], None]
Start = Callable[..., Network]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--accept", action="store_true", help="write the golden files anew from what is there now"
    )


def pytest_runtest_setup(item: pytest.Item) -> None:
    if item.get_closest_marker("machine") and (reason := why_no_kernel()):
        if os.environ.get(REQUIRE_KERNEL):
            pytest.fail(reason, pytrace=False)
        pytest.skip(reason)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the files that take longest first, so that no worker ends long after the others.

    xdist gives a worker that is free the next file, and would begin with those of many tests.
    """
    seconds: dict[Path, float] = defaultdict(float)
    for item in items:
        seconds[item.path] += estimated_s(item)
    items.sort(key=lambda item: -seconds[item.path])


def estimated_s(item: pytest.Item) -> float:
    """The computing time of a test, as it is on most computers."""
    if (mark := item.get_closest_marker("costs")) is not None:
        return float(mark.args[0])
    if "browser" in getattr(item, "fixturenames", ()):
        return 5.0
    return 1.0 if item.get_closest_marker("machine") else 0.02


@cache
def why_no_kernel() -> str:
    """Empty if a machine can be booted."""
    try:
        find_image()
    except RequirementError as error:
        return str(error)
    return ""


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Golden:
    """Compares a text with a file in tests/golden; with --accept it is written there."""

    def compare(name: str, text: str) -> None:
        path = GOLDEN / name
        if request.config.getoption("--accept"):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        expected = path.read_text(encoding="utf-8") if path.exists() else ""
        changes = difflib.unified_diff(
            expected.splitlines(True), text.splitlines(True), str(path), "now"
        )
        if text != expected:
            pytest.fail(f"{''.join(changes)}\nis this right? --accept makes it so", pytrace=False)

    return compare


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Starts networks that end with the test; their working folder is the test's own."""
    with ExitStack() as running:

        def enter(topology: Topology, **options: Any) -> Network:
            return running.enter_context(Network(topology, **{"folder": tmp_path, **options}))

        yield enter
