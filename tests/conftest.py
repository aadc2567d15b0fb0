"""Define the option `--accept` and shared fixtures, and skip tests that lack their kernel."""

from __future__ import annotations

import difflib
import locale
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

# Every run uses the same examples; --hypothesis-profile=search looks for new ones. There is no
# deadline, because a slow computer is not a defect.
settings.register_profile("same", derandomize=True, deadline=None)
settings.register_profile("search", max_examples=1000)
settings.load_profile("same")

# What programs print must not depend on the width of the terminal, on a desktop, on an active virtual
# environment, nor on a locale that is not installed, of which shells warn.
for variable in ("COLUMNS", "LINES", "DISPLAY", "WAYLAND_DISPLAY", "VIRTUAL_ENV"):
    os.environ.pop(variable, None)
# The tests' own servers are on this computer, where a proxy has no part.
for scheme in ("http", "https", "all"):
    os.environ.pop(f"{scheme}_proxy", None)
    os.environ.pop(f"{scheme}_proxy".upper(), None)
usual_locale = locale.setlocale(locale.LC_ALL)
try:
    locale.setlocale(locale.LC_ALL, "")
except locale.Error:
    os.environ["LC_ALL"] = "C.UTF-8"
locale.setlocale(locale.LC_ALL, usual_locale)

GOLDEN = Path(__file__).parent / "golden"
# Set by `./dev test`, which builds a kernel first. A missing kernel is then a failure.
REQUIRE_KERNEL = "WANLAB_REQUIRE_KERNEL"

Golden = Callable[[str, str], None]
Start = Callable[..., Network]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--accept", action="store_true", help="rewrite the golden files with the current output"
    )
    parser.addoption("--long", action="store_true", help="also run the tests marked `long`")


def includes_long(config: pytest.Config) -> bool:
    """Whether tests marked `long` are run: with --long, and if tests are named in any way."""
    is_whole = config.args_source is pytest.Config.ArgsSource.TESTPATHS
    is_chosen = config.option.keyword or "long" in config.option.markexpr
    return bool(config.option.long or is_chosen or not is_whole)


def pytest_report_header(config: pytest.Config) -> str | None:
    if includes_long(config):
        return None
    return "left out: tests marked `long` (run them with --long)"


def pytest_runtest_setup(item: pytest.Item) -> None:
    if item.get_closest_marker("machine") and (reason := why_no_kernel()):
        if os.environ.get(REQUIRE_KERNEL):
            pytest.fail(reason, pytrace=False)
        pytest.skip(reason)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out long tests, and run the slowest files first, so that the workers end together.

    xdist gives the next file to a free worker, and by default begins with the files that have the
    most tests.
    """
    if not includes_long(config):
        left_out = [item for item in items if item.get_closest_marker("long")]
        items[:] = [item for item in items if not item.get_closest_marker("long")]
        config.hook.pytest_deselected(items=left_out)
    seconds: dict[Path, float] = defaultdict(float)
    for item in items:
        seconds[item.path] += estimated_s(item)
    items.sort(key=lambda item: -seconds[item.path])


crashed: list[str] = []


@pytest.hookimpl(optionalhook=True)
def pytest_handlecrashitem(crashitem: str) -> None:
    """Remember that a worker has crashed: xdist calls that a failed test."""
    crashed.append(crashitem)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Exit with 3, not 1, if tests have not run because a worker crashed before."""
    if crashed:
        session.exitstatus = pytest.ExitCode.INTERNAL_ERROR


def estimated_s(item: pytest.Item) -> float:
    """Estimate the computing time of a test on a typical computer, in seconds."""
    if (mark := item.get_closest_marker("costs")) is not None:
        return float(mark.args[0])
    if "browser" in getattr(item, "fixturenames", ()):
        return 5.0
    return 1.0 if item.get_closest_marker("machine") else 0.02


@cache
def why_no_kernel() -> str:
    """Return why no machine can be booted; empty if one can."""
    try:
        find_image()
    except RequirementError as error:
        return str(error)
    return ""


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Golden:
    """Return a function that compares a text with a golden file, or with --accept writes the file."""

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
            pytest.fail(f"{''.join(changes)}\nif this is right, run with --accept", pytrace=False)

    return compare


@pytest.fixture
def victim(tmp_path: Path) -> Iterator[Path]:
    """A file of the user outside of the working folder, to which nothing may happen."""
    file = tmp_path / "home" / "bashrc"
    file.parent.mkdir()
    file.write_text("precious\n", encoding="ascii")
    file.chmod(0o640)
    yield file
    assert file.read_text(encoding="ascii") == "precious\n"
    assert file.stat().st_mode & 0o7777 == 0o640
    assert [path.name for path in file.parent.iterdir()] == ["bashrc"]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Return a function that starts networks in the test's folder; they stop when the test ends."""
    with ExitStack() as running:

        def enter(topology: Topology, **options: Any) -> Network:
            return running.enter_context(Network(topology, **{"folder": tmp_path, **options}))

        yield enter
