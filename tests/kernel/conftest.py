"""The kernel's recipe stands outside the package: make it importable, and make small recipes."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "kernel"))

RECIPE = """
format = 1
[source]
series = "6.12"
package = "linux-source-6.12"
paths = ["/nowhere/linux-source-6.12.tar.xz"]
[[source.archive]]
version = "6.12.1"
origin = "a test"
sha256 = "ab"
[build]
compiler = "gcc"
steps = 10
disk_bytes = 1
timestamp = "2024-11-17"
[[patch]]
file = "0001-a.patch"
reason = "a reason"
page = "0001-a.md"
"""


@pytest.fixture
def recipe_folder(tmp_path: Path) -> Path:
    """A recipe with one option and one patch."""
    folder = tmp_path / "kernel"
    (folder / "config").mkdir(parents=True)
    (folder / "patches").mkdir()
    (folder / "recipe.toml").write_text(RECIPE)
    (folder / "config" / "net.config").write_text("# Sockets.\nCONFIG_NET=y\n")
    (folder / "patches" / "series").write_text("0001-a.patch\n")
    (folder / "patches" / "0001-a.patch").write_text("--- a/x\n+++ b/x\n")
    (folder / "patches" / "0001-a.md").write_text("why\n")
    return folder
