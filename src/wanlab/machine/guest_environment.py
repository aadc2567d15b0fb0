"""The environment of processes in a machine: variables, our programs, and Python packages.

    /run/wanlab/bin           programs: the files in `programs/`, `wanlab-python`, `wanlab-traffic`,
                              and those of Open vSwitch that wait until a change is in force
    /run/wanlab/python        on PYTHONPATH: wanlab, and `wanlab.mininet` under the name mininet
    /run/wanlab/machine.json  a description of the machine, by which programs recognise that they are in
                              one

The variables are the same on every computer, because the user's own would make runs differ.
"""

from __future__ import annotations

import shutil
import sys
import sysconfig
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from .compiled_modules import compile_ahead

if TYPE_CHECKING:
    from wanlab.agent.root import GuestEnvironment

ENVIRONMENT = {
    "PATH": "/run/wanlab/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    "HOME": "/run/wanlab/home",
    "USER": "root",
    "LOGNAME": "root",
    "SHELL": "/bin/bash",
    "LANG": "C.UTF-8",
    "TERM": "xterm-256color",
    "PYTHONHASHSEED": "0",
    "PYTHONPATH": "/run/wanlab/python",
    "WANLAB_PYTHON": "/run/wanlab/bin/wanlab-python",
}

CHANGE_OVS = ("ovs-ofctl", "ovs-vsctl")
PACKAGE = Path(__file__).resolve().parents[1]
FOLDERS_USED_INSIDE = (
    "",
    "generator",
    "labs",
    "labs/scripts",
    "machine",
    "machine/here",
    "measure",
    "mininet",
    "mininet/examples",
    "netlink",
    "network",
    "operations",
    "plan",
    "plot",
    "record",
    "topology",
    "topology/files",
)
"""Packages that programs inside import to make or watch networks. (The agent is compiled before it
starts.)"""


def guest_environment(about: Mapping[str, object]) -> GuestEnvironment:
    """Return the programs and packages for the agent to install. `about` becomes machine.json."""
    for folder in FOLDERS_USED_INSIDE:
        compile_ahead(PACKAGE / folder)
    return {
        "programs": {
            **programs(),
            "wanlab-python": f'#!/bin/sh\nexec "{sys.executable}" "$@"\n',
            # It is started often, so Python is run without everything that makes it slow to start.
            "wanlab-traffic": (
                f'#!/bin/sh\nexec "{sys.executable}" -I -S -B -X utf8 "{PACKAGE}/generator" "$@"\n'
            ),
        },
        "packages": {"wanlab": str(PACKAGE), "mininet": str(PACKAGE / "mininet")},
        "about": dict(about),
    }


@cache
def programs() -> dict[str, str]:
    """Return the name and text of each program that wanlab installs in a machine."""
    folder = Path(__file__).with_name("programs")
    own = {path.name: path.read_text(encoding="utf-8") for path in sorted(folder.iterdir())}
    computers_path = ENVIRONMENT["PATH"].partition(":")[2]
    change = Path(__file__).with_name("change_open_vswitch.sh").read_text(encoding="utf-8")
    # Scripts look for these to find out whether Open vSwitch is installed.
    return own | {name: change for name in CHANGE_OVS if shutil.which(name, path=computers_path)}


def required_folders() -> list[str]:
    """Return the folders that the programs need, wherever they are: Python's and wanlab's."""
    folders = [sys.base_prefix, sys.prefix, str(PACKAGE)]
    packages = Path(sysconfig.get_path("purelib")).resolve()  # a link, where environments share it
    if not any(packages.is_relative_to(Path(folder).resolve()) for folder in folders):
        folders.append(str(packages))
    return list(dict.fromkeys(folders))
