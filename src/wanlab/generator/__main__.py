"""Starts the generator: `python3 -I -S FOLDER WORD...`.

The rest of wanlab is not imported: a stand-in for the package lets `wanlab.generator` be found without
running the front door, which would take longer than many a transfer.
"""

import os
import sys
from types import ModuleType

if __name__ == "__main__":
    package = ModuleType("wanlab")
    package.__path__ = [os.path.dirname(os.path.dirname(os.path.abspath(__file__)))]
    sys.modules["wanlab"] = package

    from wanlab.generator.command import main

    sys.exit(main(sys.argv[1:]))
