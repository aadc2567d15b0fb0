"""Finds programs in PATH. Every start of a process needs this, so it imports only `os`."""

from __future__ import annotations

import os


def find_program(name: str, path: str, folder: str = "") -> str | None:
    """Return the first program of this name in PATH, as a shell finds it; None if there is none.

    `path` is the value of PATH. Its relative folders are relative to `folder`.
    """
    for path_folder in path.split(os.pathsep):
        program = os.path.join(folder, path_folder, name)
        if is_program(program):
            return program
    return None


def is_program(path: str) -> bool:
    """Whether a file exists that can be executed."""
    return os.access(path, os.X_OK) and not os.path.isdir(path)
