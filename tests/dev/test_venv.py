from pathlib import Path

import pytest
from dev import venv
from dev.places import CONSTRAINTS, ROOT


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    (tmp_path / "pyproject.toml").write_text("[project]\n")
    (tmp_path / "constraints.txt").write_text("numpy==2.4.6\n")
    return tmp_path


def stamp(root: Path, python: str = "3.11.2") -> str:
    return venv.stamp_of(root, root / "constraints.txt", python)


def test_equal_inputs_have_an_equal_stamp(checkout: Path) -> None:
    assert stamp(checkout) == stamp(checkout)


@pytest.mark.parametrize("file", ["pyproject.toml", "constraints.txt"])
def test_the_stamp_changes_with_the_requirements(checkout: Path, file: str) -> None:
    before = stamp(checkout)
    (checkout / file).write_text("numpy==2.4.7\n")
    assert stamp(checkout) != before


def test_the_stamp_changes_with_the_python(checkout: Path) -> None:
    assert stamp(checkout, "3.11.2") != stamp(checkout, "3.12.1")


def test_the_stamp_changes_when_the_checkout_moves(checkout: Path) -> None:
    before = stamp(checkout)
    moved = checkout.rename(checkout.with_name("elsewhere"))
    assert stamp(moved) != before


def test_a_text_that_moves_from_one_file_to_the_other_changes_the_stamp(checkout: Path) -> None:
    before = stamp(checkout)
    (checkout / "pyproject.toml").write_text("[project]\nnumpy==2.4.6\n")
    (checkout / "constraints.txt").write_text("")
    assert stamp(checkout) != before


def test_an_environment_without_a_stamp_is_incomplete(tmp_path: Path) -> None:
    assert venv.read_stamp(tmp_path) is None
    (tmp_path / venv.STAMP).write_text("abc")
    assert venv.read_stamp(tmp_path) == "abc"


def test_pip_gets_the_constraints_and_the_developers_tools(tmp_path: Path) -> None:
    command = venv.pip_command(tmp_path, development=True)
    assert command[:4] == [str(tmp_path / "bin" / "python"), "-m", "pip", "install"]
    assert command[-4:] == ["-c", str(CONSTRAINTS), "-e", f"{ROOT}[dev]"]
