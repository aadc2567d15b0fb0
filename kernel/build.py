#!/usr/bin/env python3
"""Build wanlab's kernel: `python3 kernel/build.py build|list|verify|info|config` (see kernelbuild/)."""

import sys

from kernelbuild import main

if __name__ == "__main__":
    sys.exit(main())
