"""Starts the agent as the first process of the embedded machine: `python3 -I -S FOLDER`.

The rest of wanlab is neither needed nor imported: a stand-in for the package lets `wanlab.agent` be
found without running the front door.
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

    system.mount("dev", "/dev", "devtmpfs")
    channel = os.open("/dev/channel", os.O_RDWR | os.O_CLOEXEC)
    Agent(channel, channel).serve()


main()
