"""Test that wanlab starts Python without code from the current folder.

The current folder is often the working folder of a network, in which programs can leave anything.
"""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[1] / "src" / "wanlab"
INSIDE = {"cli/inside.py", "labs/prompt.py"}
"""These commands run in a machine."""
SAFE = {"-P", "-I"}
"""Both keep the current folder out of the module path; a script's folder replaces it."""


def careless(source: str) -> bool:
    """Whether a program starts Python with a module or a text, and with the current folder."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.List | ast.Tuple):
            elements = node.elts
        elif isinstance(node, ast.Call):
            elements = node.args
        else:
            continue
        words = {word.value for word in elements if isinstance(word, ast.Constant)}
        is_python = any(ast.unparse(element) == "sys.executable" for element in elements)
        if ("-m" in words or (is_python and "-c" in words)) and not words & SAFE:
            return True
    return False


def test_every_python_is_started_without_them() -> None:
    found = {
        str(path.relative_to(PACKAGE))
        for path in PACKAGE.rglob("*.py")
        if careless(path.read_text(encoding="utf-8"))
    }
    assert found - INSIDE == set()


@pytest.mark.parametrize(
    ("source", "is_careless"),
    [
        ("start([sys.executable, '-m', 'wanlab.cli'])", True),
        ("start([sys.executable, '-c', 'import json'])", True),
        ("start([sys.executable, '-P', '-c', 'import json'])", False),
        ("start([sys.executable, '-I', '-m', 'wanlab.cli'])", False),
        ("start(['sh', '-c', 'true'])", False),
    ],
)
def test_a_careless_start_is_found(source: str, is_careless: bool) -> None:
    assert careless(source) is is_careless


def test_the_kernels_recipe_imports_nothing_from_the_current_folder(tmp_path: Path) -> None:
    for name in ("json.py", "signal.py", "pathlib.py"):
        (tmp_path / name).write_text("open('taken', 'w').close(); raise SystemExit(9)\n")
    done = subprocess.run(
        [sys.executable, "-P", "-m", "wanlab.cli", "kernel", "list"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(PACKAGE.parent)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert not (tmp_path / "taken").exists()


def test_processes_of_a_class_import_nothing_from_the_current_folder(tmp_path: Path) -> None:
    for name in ("signal.py", "socket.py", "multiprocessing.py"):
        (tmp_path / name).write_text("open('taken', 'w').close(); raise SystemExit(9)\n")
    script = tmp_path / "elsewhere" / "script.py"
    script.parent.mkdir()
    script.write_text(
        "import os; from wanlab.web.classroom.hub import forkserver_context\n"
        "if __name__ == '__main__':\n"
        "    process = forkserver_context().Process(target=os.getpid)\n"
        "    process.start(); process.join()\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(PACKAGE.parent)}
    subprocess.run([sys.executable, script], cwd=tmp_path, env=environment, check=False)
    assert not (tmp_path / "taken").exists()


def test_multiprocessing_is_used_in_that_way_only() -> None:
    users = [path for path in PACKAGE.rglob("*.py") if "get_context(" in path.read_text("utf-8")]
    assert [path.name for path in users] == ["hub.py"]
