#!/bin/sh
# matplotlib needs no font but its own, and would read all of the computer's anew in every machine.
export MPL_IGNORE_SYSTEM_FONTS=1 MPLCONFIGDIR=/run/wanlab/matplotlib
exec "$WANLAB_PYTHON" -m wanlab.labs.scripts.plot_concurrent "$@"
