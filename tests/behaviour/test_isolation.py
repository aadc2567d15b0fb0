"""Nothing in a machine changes the computer: tried from a node, where everybody is root."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from wanlab import Host, Network, Topology
from wanlab.errors import CommandError

pytestmark = pytest.mark.machine

TOPOLOGY = Topology(nodes=(Host("h1"),))


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """A folder of the user's that is not the working folder, with one file."""
    folder = tmp_path / "outside"
    folder.mkdir()
    (folder / "there").write_text("unchanged")
    (tmp_path / "work").mkdir()
    return folder


@pytest.mark.parametrize(
    "command",
    [
        "mkdir -p /mnt/h && mount -t hostfs none /mnt/h -o {outside} && echo x > /mnt/h/new",
        "mkdir -p /mnt/h && mount -t hostfs none /mnt/h -o /proc && ls /mnt/h/{pid}/mem",
        "unshare -m mount -t hostfs none /mnt",
        "nsenter -t 1 -m mount -t hostfs none /mnt",
        "mount -o remount,ro {work}",
        "echo 0 > /proc/sys/fs/hostfs_sealed",
        "mknod {work}/disk b 254 0",
        "mknod {work}/device c 1 3",
        "cp /bin/true {work}/p && chmod u+s {work}/p",
        "cp /bin/true {work}/p && chmod g+s {work}/p",
    ],
)
def test_a_node_is_refused(outside: Path, tmp_path: Path, command: str) -> None:
    work = tmp_path / "work"
    with Network(TOPOLOGY, folder=work) as net, pytest.raises(CommandError):
        net["h1"].run(command.format(outside=outside, work=work, pid=os.getpid()), check=True)
    assert [path.name for path in outside.iterdir()] == ["there"]
    for path in work.iterdir():
        mode = path.stat().st_mode
        assert stat.S_ISREG(mode)
        assert not mode & (stat.S_ISUID | stat.S_ISGID)


def test_what_is_written_elsewhere_stays_in_memory(outside: Path, tmp_path: Path) -> None:
    """By path, through a link in the working folder, and by deleting."""
    (tmp_path / "work" / "link").symlink_to(outside)
    with Network(TOPOLOGY, folder=tmp_path / "work") as net:
        net["h1"].run(
            f"mkdir -p {outside}; echo x > {outside}/new; echo y > link/newer; rm -rf /etc",
            check=False,  # rm cannot open the folders that only root may read
        )
    assert [path.name for path in outside.iterdir()] == ["there"]
    assert (outside / "there").read_text() == "unchanged"
    assert Path("/etc/passwd").exists()


def test_the_working_folder_is_written_through(tmp_path: Path) -> None:
    with Network(TOPOLOGY, folder=tmp_path) as net:
        net["h1"].run("mkdir -p a b && echo data > a/f && mv a/f b/g && chmod 600 b/g && ln b/g c")
    assert (tmp_path / "b" / "g").read_text() == "data\n"
    assert stat.S_IMODE((tmp_path / "b" / "g").stat().st_mode) == 0o600
    assert (tmp_path / "c").stat().st_nlink == 2


def test_a_working_folder_may_have_any_name(tmp_path: Path) -> None:
    folder = tmp_path / "läb, 1 (über) 'quoted' %s"
    folder.mkdir()
    with Network(TOPOLOGY, folder=folder) as net:
        net["h1"].run("pwd > where; echo data > 'a, b'")
    assert (folder / "where").read_text() == f"{folder}\n"
    assert (folder / "a, b").read_text() == "data\n"
