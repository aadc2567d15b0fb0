"""Start the generator: `python3 -I -S FOLDER ARGUMENT...`.

The rest of wanlab is not imported, because that would take longer than many transfers: an empty module
`wanlab` lets Python find `wanlab.generator` without running the package's `__init__.py`.
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
