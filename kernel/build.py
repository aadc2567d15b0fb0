#!/usr/bin/env python3
"""Build wanlab's kernel: `build.py build|tree|list|verify|patches|info|config` (see kernelbuild/)."""

import sys

from kernelbuild import main

if __name__ == "__main__":
    sys.exit(main())
