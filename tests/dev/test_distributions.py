"""The scripts that test wanlab on fresh systems report missing requirements before they start."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

SCRIPTS = Path(__file__).resolve().parents[2] / "tools" / "distributions"


@pytest.mark.parametrize("script", ["try.sh", "checkout.sh"])
def test_ubuntu_is_not_installed_without_its_keyring(script: str, tmp_path: Path) -> None:
    for name, text in {"id": "echo 0", "debootstrap": f"touch '{tmp_path}/started'"}.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{text}\n")
        (tmp_path / name).chmod(0o755)
    wheel = ["wanlab.whl"] if script == "try.sh" else []
    keyring = tmp_path / "ubuntu.gpg"
    done = subprocess.run(
        ["bash", str(SCRIPTS / script), "noble", *wheel],
        env={
            "PATH": f"{tmp_path}:{os.environ['PATH']}",
            "UBUNTU_MIRROR": "http://mirror.invalid/ubuntu",
            "UBUNTU_KEYRING": str(keyring),
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert f"there is no {keyring}\n" in done.stderr
    assert "install the package ubuntu-keyring" in done.stderr
    assert not (tmp_path / "started").exists()
