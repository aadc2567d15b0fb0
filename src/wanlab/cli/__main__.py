"""`python -m wanlab.cli`: the command line where no program `wanlab` is installed."""

from . import main

main()
