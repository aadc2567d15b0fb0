"""The command line of `./dev`: one function per command, whose docstring is its line in the help."""

from __future__ import annotations

import ast
import contextlib
import difflib
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NoReturn

from . import kernel as kernels
from . import site
from . import ui as front_end
from . import wheel as wheels
from .checks import check as run_checks
from .errors import DevError
from .places import BENCH, ROOT, STATIC, VENV
from .setup import CHECKS, DEMO, PAGE, SELFTESTS, set_up

# A test waits a third of its time: for a browser, a server, or a process that it has ended. So there are
# three workers for two cores. Tests of one file share machines, so they run in the same worker. The
# files are in the order of tests/conftest.py: the longest first. When a worker has crashed, the run ends
# and names the test: with loadfile, xdist would wait forever for the worker that replaces it.
WORKERS = -(-3 * len(os.sched_getaffinity(0)) // 2)
LONG = "--long"
ON_ALL_CORES = (
    "-n",
    str(WORKERS),
    "--dist",
    "loadfile",
    "--no-loadscope-reorder",
    "--max-worker-restart",
    "0",
)


def setup(arguments: Sequence[str]) -> int:
    """List and install what is missing: Debian packages, .venv, the kernel, the front end."""
    _refuse_arguments("setup", arguments)
    return 1 if set_up() else 0


def demo(arguments: Sequence[str]) -> int:
    """Set up what it needs, then run Lab 14 of the course: bufferbloat in a router."""
    set_up(DEMO)
    _become([str(VENV / "bin" / "wanlab"), "lab", "run", "14", *arguments])


def test(arguments: Sequence[str]) -> int:
    """Set up, then run the tests on all cores (--long: also the long ones), or those you name."""
    page_error = set_up()
    if page_error is not None:  # tests of the page are skipped, with this reason
        os.environ["WANLAB_NO_PAGE"] = page_error.what
    os.chdir(ROOT)
    # The kernel has just been built, so no test may be skipped for want of one.
    os.environ["WANLAB_REQUIRE_KERNEL"] = "1"
    # A shell that runs this in the background may ignore these signals, but tests send them.
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
    if set(arguments) <= {LONG}:
        arguments = [*ON_ALL_CORES, *arguments]
    _become([str(VENV / "bin" / "python"), "-m", "pytest", *arguments])


def check(arguments: Sequence[str]) -> int:
    """Check style, types, spelling and docs: ruff, mypy, codespell, mkdocs, oxlint, Prettier, tsc."""
    _refuse_arguments("check", arguments)
    set_up(CHECKS)
    return run_checks()


def mutate(arguments: Sequence[str]) -> int:
    """Make mistakes in the code that decides trust, and list those that no test notices."""
    set_up(CHECKS)
    os.environ["PYTHONPATH"] = str(ROOT / "tools")
    _become([str(VENV / "bin" / "python"), "-m", "mutation", *arguments])


def selftests(arguments: Sequence[str]) -> int:
    """Run the Linux kernel's own network tests in machines, or those you name (see --help)."""
    set_up(SELFTESTS)
    os.environ["PYTHONPATH"] = str(ROOT / "tools")
    _become([str(VENV / "bin" / "python"), "-m", "selftests", *arguments])


def bench(arguments: Sequence[str]) -> int:
    """Run the benchmarks in bench/, or one of them with its arguments."""
    scripts = {path.stem: path for path in sorted(BENCH.glob("*.py")) if path.stem[0] != "_"}
    if not scripts:
        raise DevError("bench/ has no benchmarks")
    name, *rest = arguments or ["all"]
    if name != "all" and name not in scripts:
        raise DevError(
            f"there is no benchmark {name!r}",
            "\n".join(f"  {stem:20} {first_line(path)}" for stem, path in scripts.items()),
        )
    set_up()
    chosen = list(scripts.values()) if name == "all" else [scripts[name]]
    return max([_bench(path, rest) for path in chosen])


def kernel(arguments: Sequence[str]) -> int:
    """Build the kernel (build), or show what it was built from (info)."""
    _become([sys.executable, str(kernels.BUILD), *(arguments or ["--help"])])


def ui(arguments: Sequence[str]) -> int:
    """Build the browser front end if ui/ has changed; part of setup."""
    _refuse_arguments("ui", arguments)
    if set_up(PAGE):
        return 1
    size = front_end.kilobytes(front_end.compressed_bytes(STATIC))
    print(f"ui: {size} compressed; `wanlab web` shows it", file=sys.stderr)
    return 0


def wheel(arguments: Sequence[str]) -> int:
    """Build the wheel with the kernel and the page, the sdist, and the kernel's source into dist/."""
    _refuse_arguments("wheel", arguments)
    if set_up():
        return 1  # a wheel contains the page
    site.build()
    wheels.report(wheels.build())
    return 0


def docs(arguments: Sequence[str]) -> int:
    """Build the documentation and serve it while you edit (build: only build it)."""
    if list(arguments) not in ([], ["build"]):
        raise DevError(f"./dev docs takes nothing or build: {' '.join(arguments)!r}")
    set_up(CHECKS)
    if not arguments:
        _become(site.serve_command())
    site.build()
    return 0


COMMANDS: dict[str, Callable[[Sequence[str]], int]] = {
    command.__name__: command
    for command in (setup, demo, test, check, mutate, selftests, bench, kernel, ui, wheel, docs)
}


def main(arguments: Sequence[str]) -> int:
    """Run a command; return 0 if it succeeded."""
    if not arguments or arguments[0] in ("-h", "--help", "help"):
        print(usage())
        return 0
    name, *rest = arguments
    if name not in COMMANDS:
        close = difflib.get_close_matches(name, COMMANDS, n=1)
        meant = f" (did you mean {close[0]}?)" if close else ""
        print(f"dev: unknown command {name!r}{meant}\n\n{usage()}", file=sys.stderr)
        return 2
    signal.signal(signal.SIGTERM, _interrupt)
    try:
        return COMMANDS[name](rest)
    except DevError as error:
        print(f"dev: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print(f"dev: interrupted; run ./dev {name} again to continue", file=sys.stderr)
        return 130


def _interrupt(*_: object) -> NoReturn:
    raise KeyboardInterrupt


def usage() -> str:
    """Return the help: one line for each command."""
    lines = [
        f"  {name:9} {(command.__doc__ or '').splitlines()[0]}"
        for name, command in COMMANDS.items()
    ]
    return "\n".join(["usage: ./dev COMMAND [ARGUMENTS]", "", *lines])


def first_line(path: Path) -> str:
    """Return the first line of a script's docstring; for a benchmark, its claim."""
    docstring = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))
    return docstring.splitlines()[0] if docstring else ""


def _bench(path: Path, arguments: Sequence[str]) -> int:
    print(f"--- {path.stem}: {first_line(path)}", flush=True)
    command = [str(VENV / "bin" / "python"), str(path), *arguments]
    return subprocess.run(command, check=False).returncode


def _refuse_arguments(name: str, arguments: Sequence[str]) -> None:
    if arguments:
        raise DevError(f"./dev {name} takes no arguments: {' '.join(arguments)!r}")


def _become(command: Sequence[str]) -> NoReturn:
    """Replace this process by another program, which gets its output, exit status and Ctrl-C."""
    with contextlib.suppress(OSError):
        sys.stdout.flush()
        sys.stderr.flush()
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    try:
        os.execv(command[0], list(command))
    except OSError as error:
        raise DevError(
            f"cannot start {command[0]}: {error.strerror}", "remove .venv, then run: ./dev setup"
        ) from None
