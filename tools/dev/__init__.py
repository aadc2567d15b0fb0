"""The commands of `./dev`. Standard library only, because it runs before anything is installed.

command      the commands, and what each does
setup        lists what is missing, then installs it: packages, .venv, the kernel, the front end
  packages   Debian packages: which are needed, which are missing, how to install them
  venv       the folder .venv and the stamp that tells whether it is up to date
  kernel     the interface to the recipe in kernel/
  ui         the browser front end: its packages, and the pages built from ui/
checks       ruff, mypy, codespell, and those of ui/, with one summary
progress     runs a command and shows its progress
"""

import sys
from pathlib import Path

# It uses parts of the recipe, wherever it was imported from.
_KERNEL = str(Path(__file__).resolve().parents[2] / "kernel")
if _KERNEL not in sys.path:
    sys.path.append(_KERNEL)
