"""A server in an empty folder, and one for all tests that only knock at its door."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from visitor import Server, Visitor

TWO_HOSTS = """\
nodes:
  - {host: h1, x: 100.0, y: 100.0}
  - {host: h2, x: 300.0, y: 100.0}
  - {switch: s1, x: 200.0, y: 200.0}
links:
  - {link: [h1, s1]}
  - {link: [s1, h2]}
"""


def lab_in(place: Path) -> Path:
    """A working folder with a file in it."""
    folder = place / "lab"
    folder.mkdir()
    (folder / "two.yaml").write_text(TWO_HOSTS)
    return folder


@pytest.fixture(scope="module")
def door(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with Server(lab_in(tmp_path_factory.mktemp("door"))) as server:
        yield server


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    with Server(lab_in(tmp_path)) as started:
        yield started


@pytest.fixture
def visitor(server: Server) -> Iterator[Visitor]:
    with server.visit() as visitor:
        yield visitor


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Visitor]:
    """A network of two hosts that runs, for tests that leave it as it was."""
    folder = lab_in(tmp_path_factory.mktemp("running"))
    with Server(folder, str(folder / "two.yaml")) as server, server.visit() as visitor:
        visitor.run()
        yield visitor
