"""What `from wanlab import ...` gives."""

import subprocess
import sys
from pathlib import Path

import wanlab

PARTS = {path.name.removesuffix(".py") for path in Path(wanlab.__file__).parent.iterdir()}
MODULES = {"iperf3", "iperf3_text", "ping", "plot", "record", "shapes"}


def test_no_function_or_class_is_hidden_by_a_part_of_its_name() -> None:
    """Importing a part makes it an attribute of the package, whatever stood there before."""
    assert (set(wanlab.__all__) & PARTS) - MODULES == set()


def test_everything_that_is_promised_is_there() -> None:
    missing = [name for name in wanlab.__all__ if not hasattr(wanlab, name)]
    assert missing == []


def test_knocking_loads_nothing() -> None:
    program = "import sys, wanlab; print({'numpy', 'yaml', 'wanlab.network'} & set(sys.modules))"
    ran = subprocess.run(
        [sys.executable, "-c", program],
        env={"PYTHONPATH": ":".join(sys.path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert ran.stdout == "set()\n"
