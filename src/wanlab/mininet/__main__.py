"""`python -m mininet`: the `mn` command."""

import sys

from mininet.mn import main

sys.exit(main())
