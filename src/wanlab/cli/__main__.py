"""`python -m wanlab.cli`: the command line, if the program `wanlab` is not installed."""

from . import main

main()
