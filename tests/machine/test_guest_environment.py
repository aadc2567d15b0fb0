"""Test the files that every process finds in a machine."""

import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from wanlab.machine.compiled_modules import compile_ahead
from wanlab.machine.guest_environment import (
    FOLDERS_USED_INSIDE,
    PACKAGE,
    guest_environment,
    programs,
    required_folders,
)

# These contain lines for Mininet's prompt, whose `source` also searches PATH.
FOR_THE_PROMPT = {
    "concurrent_diff_algo",
    "concurrent_same_algo",
    "concurrent_no_pacing",
    "concurrent_pacing",
}


def test_every_program_names_its_interpreter() -> None:
    assert {"sudo", "modprobe"} <= set(programs())
    silent = {name for name, text in programs().items() if not text.startswith("#!/bin/")}
    assert silent == FOR_THE_PROMPT


def test_a_machine_uses_wanlabs_python(tmp_path: Path) -> None:
    script = tmp_path / "python"
    script.write_text(guest_environment({})["programs"]["wanlab-python"])
    script.chmod(0o755)
    with os.popen(f"{script} -c 'import sys; print(sys.prefix)'") as output:
        assert output.read().strip() in required_folders()


def test_an_environment_may_have_a_link_to_the_packages_of_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Packages below /tmp would be hidden otherwise, because a machine has its own /tmp."""
    packages = tmp_path / "other" / "site-packages"
    packages.mkdir(parents=True)
    link = tmp_path / "site-packages"
    link.symlink_to(packages)
    monkeypatch.setattr(sysconfig, "get_path", lambda name: str(link))
    assert str(packages.resolve()) in required_folders()


def test_packages_are_found_under_the_names_that_programs_import() -> None:
    packages = guest_environment({})["packages"]
    assert (Path(packages["wanlab"]) / "__init__.py").is_file()
    assert Path(packages["mininet"]).parent == Path(packages["wanlab"])


def test_modules_are_compiled_once(tmp_path: Path) -> None:
    (tmp_path / "module.py").write_text("x = 1\n")
    compile_ahead(tmp_path)
    (compiled,) = (tmp_path / "__pycache__").iterdir()
    os.utime(compiled, (2e9, 2e9))
    compile_ahead(tmp_path)
    assert compiled.stat().st_mtime == 2e9


def test_a_module_is_compiled_again_if_its_time_has_changed(tmp_path: Path) -> None:
    """`cp -r` gives a copied module another time, and perhaps an earlier one than its compiled form."""
    source = tmp_path / "module.py"
    source.write_text("x = 1\n")
    compile_ahead(tmp_path)
    (compiled,) = (tmp_path / "__pycache__").iterdir()
    before = compiled.read_bytes()
    os.utime(source, (1e9, 1e9))
    compile_ahead(tmp_path)
    assert compiled.read_bytes()[8:12] == int(1e9).to_bytes(4, "little") != before[8:12]


IMPORT_ALL = """
import importlib, pkgutil, sys, wanlab.labs.scripts, wanlab.mininet
sys.modules["mininet"] = wanlab.mininet
for package in (wanlab.labs.scripts, wanlab.mininet):
    for module in pkgutil.iter_modules(package.__path__):
        if module.name != "__main__":
            importlib.import_module(f"{package.__name__}.{module.name}")
print(*(m.__file__ for n, m in list(sys.modules.items()) if n.startswith("wanlab") and m.__file__))
"""


def test_every_package_that_programs_inside_import_is_compiled_ahead() -> None:
    """Otherwise, programs would see other times where the compiled modules are out of date."""
    done = subprocess.run(
        [sys.executable, "-c", IMPORT_ALL],
        env={**os.environ, "PYTHONPATH": str(PACKAGE.parent)},
        capture_output=True,
        text=True,
        check=True,
    )
    folders = {Path(file).parent.relative_to(PACKAGE) for file in done.stdout.split()}
    assert len(folders) > 10
    assert {str(folder) for folder in folders} - {str(Path(f)) for f in FOLDERS_USED_INSIDE} == {
        "agent"  # it is compiled before it starts
    }
