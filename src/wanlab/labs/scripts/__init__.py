"""The course's own programs, under the names that its manual calls them by.

The files in machine/programs/ start them inside a machine: `plot_iperf.sh`, `plot_q.sh`,
`fairness.sh`, `plot_concurrent.sh`, `xdg-open`. Each is told what is wrong in one line, as any
program of a terminal's does, and ends with a status other than 0.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence

from wanlab.errors import WanlabError

USAGE_STATUS = 2


class Usage(Exception):  # noqa: N818  (as SystemExit: what becomes of it is its caller's business)
    """The program was called with other arguments than it takes."""


def run(name: str, usage: str, program: Callable[[Sequence[str]], int]) -> None:
    """Runs a program with our arguments and ends with its status."""
    arguments = sys.argv[1:]
    if {"-h", "--help"} & set(arguments):
        print(usage)
        sys.exit(0)
    try:
        status = program(arguments)
    except Usage as wrong:
        print(f"{name}: {wrong}\n{usage}", file=sys.stderr)
        status = USAGE_STATUS
    except WanlabError as error:
        print(f"{name}: {error}", file=sys.stderr)
        status = 1
    except OSError as error:
        print(f"{name}: {error.filename or 'cannot go on'}: {error.strerror}", file=sys.stderr)
        status = 1
    except KeyboardInterrupt:
        status = 130
    sys.exit(status)


def one_file(arguments: Sequence[str]) -> str:
    """The only argument."""
    if len(arguments) != 1:
        raise Usage("takes one file" if arguments else "which file?")
    return arguments[0]
