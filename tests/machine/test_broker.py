"""Test that the process which changes files withstands whatever a hostile kernel asks it for."""

from __future__ import annotations

import os
import random
import socket
import struct
from collections.abc import Iterator
from pathlib import Path

import pytest

from wanlab.machine.embedded import find_image
from wanlab.machine.embedded.broker import Broker

pytestmark = pytest.mark.machine

REQUEST = struct.Struct("<IIIII4xQqqqq")
OPEN, OPERATIONS, FLAGS = 0, 9, 0o103
"""The first operation, how many there are, and O_ACCMODE with O_CREAT."""
MAX_PACKET_BYTES = 20_000
PARTS = [
    b"a",
    b"b",
    b"..",
    b".",
    b"/",
    b"",
    b"d",
    b"d/e",
    b"\n",
    b"\xff\xfe",
    b"n" * 255,
    b"d/" * 3000,
    b"out",
    b"up",
    b"root/etc",
    b"devices",
    b"process/root",
    b"fifo",
    b"privileged",
    b"x\0y",
]


@pytest.fixture
def folders(tmp_path: Path) -> tuple[Path, Path]:
    """Make a folder with a file, and a working folder from which links lead everywhere."""
    outside, work = tmp_path / "outside", tmp_path / "work"
    outside.mkdir()
    (outside / "a").write_text("unchanged")
    (work / "d/e").mkdir(parents=True)
    links = {
        "out": str(outside),
        "up": "..",
        "root": "/",
        "devices": "/dev",
        "process": "/proc/self",
    }
    for name, target in links.items():
        (work / name).symlink_to(target)
    os.mkfifo(work / "fifo")
    (work / "privileged").touch(mode=0o755)
    (work / "privileged").chmod(0o4755)
    for path in (outside / "a", outside):
        os.utime(path, (1_600_000_000, 1_600_000_000))
    return outside, work


@pytest.fixture
def kernel_end(folders: tuple[Path, Path]) -> Iterator[socket.socket]:
    null = os.open(os.devnull, os.O_WRONLY)
    broker = Broker(find_image().program, folders[1], min(os.sched_getaffinity(0)), null)
    os.close(null)
    broker.kernel_end.settimeout(60)
    yield broker.kernel_end
    broker.close()


def state(folder: Path) -> dict[str, tuple[object, ...]]:
    statuses = {path: path.lstat() for path in (folder, *folder.rglob("*"))}
    return {
        str(path): (each.st_mode, each.st_uid, each.st_gid, each.st_size, each.st_mtime_ns)
        for path, each in statuses.items()
    }


def random_request(rng: random.Random) -> bytes:
    """Return a request that is mostly well formed, with paths that go wrong in many ways."""
    fields = [rng.getrandbits(32) for _ in range(5)]
    fields[0] = rng.randrange(OPERATIONS) if rng.random() < 0.95 else fields[0]
    fields[1] &= FLAGS if rng.random() < 0.5 else 0xFFFFFFFF
    fields[3:5] = (os.getuid(), os.getgid()) if rng.random() < 0.9 else fields[3:5]
    times = [rng.randrange(1000) for _ in range(4)]
    paths = b"".join(
        rng.choice(PARTS) + rng.choice([b"/", b"/", b"\0"]) for _ in range(rng.randrange(6))
    )
    packet = REQUEST.pack(*fields, rng.randrange(1 << 20), *times) + paths
    if rng.random() < 0.05:
        packet = packet[: rng.randrange(1, len(packet))]
    return (packet + rng.choice([b"", b"\0", b"\0"]))[:MAX_PACKET_BYTES]


def target(control: list[tuple[int, int, bytes]]) -> Path | None:
    """Return the file of a descriptor that came along, which is closed."""
    for _, _, data in control:
        (descriptor,) = struct.unpack("i", data)
        path = Path(f"/proc/self/fd/{descriptor}").readlink()
        os.close(descriptor)
        return path
    return None


def test_no_request_leads_out_of_the_folder(
    folders: tuple[Path, Path], kernel_end: socket.socket
) -> None:
    outside, work = folders
    before = state(outside)
    rng = random.Random(40)
    results = []
    for _ in range(3000):
        kernel_end.send(random_request(rng))
        reply, control, _, _ = kernel_end.recvmsg(16, 64)
        results.append(struct.unpack("i", reply)[0])
        opened = target(control)
        assert opened is None or opened.is_relative_to(work), opened
    assert state(outside) == before
    assert (outside / "a").read_text() == "unchanged"
    assert max(results) == 0
    assert results.count(0) > 50, "some requests are performed"
    new = [path for path in work.rglob("*") if path.name != "privileged" and path.is_file()]
    assert [path for path in new if path.lstat().st_mode & 0o6000] == []
