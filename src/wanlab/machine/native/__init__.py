"""The native machine: the computer's own kernel, in fresh namespaces of its own.

isolate       makes the namespaces and sees to it that they end with us
machine       an agent in them, as their first process
requirements  what a network needs of the computer's kernel, and what that lacks

Its clock is the real one, and it uses all cores. Nodes, processes, host name and mounts are the
machine's own; files are the computer's (docs/decisions has the page).
"""

from .machine import NativeMachine
from .requirements import check_native

__all__ = ["NativeMachine", "check_native"]
