"""The computer's files look the same to programs on every computer and for every user."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from wanlab import Network, shapes
from wanlab.machine.guest_environment import PACKAGE

pytestmark = pytest.mark.machine

Start = Callable[..., Network]


def test_a_folder_is_listed_in_the_order_of_names(start: Start, tmp_path: Path) -> None:
    names = [f"{letter}{number}" for number in range(300) for letter in "zaB"]
    for name in names:
        (tmp_path / name).touch()
    net = start(shapes.single(2), seed=1, folder=tmp_path)
    listed = net["h1"].run("ls -aU").output.split()
    assert listed == [".", "..", *sorted(names)]


def test_a_listing_continues_correctly_while_files_are_removed(
    start: Start, tmp_path: Path
) -> None:
    (tmp_path / "all").mkdir()
    for number in range(2000):
        (tmp_path / "all" / f"a-rather-long-name-of-a-file-{number}").touch()
    net = start(shapes.single(2), seed=1, folder=tmp_path)
    net["h1"].run("rm -r all")
    assert not (tmp_path / "all").exists()


def test_inode_numbers_of_the_computers_files_do_not_depend_on_earlier_use(
    start: Start, tmp_path: Path
) -> None:
    def listed(folder: Path, *, before: str) -> str:
        folder.mkdir(parents=True)
        net = start(shapes.single(2), seed=1, folder=folder)
        net["h1"].run(before)
        found = net["h1"].run("ls -iU /etc /usr/lib; stat -c %i /etc /usr/bin/env").output
        net.stop()
        return found

    one = listed(tmp_path / "a", before="true")
    assert (
        listed(tmp_path / "b" / "longer" / "way", before="find /usr/share/doc > /dev/null") == one
    )


def test_a_file_and_its_successor_have_different_inode_numbers(start: Start) -> None:
    net = start(shapes.single(2), seed=1)
    done = net["h1"].run(
        "echo 1 > log; mv log log.1; echo 2 > log; stat -c %i log log.1; cp log log.1"
    )
    one, other = done.output.split()
    assert one != other


def test_the_users_files_belong_to_root(start: Start) -> None:
    net = start(shapes.single(2), seed=1)
    done = net["h1"].run("touch x; chown 0:0 x; stat -c '%u %g' . x")
    assert done.output.split() == ["0"] * 4


def test_no_command_line_shows_where_wanlab_is(start: Start) -> None:
    net = start(shapes.single(2), seed=1)
    shown = net["h1"].run("cat /proc/cmdline; ps -e -ww -o args").output
    assert str(PACKAGE) not in shown
    assert "wanlab-agent" in shown.splitlines()
