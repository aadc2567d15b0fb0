"""Check that the programs an example needs are installed, before it starts a network."""

from __future__ import annotations

import shutil

from wanlab.errors import RequirementError

PACKAGES = {
    "nginx": "nginx-light",
    "curl": "curl",
    "dnsmasq": "dnsmasq-base",
    "dig": "bind9-dnsutils",
}
SEARCH_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def need(*programs: str) -> None:
    """Raise RequirementError if programs are missing, with the command that installs them."""
    missing = [program for program in programs if shutil.which(program, path=SEARCH_PATH) is None]
    if missing:
        packages = " ".join(PACKAGES[program] for program in missing)
        raise RequirementError(
            f"this example needs {' and '.join(missing)}", f"sudo apt install {packages}"
        )
