"""Runs `./dev`, as `python3 tools/dev COMMAND`."""

import sys
from pathlib import Path

if __name__ == "__main__":
    # This folder is the package `dev`, so its parent must be on the path.
    sys.path[0] = str(Path(__file__).resolve().parent.parent)

    from dev.command import main

    sys.exit(main(sys.argv[1:]))
