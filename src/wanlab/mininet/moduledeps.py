"""Modules of the kernel, and programs that have to be there."""

from __future__ import annotations

import shutil
from typing import Any

from wanlab.errors import RequirementError

from .util import errRun, quietRun

OF_KMOD = "ofdatapath"
OVS_KMOD = "openvswitch"
TUN = "tun"


def lsmod() -> str:
    """What is loaded. A kernel of our own has everything built in, so that is nothing."""
    return quietRun("lsmod")


def modprobe(mod: str) -> str:
    return quietRun(["modprobe", mod])


def rmmod(mod: str) -> str:
    return quietRun(["rmmod", mod])


def moduleDeps(subtract: Any = None, add: Any = None) -> None:
    """Loads modules; RequirementError for one that is not to be had."""
    for mod in [add] if isinstance(add, str) else add or []:
        _, errors, status = errRun("modprobe", mod)
        if status:
            raise RequirementError(f"the kernel has no {mod}: {errors.strip()}")


def pathCheck(*args: str, **kwargs: Any) -> None:
    """RequirementError for programs that are not there."""
    module = kwargs.get("moduleName", "it")
    missing = [name for name in args if shutil.which(name) is None]
    if missing:
        raise RequirementError(
            f"{module} needs {', '.join(missing)}, not found in $PATH", "install it"
        )
