"""Finds out whether the programs that measure a network are still the computer's."""

from __future__ import annotations

from wanlab.operations import ROOT

from .runtime import Runtime


def changed_program_warnings(runtime: Runtime) -> list[str]:
    """Return a warning if programs that may have measured something are not the computer's any more.

    Everybody is root in a machine, and what a replaced iperf3 prints need not be so.
    """
    if runtime.options.traits.is_shared:
        return []
    (answer,) = runtime.read([["changed_programs", ROOT]])
    changed = answer.decode(errors="replace").splitlines()
    return [f"programs were changed in the machine: {', '.join(changed)}"] if changed else []
