"""Paths in this checkout."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
VENV = ROOT / ".venv"
CONSTRAINTS = ROOT / "tools" / "dev" / "constraints.txt"
KERNEL = ROOT / "kernel"
BENCH = ROOT / "bench"
UI = ROOT / "ui"
SITE = ROOT / "src" / "wanlab" / "site"
STATIC = ROOT / "src" / "wanlab" / "web" / "static"
