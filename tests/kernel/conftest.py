"""Make the recipe importable, which lies outside the package, and provide small recipes."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "kernel"))

RECIPE = """
format = 2
default = "6.12"
[kernel."6.12"]
package = "linux-source-6.12"
paths = ["/nowhere/linux-source-6.12.tar.xz"]
patches = "patches"
steps = 10
[[kernel."6.12".archive]]
version = "6.12.1"
origin = "a test"
sha256 = "ab"
[build]
compiler = "gcc"
disk_bytes = 1
timestamp = "2024-11-17"
"""

PATCH = """
From 0000000000000000000000000000000000000000 Mon Sep 17 00:00:00 2001
From: The wanlab authors <>
Date: Sun, 22 Nov 2026 00:00:00 +0000
Subject: [PATCH 1/1] net: a subject that is
 longer than one line

A reason.
---
 x | 2 +-

--- a/x
+++ b/x
""".lstrip()


@pytest.fixture
def recipe_folder(tmp_path: Path) -> Path:
    """Write a recipe with one option and one patch."""
    folder = tmp_path / "kernel"
    (folder / "config").mkdir(parents=True)
    (folder / "patches").mkdir()
    (folder / "recipe.toml").write_text(RECIPE)
    (folder / "config" / "net.config").write_text("# Sockets.\nCONFIG_NET=y\n")
    (folder / "patches" / "series").write_text("0001-a.patch\n")
    (folder / "patches" / "0001-a.patch").write_text(PATCH)
    return folder
