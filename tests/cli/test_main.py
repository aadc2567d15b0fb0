"""Test the command line as a whole: help, version, wrong words, and the imports of a start."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from wanlab.cli.app import app
from wanlab.cli.usage import GROUPS
from wanlab.labs import catalog
from wanlab.version import VERSION

VERBS = ["exec", "plan", "doctor", "clean", "lab run", "lab list", "kernel build", "kernel info"]
# Each of these takes longer to load than all other imports of a start together.
HEAVY = {"numpy", "pyarrow", "matplotlib", "pandas", "yaml", "rich", "wanlab.network"}


def test_without_a_command_all_commands_are_listed(wanlab: Any) -> None:
    ran = wanlab()
    assert ran.status == 2
    assert {"exec", "plan", "lab", "kernel"} <= set((ran.output.decode() + ran.errors).split())


@pytest.mark.parametrize("verb", VERBS)
def test_every_command_has_help(wanlab: Any, verb: str) -> None:
    ran = wanlab(*verb.split(), "--help")
    assert (ran.status, ran.errors) == (0, "")
    assert ran.output.decode().lower().startswith(f"usage: wanlab {verb} ")
    assert max(map(len, ran.output.decode().splitlines())) <= 80


@pytest.mark.parametrize("group", ["", "lab", "kernel", "reproduce"])
def test_no_summary_of_a_command_is_truncated(wanlab: Any, group: str) -> None:
    lines = wanlab(*group.split(), "--help").output.decode().splitlines()
    commands = lines[lines.index("Commands:" if group else "Networks:") + 1 :]
    assert [line for line in commands if line.endswith("...")] == []


def test_the_version_is_printed(wanlab: Any) -> None:
    assert wanlab("--version").output.decode() == f"wanlab {VERSION}\n"


def test_an_unknown_command_is_a_usage_error(wanlab: Any) -> None:
    ran = wanlab("frobnicate")
    assert (ran.status, "No such command 'frobnicate'" in ran.errors) == (2, True)


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        (["labs"], "Did you mean 'lab'?"),
        (["lab", "shwo", "6"], "Did you mean 'show'?"),
        (["plan", "--wre", "mtu", "single,2"], "--wire"),
        (["exec", "--tpo", "single,2", "--", "ls"], "no option --tpo (did you mean --topo?)"),
        (["exec", "--memry", "1GB", "--", "ls"], "no option --memry (did you mean --memory?)"),
        (["exec", "--clock", "slow", "--", "ls"], "--clock slow: unknown value"),
        (["lab", "run", "6", "--traps", "fast"], "--traps fast: unknown value"),
        (["python", "--sed", "3", "x.py"], "no option --sed (did you mean --seed?)"),
        (["mn", "--tpo", "single,2"], "no such option: --tpo (did you mean --topo?)"),
    ],
)
def test_the_error_for_a_mistyped_word_suggests_the_nearest_one(
    wanlab: Any, words: list[str], meant: str
) -> None:
    ran = wanlab(*words)
    assert ran.status in (1, 2)
    assert meant in ran.errors


def test_help_and_version_are_commands_too(wanlab: Any) -> None:
    assert wanlab("help").output == wanlab("--help").output
    assert wanlab("help", "lab", "run").output == wanlab("lab", "run", "--help").output
    assert wanlab("version").output == wanlab("--version").output
    assert wanlab("help", "lab", "rnu").status == 2


def test_labs_are_listed(wanlab: Any) -> None:
    lines = wanlab("lab", "list").output.decode().splitlines()
    names = [line.split()[0] for line in lines]
    assert "14" in names
    assert names == [name for name in catalog.ORDER if name in names]
    assert set(names) == {*catalog.names()}


def test_a_plan_is_a_script_for_a_shell(wanlab: Any) -> None:
    ran = wanlab("plan", "single,2")
    checked = subprocess.run(["sh", "-n"], input=ran.output, check=False)
    assert (ran.status, checked.returncode) == (0, 0)
    assert b"ip netns add h1" in ran.output


@pytest.mark.parametrize(
    "command", ["plan single,300", "lab list --json", "lab list", "--help", "mn --help", "version"]
)
def test_a_closed_pipe_is_no_error(wanlab: Any, command: str) -> None:
    process = wanlab.start(*command.split(), stdin=subprocess.DEVNULL)
    process.stdout.close()
    process.stdout = None
    assert wanlab.end(process).errors == ""


@pytest.mark.machine
def test_a_closed_pipe_is_no_error_of_a_kernel_command(wanlab: Any) -> None:
    process = wanlab.start("kernel", "info", stdin=subprocess.DEVNULL)
    process.stdout.close()
    process.stdout = None
    ran = wanlab.end(process)
    assert (ran.status, ran.errors) == (141, "")


def test_a_killed_kernel_command_leaves_no_builder_and_no_compiler(wanlab: Any) -> None:
    os.mkfifo(wanlab.folder / "started")
    (wanlab.folder / "gcc").write_text("#!/bin/sh\necho >started\nexec sleep 60\n")
    (wanlab.folder / "gcc").chmod(0o755)
    path = f"{wanlab.folder}:{os.environ['PATH']}"
    process = wanlab.start("kernel", "list", environment={"PATH": path})
    assert (wanlab.folder / "started").read_text() == "\n"
    process.kill()
    assert wanlab.end(process).left_behind == []


IN_A_DELETED_FOLDER = ["sh", "-c", 'mkdir gone; cd gone; rmdir ../gone; exec "$@"', "sh"]
WITHOUT_PROC = ["unshare", "-rm", "sh", "-c", 'mount -t tmpfs none /proc; exec "$@"', "sh"]


@pytest.mark.parametrize(
    "command", ["web --no-browser", "sweep x.py", "run x.py", "python x.py", "lab start 3"]
)
def test_a_deleted_folder_is_reported(wanlab: Any, command: str) -> None:
    ran = wanlab(*command.split(), before=IN_A_DELETED_FOLDER)
    text = "wanlab: the current folder no longer exists (change to another one)\n"
    assert (ran.status, ran.errors) == (1, text)


def test_a_missing_proc_is_reported(wanlab: Any) -> None:
    if subprocess.run([*WITHOUT_PROC, "true"], capture_output=True, check=False).returncode:
        pytest.skip("namespaces are not allowed here")
    ran = wanlab("clean", before=WITHOUT_PROC)
    text = "wanlab: this computer has no /proc here (mount it: mount -t proc proc /proc)\n"
    assert (ran.status, ran.errors) == (1, text)


@pytest.mark.parametrize("arguments", [["--help"], ["exec", "--help"], ["plan", "single,2"]])
def test_a_start_imports_only_modules_that_it_needs(arguments: list[str]) -> None:
    """`-X importtime` lists the modules that are loaded."""
    program = (
        f"import sys; sys.argv = ['wanlab', *{arguments}]; from wanlab.cli import main; main()"
    )
    ran = subprocess.run(
        [sys.executable, "-X", "importtime", "-c", program],
        env={"PYTHONPATH": ":".join(sys.path)},
        capture_output=True,
        text=True,
        check=True,
    )
    loaded = {line.rpartition("|")[2].strip() for line in ran.stderr.splitlines()}
    assert loaded & HEAVY == set()


INTERRUPTED_IMPORT = """
import os, signal, sys

class Interrupts:
    def find_spec(self, name, path=None, target=None):
        if name == INTERRUPTED:
            sys.meta_path.remove(self)
            os.kill(os.getpid(), signal.SIGINT)

INTERRUPTED, *sys.argv = sys.argv[1:]
sys.meta_path.insert(0, Interrupts())
from wanlab.cli import main
main()
print("not interrupted")
"""
# A module of each phase: wanlab itself, the command line's library, the command, its imports.
IMPORTED = {
    "plan single,2": ["wanlab.cli.program", "typer", "wanlab.cli.app", "wanlab.topology.model"],
    "mn --version": ["wanlab.mininet.options"],
}


@pytest.mark.parametrize(
    ("arguments", "module"),
    [(arguments, module) for arguments, modules in IMPORTED.items() for module in modules],
)
def test_ctrl_c_during_any_import_ends_it_without_a_traceback(arguments: str, module: str) -> None:
    ran = subprocess.run(
        [sys.executable, "-c", INTERRUPTED_IMPORT, module, "wanlab", *arguments.split()],
        env={"PYTHONPATH": ":".join(sys.path)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    # A shell reports 130 in both cases.
    assert ran.returncode in (130, -signal.SIGINT)
    assert ran.stderr in ("", "wanlab: interrupted\n")


def test_a_ctrl_c_that_is_blocked_while_python_starts_takes_effect_later() -> None:
    """`env --block-signal=INT wanlab` does this: a signal is pending when Python starts."""
    program = """
import os, signal, sys
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
os.kill(os.getpid(), signal.SIGINT)
os.execv(sys.executable, [sys.executable, "-m", "wanlab.cli", "version"])
"""
    ran = subprocess.run(
        [sys.executable, "-c", program],
        env={"PYTHONPATH": ":".join(sys.path)},
        capture_output=True,
        check=False,
    )
    assert (ran.returncode, ran.stdout, ran.stderr) == (-signal.SIGINT, b"", b"")


IGNORES_EXCEPTIONS = """
import os, signal, time
from wanlab.cli.signals import EndedBySignal, raise_on_signals

class Ignores:
    def __del__(self):
        # Python prints an exception from here, and goes on.
        os.kill(os.getpid(), signal.SIGTERM)

raise_on_signals()
try:
    Ignores()
    time.sleep(60)
except EndedBySignal as ended:
    print(ended.exit_status)
"""


def test_a_signal_is_not_lost_where_exceptions_are_ignored() -> None:
    ran = subprocess.run(
        [sys.executable, "-c", IGNORES_EXCEPTIONS],
        env={"PYTHONPATH": ":".join(sys.path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ran.stdout, ran.stderr) == ("143\n", "")


HIDES_EXCEPTIONS = """
import os, signal

class Named:
    def __set_name__(self, owner, name):
        # Python calls an exception from here a RuntimeError.
        os.kill(os.getpid(), signal.SIGINT)

class Owner:
    named = Named()
"""
IMPORTS_IT = """
import time
from wanlab.cli.signals import EndedBySignal, raise_on_signals
raise_on_signals()
try:
    import hides_exceptions
    time.sleep(60)
except EndedBySignal as ended:
    print(ended.exit_status)
"""


def test_an_import_cannot_hide_ctrl_c(tmp_path: Path) -> None:
    (tmp_path / "hides_exceptions.py").write_text(HIDES_EXCEPTIONS)
    ran = subprocess.run(
        [sys.executable, "-c", IMPORTS_IT],
        env={"PYTHONPATH": ":".join([*sys.path, str(tmp_path)])},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ran.stdout, ran.stderr) == ("130\n", "")


def test_ctrl_c_waits_for_an_import_that_a_busy_computer_delays(tmp_path: Path) -> None:
    """An exception inside a class body of the module would become an error of the import."""
    module = "import os, signal, time\nos.kill(os.getpid(), signal.SIGINT)\ntime.sleep(1.5)\n"
    (tmp_path / "hides_exceptions.py").write_text(f"{module}print('imported', flush=True)\n")
    ran = subprocess.run(
        [sys.executable, "-c", IMPORTS_IT],
        env={"PYTHONPATH": ":".join([*sys.path, str(tmp_path)])},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ran.stdout, ran.stderr) == ("imported\n130\n", "")


def test_every_command_is_in_one_group_of_the_help(wanlab: Any) -> None:
    words = [name for names in GROUPS.values() for name in names]
    assert len(words) == len(set(words))
    assert set(words) == set(vars(get_command(app))["commands"])
    lines = wanlab("--help").output.decode().splitlines()
    assert [line[:-1] for line in lines if line[:-1] in GROUPS] == [*GROUPS]
