"""A module of Mininet is there when a script names it, without a line that imports it."""

import subprocess
import sys

import pytest

import wanlab.mininet


@pytest.mark.parametrize("name", wanlab.mininet.MODULES)
def test_each_module_is_an_attribute_of_the_package(name: str) -> None:
    code = f"import wanlab.mininet as m; print(m.{name}.__name__)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == f"wanlab.mininet.{name}\n"


def test_other_names_are_still_refused() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'nod'"):
        _ = wanlab.mininet.nod
