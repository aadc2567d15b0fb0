"""Files that programs make have the modes that they ask for, whatever the user's umask is."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from wanlab import Network, shapes

pytestmark = pytest.mark.machine


@pytest.fixture(params=[0o022, 0o077])
def users_umask(request: pytest.FixtureRequest) -> Iterator[None]:
    before = os.umask(request.param)
    yield
    os.umask(before)


def test_only_the_umask_of_a_program_counts(tmp_path: Path, users_umask: None) -> None:
    """The user's umask applied as well: with 077, a lab's files had other modes than on a computer."""
    with Network(shapes.single(2), folder=tmp_path) as net:
        made = (
            "touch a; mkdir b; mkfifo c; umask 0; touch d; mkdir e; umask 077; touch f; cp -p d g"
        )
        shown = net["h1"].run(f"{made}; stat -c %n=%a ?").output.split()
    assert shown == ["a=644", "b=755", "c=644", "d=666", "e=777", "f=600", "g=666"]
    modes = [f"{path.name}={path.stat().st_mode & 0o7777:o}" for path in sorted(tmp_path.iterdir())]
    assert [mode for mode in modes if mode[1] == "="] == shown
