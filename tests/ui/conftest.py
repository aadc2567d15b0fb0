"""Run the laboratory in a browser: each test has a server, and all share one Chromium.

A file can choose another browser with a fixture `browser`: see test_firefox.py.

WANLAB_SCREENSHOTS=FOLDER    a picture of each stage (of a failure: into the test's folder)
WANLAB_PAGES=FOLDER          use pages that were built in another folder than that of `./dev ui`
"""

from __future__ import annotations

import contextlib
import os
import platform
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NoReturn

import pytest
from playwright import sync_api
from served import Server
from student import Student

from wanlab.web.server.app import STATIC

# Set by `./dev test`, which installs and builds the requirements. Missing ones are then a failure.
REQUIRED = "WANLAB_REQUIRE_KERNEL"
# Set by `./dev test` to the reason if the page could not be built.
NO_PAGE = "WANLAB_NO_PAGE"

CHROMIUM = ("chromium", "chromium-browser", "google-chrome")
SCREENSHOTS = "WANLAB_SCREENSHOTS"
PAGES = "WANLAB_PAGES"
SIZE = {"width": 1280, "height": 720}


def pytest_runtest_setup(item: pytest.Item) -> None:
    if reason := os.environ.get(NO_PAGE):
        pytest.skip(f"there is no browser page: {reason}")


def lacks(what: str) -> NoReturn:
    if os.environ.get(REQUIRED):
        pytest.fail(what, pytrace=False)
    pytest.skip(what)


@pytest.fixture(scope="session")
def playwright() -> Iterator[Any]:
    with sync_api.sync_playwright() as playwright:
        yield playwright


@pytest.fixture(scope="session")
def find_browser() -> Callable[..., str]:
    """Return a function that finds a browser by the names of its program, or skips the test."""

    def find(package: str, *names: str) -> str:
        program = next(filter(None, map(shutil.which, names)), None)
        if program is None:
            # Only Debian has these packages not as snaps, and there `./dev test` installs them.
            is_debian = platform.freedesktop_os_release().get("ID") == "debian"
            (lacks if is_debian else pytest.skip)(f"no {package}: apt-get install {package}")
        return program

    return find


@pytest.fixture(scope="session")
def browser(playwright: Any, find_browser: Callable[..., str]) -> Iterator[Any]:
    program = find_browser("chromium", *CHROMIUM)
    chromium = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
    yield chromium
    chromium.close()


@pytest.fixture
def permissions() -> list[str]:
    """Return the permissions that a page has without asking."""
    return ["clipboard-read", "clipboard-write"]


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    with serving(tmp_path) as server:
        yield server


@pytest.fixture(scope="module")
def shared_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Run a server for all tests of a file that do not change it."""
    with serving(tmp_path_factory.mktemp("shared")) as server:
        yield server


@contextlib.contextmanager
def serving(place: Path) -> Iterator[Server]:
    pages = Path(os.environ.get(PAGES, STATIC))
    if not (pages / "index.html").exists():
        lacks("the pages are not built: ./dev ui")
    folder = place / "working"
    folder.mkdir()
    server = Server(folder, pages)
    server.start()
    try:
        yield server
    finally:
        server.end()


@pytest.fixture
def come(
    browser: Any, permissions: list[str], tmp_path: Path, request: pytest.FixtureRequest
) -> Iterator[Callable[..., Student]]:
    """Return a function that opens a window of a server, by default the test's own."""
    chosen = os.environ.get(SCREENSHOTS)
    pictures = Path(chosen) if chosen else None
    students: list[Student] = []

    def enter(laboratory: Server | None = None) -> Student:
        server: Server = laboratory or request.getfixturevalue("server")
        context = browser.new_context(viewport=SIZE, permissions=permissions)
        page = context.new_page()
        student = Student(page, pictures, request.node.name)
        students.append(student)
        page.goto(server.url)
        student.is_connected()
        return student

    yield enter
    has_failed = getattr(request.node, "has_failed", False)
    for number, student in enumerate(students):
        if has_failed:
            path = tmp_path / f"failed{number}.png"
            with contextlib.suppress(sync_api.Error):
                student.page.screenshot(path=str(path))
            request.node.add_report_section("call", "screenshot", str(path))
            request.node.add_report_section("call", "console", "\n".join(student.console_errors))
        student.page.context.close()
    if not has_failed:
        console_errors = [one for student in students for one in student.console_errors]
        assert not console_errors, "errors in the console: " + "\n".join(console_errors)


@pytest.fixture
def student(server: Server, come: Callable[..., Student]) -> Student:
    # The order matters: windows are closed before their server ends.
    return come(server)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
    outcome: Any = yield
    if outcome.get_result().failed:
        item.has_failed = True  # type: ignore[attr-defined]
