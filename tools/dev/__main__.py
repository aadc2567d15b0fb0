"""Runs `./dev`, as `python3 tools/dev COMMAND`."""

import sys
from pathlib import Path

if __name__ == "__main__":
    # This folder is the package `dev`, so its parent must be on the path. It also uses the recipe.
    tools = Path(__file__).resolve().parent.parent
    sys.path[:1] = [str(tools), str(tools.parent / "kernel")]

    from dev.command import main

    sys.exit(main(sys.argv[1:]))
