"""Usage lines, and messages about files that cannot be read."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from handbook.command_reference import commands

from wanlab.machine_options import MACHINE_OPTIONS


def _wanlab(*words: str) -> tuple[str, str]:
    done = subprocess.run(
        [sys.executable, "-m", "wanlab.cli", *words], capture_output=True, text=True, check=False
    )
    return done.stdout, done.stderr


@pytest.mark.parametrize(
    ("command", "usage"),
    [
        ("exec", "wanlab exec [OPTIONS] [--] COMMAND..."),
        ("capture", "wanlab capture [OPTIONS] [FILTER] [-- COMMAND]"),
        ("python", "wanlab python [OPTIONS] [SCRIPT [ARGUMENTS]]"),
        ("lab check", "wanlab lab check [OPTIONS] UNIT"),
        ("reproduce run", "wanlab reproduce run [OPTIONS] NAME..."),
    ],
)
def test_usage_is_written_as_in_man_pages(command: str, usage: str) -> None:
    shown, _ = _wanlab(*command.split(), "--help")
    assert shown.splitlines()[0] == f"Usage: {usage}"


def test_options_of_the_machine_are_called_the_same_in_every_command() -> None:
    found = set()
    for words, command in commands().items():
        for option in command.params:
            name = option.opts[0].removeprefix("--")
            if name in MACHINE_OPTIONS:
                found.add(words.split()[0])
                assert option.metavar == MACHINE_OPTIONS[name].metavar, words
    assert {"exec", "capture", "lab", "run", "sweep", "web"} <= found


@pytest.mark.parametrize("command", ["lab run 6", "lab start 6", "lab check 6", "web"])
def test_an_unknown_processor_is_named_with_the_likely_one(command: str) -> None:
    _, problem = _wanlab(*command.split(), "--cpu", "server-2091")
    assert problem == 'wanlab: there is no processor "server-2091" (did you mean server-2019?)\n'


def test_help_of_python_has_every_option_of_the_machine() -> None:
    shown, _ = _wanlab("python", "--help")
    for name, option in MACHINE_OPTIONS.items():
        assert f"--{name} {option.metavar}" in shown


def test_a_missing_file_is_named_once_and_without_error_numbers(tmp_path: Path) -> None:
    missing = tmp_path / "students.csv"
    _, problem = _wanlab("lab", "grade", str(tmp_path), "--seeds", str(missing))
    assert problem == f"wanlab: cannot read {missing}: No such file or directory\n"


def test_a_missing_topology_file_is_not_called_a_shape() -> None:
    _, problem = _wanlab("plan", "topology.yamll")
    assert problem.startswith("wanlab: topology.yamll is not in a known topology format")
