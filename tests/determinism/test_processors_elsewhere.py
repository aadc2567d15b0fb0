"""A session of nodes with processors has the same bytes on a slow, small or busy computer.

The conditions are those in which computers differ: how the kernel takes over system calls, how many
cores there are, what else they do, and whose processes they are.
"""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from machines import needs_another_mode, needs_the_kernel_itself, other_mode

from wanlab.machine.embedded import find_image

pytestmark = [pytest.mark.machine, needs_another_mode, needs_the_kernel_itself]

SCRIPT = Path(__file__).with_name("processor_session.py")
USER = "nobody"
LIMIT_S = 400
SPIN = [sys.executable, "-c", "while True: pass"]


def output_of(action: str, mode: str, folder: Path, **options: object) -> list[str]:
    done = subprocess.run(  # type: ignore[call-overload]
        [sys.executable, str(SCRIPT), action, mode, str(folder)],
        capture_output=True,
        text=True,
        check=False,
        timeout=LIMIT_S,
        **options,
    )
    assert done.returncode == 0, done.stderr
    return list(done.stdout.splitlines())


def replayed(recorded: Sequence[str]) -> list[str]:
    """Return what a replay prints: all but the digest of the record."""
    assert recorded[-1].startswith("record ")
    return list(recorded[:-1])


@contextmanager
def busy() -> Iterator[None]:
    """Keep each core busy with two programs."""
    with ExitStack() as stack:
        for _ in range(2 * len(os.sched_getaffinity(0))):
            spinner = stack.enter_context(subprocess.Popen(SPIN))
            stack.callback(spinner.kill)
        yield


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("recorded")


@pytest.fixture(scope="module")
def recorded(folder: Path) -> list[str]:
    return output_of("record", other_mode(), folder)


def test_processors_do_what_the_session_is_for(recorded: Sequence[str]) -> None:
    text = "\n".join(recorded)
    assert "20 packets transmitted, 20 received" in text
    assert "200 packets transmitted, 200 received" in text
    assert "receiver" in text
    assert text.count("idle_exit") == 2  # the tables of two processors


@pytest.mark.parametrize("is_busy", [False, True], ids=["idle", "busy"])
def test_a_replay_on_one_core_in_another_mode_is_equal(
    folder: Path, recorded: Sequence[str], is_busy: bool
) -> None:
    core = min(os.sched_getaffinity(0))
    with ExitStack() as stack:
        if is_busy:
            stack.enter_context(busy())
        output = output_of(
            "replay", "ptrace", folder, preexec_fn=lambda: os.sched_setaffinity(0, {core})
        )
    assert output == replayed(recorded)


def test_a_second_run_on_a_busy_computer_leaves_the_same_record(
    tmp_path: Path, recorded: Sequence[str]
) -> None:
    with busy():
        assert output_of("record", other_mode(), tmp_path) == recorded


@pytest.mark.long
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_another_user_replays_the_same(folder: Path, recorded: Sequence[str]) -> None:
    with tempfile.TemporaryDirectory(prefix="wanlab-test-") as name:
        theirs = Path(name)
        theirs.chmod(0o755)
        shutil.copytree(find_image().folder, theirs / "image")
        home = theirs / "home"
        home.mkdir()
        shutil.copy(folder / "s.wanlab", home)
        for path in (home, home / "s.wanlab"):
            os.chown(path, pwd.getpwnam(USER).pw_uid, -1)
        environment = {
            **os.environ,
            "WANLAB_KERNEL": str(theirs / "image"),
            "HOME": str(home),
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        output = output_of(
            "replay", "ptrace", home, user=USER, extra_groups=[], cwd=home, env=environment
        )
    assert output == replayed(recorded)
