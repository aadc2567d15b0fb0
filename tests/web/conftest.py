"""Provide a server in an empty folder, and a shared one for tests of access rules."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from class_client import TWO_HOSTS
from web_client import Server, WebClient


def lab_in(place: Path) -> Path:
    """Make a working folder with a file in it."""
    folder = place / "lab"
    folder.mkdir()
    (folder / "two.yaml").write_text(TWO_HOSTS)
    return folder


@pytest.fixture(scope="module")
def shared_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with Server(lab_in(tmp_path_factory.mktemp("shared_server"))) as server:
        yield server


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    with Server(lab_in(tmp_path)) as started:
        yield started


@pytest.fixture
def client(server: Server) -> Iterator[WebClient]:
    with server.connect_client() as client:
        yield client


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WebClient]:
    """Run a network of two hosts for tests that do not change it."""
    folder = lab_in(tmp_path_factory.mktemp("running"))
    with Server(folder, str(folder / "two.yaml")) as server, server.connect_client() as client:
        client.run()
        yield client
