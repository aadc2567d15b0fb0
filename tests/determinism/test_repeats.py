"""The same topology, program and seed give the same bytes, whatever else the computer does."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import pytest

from wanlab import Network, shapes
from wanlab.errors import RequirementError
from wanlab.machine.embedded import find_image
from wanlab.web.classroom.sandbox import check_readable, needed_folders

pytestmark = pytest.mark.machine

PROGRAM = Path(__file__).parent / "experiment.py"


def run(
    seed: int = 1, folder: Path | None = None, user: int | None = None, **environment: str
) -> bytes:
    """Run the experiment in a new process; return its output.

    Another user may open at most 1,024 files, as Debian's users do.
    """
    paths = os.pathsep.join(sys.path)
    limit = [] if user is None else ["sh", "-c", 'ulimit -n 1024; exec "$@"', "sh"]
    folders = [] if folder is None else [str(folder)]
    done = subprocess.run(
        [*limit, sys.executable, str(PROGRAM), str(seed), *folders],
        env={**os.environ, "PYTHONPATH": paths, **environment},
        capture_output=True,
        check=False,
        user=user,
        group=user,
        extra_groups=None if user is None else [],
    )
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout


@cache
def first_run() -> bytes:
    return run()


@contextmanager
def on_cpu(cpu: int) -> Iterator[None]:
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {cpu})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


@contextmanager
def under_load() -> Iterator[None]:
    busy = [
        subprocess.Popen([sys.executable, "-c", "while True: pass"])
        for _ in os.sched_getaffinity(0)
    ]
    try:
        yield
    finally:
        for process in busy:
            process.kill()
            process.wait()


def parts(output: bytes) -> dict[bytes, bytes]:
    """Split the output by program, using the line above each program's output."""
    found = output.split(b"\n=== ")[1:]
    return dict(part.split(b"\n", 1) for part in found)


def assert_same(output: bytes, expected: bytes | None = None) -> None:
    expected = first_run() if expected is None else expected
    one, other = parts(expected), parts(output)
    assert [name for name in one if one[name] != other[name]] == []
    assert output == expected


def test_the_same_seed_gives_the_same_bytes() -> None:
    assert_same(run())


@pytest.mark.long
@pytest.mark.parametrize("cpu", sorted(os.sched_getaffinity(0))[:2])
def test_any_cpu_gives_the_same_bytes(cpu: int) -> None:
    with on_cpu(cpu):
        assert_same(run())


@pytest.mark.long
def test_other_load_changes_nothing() -> None:
    with under_load():
        assert_same(run())


@pytest.mark.long
def test_our_own_environment_changes_nothing() -> None:
    assert_same(run(PYTHONHASHSEED="12345", LANG="de_DE.UTF-8", TZ="Asia/Tokyo"))


@pytest.mark.long
@pytest.mark.skipif(os.getuid() != 0, reason="only root can start processes of other users")
def test_another_user_gets_the_same_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    nobody = pwd.getpwnam("nobody")
    with tempfile.TemporaryDirectory(dir="/var/tmp") as place:
        Path(place).chmod(0o777)
        # Root's own kernel is in root's home folder, which others cannot read.
        kernel = str(shutil.copytree(find_image().folder, Path(place, "kernel")))
        monkeypatch.setenv("WANLAB_KERNEL", kernel)
        try:
            check_readable("nobody", [PROGRAM.parent, *needed_folders()])
        except RequirementError as error:
            pytest.skip(str(error))
        folder = Path(place, "work")
        of_root = run(folder=folder)
        shutil.rmtree(folder)
        of_nobody = run(folder=folder, user=nobody.pw_uid, HOME=f"{place}/home", USER="nobody")
    assert_same(of_nobody, of_root)


def test_installation_paths_change_no_random_number(tmp_path: Path) -> None:
    """A machine makes the parents of its working folder, in memory, before it has a network."""

    def instants(folder: Path) -> str:
        folder.mkdir(parents=True)
        with Network(shapes.single(3), seed=1, folder=folder) as net:
            return net.root.run("timeout 20 tcpdump -i s1-eth2 -nn -tt -l ip6", check=False).output

    seen = instants(tmp_path / "a")
    assert seen.count("router solicitation") >= 3
    assert instants(tmp_path / "a" / "long" / "way" / "down") == seen


@pytest.mark.long
def test_another_seed_gives_other_random_numbers() -> None:
    one, other = parts(first_run()), parts(run(seed=2))
    differing = {name for name in one if one[name] != other[name]}
    assert differing >= {b"urandom", b"losses", b"ports", b"addresses"}
