"""Test which names `from wanlab import ...` offers."""

import subprocess
import sys
from pathlib import Path

import wanlab

NAMES: list[str] = wanlab.__all__  # type: ignore[attr-defined]
PARTS = {path.name.removesuffix(".py") for path in Path(wanlab.__file__).parent.iterdir()}
MODULES = {"iperf3", "ping", "plot", "shapes"}
MAX_NAMES = 30


def test_no_function_or_class_is_hidden_by_a_part_of_the_same_name() -> None:
    """Importing a part makes it an attribute of the package, which replaces any earlier one."""
    assert (set(NAMES) & PARTS) - MODULES == set()


def test_every_public_name_exists() -> None:
    missing = [name for name in NAMES if not hasattr(wanlab, name)]
    assert missing == []


def test_no_other_name_is_public() -> None:
    assert not hasattr(wanlab, "EmbeddedMachine")


def test_there_are_few_enough_public_names_to_remember() -> None:
    assert "Network" in NAMES
    assert len(NAMES) <= MAX_NAMES


def test_importing_the_package_loads_none_of_its_parts() -> None:
    program = "import sys, wanlab; print({'numpy', 'yaml', 'wanlab.network'} & set(sys.modules))"
    ran = subprocess.run(
        [sys.executable, "-c", program],
        env={"PYTHONPATH": ":".join(sys.path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert ran.stdout == "set()\n"
