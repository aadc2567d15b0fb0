"""Run wanlab under the limits of a container or of a hardened computer."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from patience import PATIENCE_S

ROOT = Path(__file__).resolve().parents[2]
LIMITS = [sys.executable, str(ROOT / "tools" / "distributions" / "limits.py")]
WANLAB = [sys.executable, "-c", "from wanlab.cli import main; main()"]
PING = ["exec", "--topo", "single,2", "--node", "h1", "--", "ping", "-c", "1", "h2"]


def run_limited(limits: list[str], *arguments: str, folder: Path) -> tuple[int, str, str]:
    """Run wanlab under the limits; return its status, output and errors."""
    ran = subprocess.run(
        [*LIMITS, *limits, "--", *WANLAB, *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    return ran.returncode, ran.stdout, ran.stderr
