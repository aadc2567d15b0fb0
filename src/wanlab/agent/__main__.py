"""Starts the agent.

    python3 -I -S FOLDER                     as the first process of the embedded machine
    python3 -I -S FOLDER DESCRIPTOR native   as the first process of fresh namespaces

DESCRIPTOR is its end of the channel, inherited. For a program inside a machine, the machine's agent
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
    if sys.argv[2:] == ["native"]:
        channel = int(sys.argv[1])
        os.set_inheritable(channel, False)
        Agent(channel, channel, has_kernel=False).serve()
    system.mount("dev", "/dev", "devtmpfs")
    channel = os.open("/dev/channel", os.O_RDWR | os.O_CLOEXEC)
    Agent(channel, channel).serve()


main()
