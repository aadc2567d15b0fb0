"""`python -m mininet`: the `mn` command."""

import sys

from mininet.mn import main  # type: ignore[import-not-found]  # its name inside a machine

sys.exit(main())
