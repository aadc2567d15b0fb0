"""Starts the agent.

    python3 -I -S FOLDER                     as the first process of the embedded machine
    python3 -I -S FOLDER DESCRIPTOR guest    for a program in a sandbox

DESCRIPTOR is its end of the channel, inherited. For other programs inside a machine, the machine's agent
forks (see `host_service`).

The rest of wanlab is not imported: a stand-in for the package makes `wanlab.agent` importable without
running `wanlab/__init__.py`.
"""

import os
import sys
from types import ModuleType


def main() -> None:
    package = ModuleType("wanlab")
    package.__path__ = [os.path.dirname(os.path.dirname(os.path.abspath(__file__)))]
    sys.modules["wanlab"] = package

    from wanlab.agent import system
    from wanlab.agent.serve import Agent

    # User-Mode Linux appends arguments of its own to those of its first process.
    if sys.argv[2:] == ["guest"]:
        channel = int(sys.argv[1])
        os.set_inheritable(channel, False)
        os.set_blocking(channel, True)
        Agent(channel, channel, is_guest=True).serve()
    system.mount("dev", "/dev", "devtmpfs")
    for _ in range(3):  # the standard streams, so that the channel is none of them
        os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
    channel = os.open("/dev/channel", os.O_RDWR | os.O_CLOEXEC)
    Agent(channel, channel).serve()


main()
