"""The command line as such: help, version, wrong words, and what a start may load."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from wanlab.labs import catalog
from wanlab.version import VERSION

VERBS = ["exec", "plan", "doctor", "clean", "lab run", "lab list", "kernel build", "kernel info"]
# Each takes longer to load than the rest of a start together.
HEAVY = {"numpy", "pyarrow", "matplotlib", "pandas", "yaml", "rich", "wanlab.network"}


def test_without_a_word_it_says_which_there_are(wanlab: Any) -> None:
    ran = wanlab()
    assert ran.status == 2
    assert {"exec", "plan", "lab", "kernel"} <= set((ran.output.decode() + ran.errors).split())


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_has_help(wanlab: Any, verb: str) -> None:
    ran = wanlab(*verb.split(), "--help")
    assert (ran.status, ran.errors) == (0, "")
    assert ran.output.decode().lower().startswith("usage: ")
    assert max(map(len, ran.output.decode().splitlines())) <= 80


def test_the_version_is_printed(wanlab: Any) -> None:
    assert wanlab("--version").output.decode() == f"wanlab {VERSION}\n"


def test_a_verb_that_does_not_exist_is_wrong_usage(wanlab: Any) -> None:
    ran = wanlab("frobnicate")
    assert (ran.status, "No such command 'frobnicate'" in ran.errors) == (2, True)


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


def test_a_reader_of_a_plan_may_go_away(wanlab: Any) -> None:
    process = wanlab.start("plan", "single,300", stdin=subprocess.DEVNULL)
    process.stdout.close()
    process.stdout = None
    assert wanlab.end(process).errors == ""


@pytest.mark.parametrize("arguments", [["--help"], ["exec", "--help"], ["plan", "single,2"]])
def test_a_start_loads_nothing_that_it_does_not_need(arguments: list[str]) -> None:
    """`-X importtime` names what is loaded."""
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
