"""The folder that a machine shares with its user."""

from __future__ import annotations

import os
from pathlib import Path

from wanlab.errors import RequirementError


def check_working_folder(folder: Path) -> Path:
    """Return the folder's absolute path. RequirementError if programs could not write there."""
    try:
        resolved = folder.resolve(strict=True)
    except OSError as error:
        raise RequirementError(f"working folder {folder}: {error.strerror}") from None
    if not resolved.is_dir():
        raise RequirementError(f"working folder {folder} is not a folder")
    if not os.access(resolved, os.W_OK | os.X_OK):
        raise RequirementError(
            f"working folder {folder}: no permission to write",
            "run wanlab in a folder of your own",
        )
    return resolved
