"""The machine that we are in: how a program inside a machine makes networks of its own.

A Mininet script runs inside, so that its clock, its files and the programs that it starts are the
machine's. What it builds, it builds on the kernel that it runs on, with an agent beside it. Nodes and
bridges go when the network ends; the machine itself goes on.
"""

from .machine import ABOUT_FILE, HereMachine, here_traits, is_inside, read_about

__all__ = ["ABOUT_FILE", "HereMachine", "here_traits", "is_inside", "read_about"]
