"""Start of `./dev`, as `python3 tools/dev WORD`."""

import sys
from pathlib import Path

if __name__ == "__main__":
    # This folder is the package `dev`: its parent is where to look for it.
    sys.path[0] = str(Path(__file__).resolve().parent.parent)

    from dev.command import main

    sys.exit(main(sys.argv[1:]))
