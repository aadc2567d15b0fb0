"""The environment variable by which `--strict` reaches scripts in a machine.

No imports: the command line outside reads it too.
"""

STRICT = "WANLAB_STRICT"
