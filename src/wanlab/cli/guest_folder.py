"""Checks the path at which programs in a machine are to see the current folder."""

from __future__ import annotations

from pathlib import Path

from wanlab.errors import RequirementError


def check_guest_folder(text: str) -> str:
    """Return the path. RequirementError if the folder would hide others there."""
    path = Path(text)
    if not path.is_absolute():
        raise RequirementError(
            f"--guest-folder {text}: the path must begin with /", f"for example /{text}"
        )
    try:
        is_free = path.resolve() == Path.cwd() or not any(path.iterdir())
    except FileNotFoundError:
        is_free = True
    except OSError:
        is_free = False
    if not is_free:
        raise RequirementError(
            f"--guest-folder {text}: it would hide what is in {text} from programs",
            "choose a path that does not exist, such as /mine",
        )
    return str(path)
