"""The native machine: the computer's own kernel, in fresh namespaces.

isolate       makes the namespaces and ends them with this program
machine       the agent in them, as their first process
requirements  checks what a network needs of the computer's kernel

Its clock is the real one, and it uses all CPUs. Nodes, processes, host name and mounts are the
machine's own; files are the computer's (docs/decisions/0014).
"""

from .machine import NativeMachine
from .requirements import check_native

__all__ = ["NativeMachine", "check_native"]
