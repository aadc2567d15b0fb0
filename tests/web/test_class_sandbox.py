"""Test which files a student's process may read and write, and how much it may store."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from wanlab.errors import RequirementError, WanlabError
from wanlab.machine.embedded import landlock_version
from wanlab.web.classroom.sandbox import check_separation, readable_folders
from wanlab.web.limits import FolderLimit

SCRIPT = """
import os, socket, subprocess, sys
from pathlib import Path
from wanlab.machine.embedded import find_image
from wanlab.web.classroom.sandbox import StudentSandbox
own, temporary, other, parent = sys.argv[1:5]
readable = tuple(map(Path, sys.argv[5].split(":")))
folders = Path(own), find_image().folder, Path(temporary), readable
StudentSandbox(*folders, nice=3, max_file_bytes=1 << 20, max_processes=500).enter()
for statement in sys.stdin:
    try:
        exec(statement)
    except OSError as error:
        print(type(error).__name__)
    else:
        print("done")
"""

REFUSED = [
    "open(f'{other}/secret').read()",
    "os.listdir(other)",
    "os.listdir(os.path.dirname(other))",
    "open(f'{own}/link').read()",
    "open(f'{own}/up/Bob/secret').read()",
    "open(f'{other}/new', 'w')",
    "os.rename(f'{other}/secret', f'{own}/mine')",
    "os.link(f'{other}/secret', f'{own}/mine')",
    "os.unlink(f'{other}/secret')",
    "open(f'/proc/{parent}/environ').read()",
    "open(f'/proc/{parent}/root{other}/secret').read()",
    "open(f'/proc/{parent}/cwd/secret').read()",
    "open(f'/proc/{parent}/mem', 'rb')",
    "os.kill(int(parent), 0)",
    "open(os.path.expanduser('~/.bashrc')).read()",
    "open('/dev/shm/wanlab-test', 'w')",
    "open('/tmp/wanlab-test', 'w')",
    "socket.create_connection(('127.0.0.1', 9))",
    "socket.create_server(('127.0.0.1', 0))",
    "os.nice(-1)",
    "os.mknod(f'{own}/disk', 0o60666, os.makedev(254, 0))",
    "os.setuid(1)",
    "os.chroot(own)",
]
ALLOWED = [
    "open(f'{own}/mine', 'w').write('x')",
    "open(f'{temporary}/x', 'w').write('x')",
    "open('/usr/bin/env', 'rb').read()",
    "open('/dev/null', 'w').write('x')",
    "import wanlab.plot",
    "import resource; assert resource.getrlimit(resource.RLIMIT_NPROC) == (500, 500)",
    "subprocess.run(['ping', '-V'], check=True, stdout=subprocess.DEVNULL)",
    "assert set(subprocess.check_output(['grep', 'CapEff', '/proc/self/status'])[8:-1]) <= {48}",
]

READABLE = readable_folders()
needs_landlock = pytest.mark.skipif(not landlock_version(), reason="no Landlock here")


@needs_landlock
def test_a_students_process_reaches_its_own_folder_only(tmp_path: Path) -> None:
    own, other, temporary = (tmp_path / name for name in ("Ada", "Bob", "memory"))
    for folder in (own, other, temporary):
        folder.mkdir()
    (other / "secret").write_text("unchanged")
    (own / "link").symlink_to(other / "secret")
    (own / "up").symlink_to(tmp_path)
    readable = ":".join(map(str, READABLE))
    statements = [*REFUSED, *ALLOWED]
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, own, temporary, other, str(os.getpid()), readable],
        input="\n".join(statements),
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        cwd=other,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[2] / "src")},
    )
    results = dict(zip(statements, done.stdout.split(), strict=True))
    assert [it for it in REFUSED if results[it] == "done"] == []
    assert [it for it in ALLOWED if results[it] != "done"] == []
    assert [path.name for path in other.iterdir()] == ["secret"]
    assert (other / "secret").read_text() == "unchanged"


@needs_landlock
@pytest.mark.parametrize("folder", ["/usr/share/class", "/etc/class", sys.prefix, "/dev/shm/class"])
def test_a_class_folder_in_a_readable_place_is_refused(folder: str) -> None:
    with pytest.raises(RequirementError, match="which all students can read"):
        check_separation(Path(folder), READABLE)


def test_a_folder_above_its_limit_may_only_shrink(tmp_path: Path) -> None:
    limit = FolderLimit(tmp_path, 256 << 10)
    assert not limit.is_exceeded()
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "large").write_bytes(b"x" * (512 << 10))
    assert limit.is_exceeded()
    # The network was stopped after the first report; another one may run and delete files.
    assert not limit.is_exceeded()
    (tmp_path / "more").write_bytes(b"x" * (64 << 10))
    assert limit.is_exceeded()
    (tmp_path / "deep" / "large").unlink()
    assert not limit.is_exceeded()
    (tmp_path / "large").write_bytes(b"x" * (256 << 10))
    assert limit.is_exceeded()


def test_an_upload_that_does_not_fit_is_refused(tmp_path: Path) -> None:
    limit = FolderLimit(tmp_path, 1 << 20)
    limit.check(1 << 19)
    with pytest.raises(WanlabError, match=r"holds [\d.]+ MB, and the limit is 1\.0 MB"):
        limit.check(2 << 20)


def test_a_link_is_not_followed_when_the_folder_is_measured(tmp_path: Path) -> None:
    own, other = tmp_path / "own", tmp_path / "other"
    own.mkdir()
    other.mkdir()
    (other / "large").write_bytes(b"x" * (1 << 20))
    (own / "link").symlink_to(other)
    assert not FolderLimit(own, 64 << 10).is_exceeded()
