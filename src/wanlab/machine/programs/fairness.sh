#!/bin/sh
exec "$WANLAB_PYTHON" -m wanlab.labs.scripts.fairness "$@"
