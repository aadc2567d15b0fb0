"""The programs that the manual has students type.

The files in machine/programs/ start them inside a machine: `plot_iperf.sh`, `plot_q.sh`,
`fairness.sh`, `plot_concurrent.sh`, `xdg-open`. Each prints one line if something is wrong, and
then exits with a status other than 0.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence

from wanlab.errors import WanlabError

USAGE_STATUS = 2


class Usage(Exception):  # noqa: N818  (like SystemExit, it is not always an error)
    """The program was called with the wrong arguments."""


def run(name: str, usage: str, program: Callable[[Sequence[str]], int]) -> None:
    """Run a program with the arguments of this process, and exit with its status."""
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
        print(f"{name}: {error.filename or 'system error'}: {error.strerror}", file=sys.stderr)
        status = 1
    except KeyboardInterrupt:
        status = 130
    sys.exit(status)


def one_file(arguments: Sequence[str]) -> str:
    """Return the only argument; raise Usage if there are none or several."""
    if len(arguments) != 1:
        raise Usage("takes one file" if arguments else "which file?")
    return arguments[0]
