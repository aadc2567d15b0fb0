"""Checks that kernel modules and programs are available."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from os import environ as environ
from sys import exit as exit

from wanlab.errors import RequirementError

from .commands import errRun, quietRun
from .log import debug as debug
from .log import error as error
from .log import info as info

OF_KMOD = "ofdatapath"
OVS_KMOD = "openvswitch"
TUN = "tun"


def lsmod() -> str:
    """Return the loaded modules; the embedded kernel has none, because everything is built in."""
    return quietRun("lsmod")


def modprobe(mod: str) -> str:
    return quietRun(["modprobe", mod])


def rmmod(mod: str) -> str:
    return quietRun(["rmmod", mod])


def moduleDeps(subtract: object = None, add: str | Iterable[str] | None = None) -> None:
    """Load modules. Raises RequirementError for one that the kernel does not have."""
    for mod in [add] if isinstance(add, str) else add or []:
        _, errors, status = errRun("modprobe", mod)
        if status:
            raise RequirementError(f"the kernel has no {mod}: {errors.strip()}")


def pathCheck(*args: str, **kwargs: object) -> None:
    """Raise RequirementError for programs that are not installed."""
    module = kwargs.get("moduleName", "it")
    missing = [name for name in args if shutil.which(name) is None]
    if missing:
        raise RequirementError(
            f"{module} needs {', '.join(missing)}, not found in $PATH", "install it"
        )


def missing_name(module: str, name: str) -> Exception:
    """Return the error for a name that a module does not have."""
    if name == "Containernet":
        return ImportError(
            "Containernet is another program: it makes hosts of Docker images, which wanlab does not "
            "(use Mininet, and run the image's programs with host.cmd)"
        )
    return AttributeError(f"module {module!r} has no attribute {name!r}")
