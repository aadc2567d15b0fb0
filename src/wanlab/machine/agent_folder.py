"""Where the agent is on this computer."""

from __future__ import annotations

from pathlib import Path

from .compiled_modules import compile_ahead


def agent_folder() -> Path:
    """Return the agent's folder, which Python can run; its modules are compiled."""
    import wanlab.agent

    folder = Path(wanlab.agent.__file__).parent
    compile_ahead(folder)
    return folder
