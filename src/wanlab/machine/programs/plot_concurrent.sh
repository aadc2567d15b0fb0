#!/bin/sh
# Without this, matplotlib would scan all fonts of the computer in every new machine; its own will do.
export MPL_IGNORE_SYSTEM_FONTS=1 MPLCONFIGDIR=/run/wanlab/matplotlib
exec "$WANLAB_PYTHON" -m wanlab.labs.scripts.plot_concurrent "$@"
