"""The command line: `wanlab VERB`. It translates and decides nothing.

One file per verb; each imports what it needs when it runs, so that no verb waits for another's
libraries.
"""

from __future__ import annotations

import sys

from wanlab.errors import WanlabError

INTERRUPTED = 130


def main() -> None:
    """Entry point of the program: exit status 0, 1 for an error that was told, 2 for wrong usage, 130
    after Ctrl-C."""
    from .app import app

    try:
        app()
    except WanlabError as error:
        if "--debug" in sys.argv:
            raise
        print(f"wanlab: {error}", file=sys.stderr)
        sys.exit(1)
    except KeyboardInterrupt:
        print("wanlab: interrupted", file=sys.stderr)
        sys.exit(INTERRUPTED)
