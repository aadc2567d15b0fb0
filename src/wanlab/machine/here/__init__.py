"""The machine that this program runs in, for programs inside a machine that build networks.

A Mininet script runs inside, so that its clock, its files and the programs that it starts are the
machine's. Its network uses the kernel that the script runs on, with an agent of its own. Nodes and
bridges are removed when the network ends; the machine keeps running.
"""

from .machine import ABOUT_FILE, HereMachine, is_inside, read_about

__all__ = ["ABOUT_FILE", "HereMachine", "is_inside", "read_about"]
