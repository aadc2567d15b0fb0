"""The mode in which the kernel takes over system calls changes no byte of what programs see."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from difflib import unified_diff
from pathlib import Path

import pytest
from machines import needs_another_mode, needs_the_kernel_itself, other_mode
from mode_experiments import EXPERIMENTS, output_in

from wanlab import Network, shapes
from wanlab.cli import sweeps
from wanlab.machine.embedded import find_image

pytestmark = [pytest.mark.machine, needs_another_mode, needs_the_kernel_itself]

MODES = ("ptrace", other_mode())
USER = "nobody"


def _marked(name: str) -> object:
    experiment = EXPERIMENTS[name]
    marks = [pytest.mark.long] if experiment.is_long else []
    if experiment.needs:
        is_missing = shutil.which(experiment.needs) is None
        marks.append(pytest.mark.skipif(is_missing, reason=f"no {experiment.needs} here"))
    return pytest.param(name, marks=marks)


def different_lines(first: str, second: str) -> list[str]:
    return list(unified_diff(first.splitlines(), second.splitlines(), lineterm="", n=0))


@pytest.mark.parametrize("name", [_marked(name) for name in EXPERIMENTS])
def test_an_experiment_leaves_the_same_bytes_in_all_modes(name: str, tmp_path: Path) -> None:
    first, second = (output_in(mode, name, tmp_path / "work") for mode in MODES)
    assert different_lines(first, second) == []


@pytest.fixture(scope="module")
def readable() -> Iterator[Path]:
    """A folder of the user, with a copy of the kernel that the user can read."""
    with tempfile.TemporaryDirectory(prefix="wanlab-test-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        shutil.copytree(find_image().folder, folder / "image")
        (folder / "home").mkdir()
        os.chown(folder / "home", pwd.getpwnam(USER).pw_uid, -1)
        yield folder


@pytest.mark.long
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
@pytest.mark.parametrize("name", [_marked(name) for name in EXPERIMENTS])
def test_an_experiment_of_a_user_leaves_the_same_bytes_in_all_modes(
    name: str, readable: Path
) -> None:
    script = Path(__file__).with_name("mode_experiments.py")
    first, second = (
        subprocess.run(
            [sys.executable, str(script), mode, str(readable / "home"), name],
            user=USER,
            extra_groups=[],
            cwd=readable / "home",
            env={
                **os.environ,
                "WANLAB_KERNEL": str(readable / "image"),
                "HOME": str(readable / "home"),
                "PYTHONDONTWRITEBYTECODE": "1",
            },
            capture_output=True,
            check=True,
            text=True,
        ).stdout
        for mode in MODES
    )
    assert "\nrecord " in first
    assert different_lines(first, second) == []


@pytest.mark.parametrize("modes", [MODES, MODES[::-1]], ids=lambda modes: modes[0])
def test_a_session_of_one_mode_replays_in_the_other(modes: tuple[str, str], tmp_path: Path) -> None:
    session = tmp_path / "session.wanlab"
    folder = tmp_path / "work"
    folder.mkdir()
    with Network(
        shapes.dumbbell(1, loss="2%"), folder=folder, session=session, traps=modes[0]
    ) as net:
        shell = net["h1"].start(["sh"], stdin=True)
        shell.write(
            "ping -c 30 -i 0.02 h2\nhead -1 /proc/meminfo; cat /proc/uptime; ps -e -o pid,args\n"
        )
        net.run_for("2s")
        net.set_link("s1", "s2", delay="7ms")
        shell.write("head -c 20 /dev/urandom | od; echo end > file; exit\n")
        shell.wait()
    with Network.replay(session, traps=modes[1]) as again:
        assert again.machine.traits.traps == modes[1]
        assert again.session.difference is None
        assert again.session.processes[0].output == shell.output


EXPERIMENT = """
from wanlab import Run, experiment, shapes

@experiment
def pings(run: Run, *, leak: bool = False) -> None:
    with run.network(shapes.minimal()) as net:
        run.keep("ping.txt", net["h1"].run("ping -c 3 h2").output.encode())
        run.keep("mode.txt", (net.options.traps if leak else "").encode())
    run.metric("received", 3)
"""


def test_a_run_is_compared_in_both_modes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "pings.py").write_text(EXPERIMENT)

    def compare(*values: str) -> int:
        return sweeps.run(
            str(tmp_path / "pings.py"),
            values=values,
            seed=1,
            output=None,
            no_cache=True,
            here=False,
            compares_traps=True,
            as_json=False,
        )

    assert compare() == 0
    assert capsys.readouterr().out.startswith(f"equal in ptrace and {other_mode()} mode: digest ")
    assert compare("leak=true") == 1
    first, last = capsys.readouterr().out.splitlines()
    assert first == f"output mode.txt: line 1: 'ptrace' and '{other_mode()}'"
    assert last.startswith("different in ptrace (")
