"""The command line of `./dev`: one function for each word; its first line is its line in the list."""

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
from . import ui as front_end
from .checks import check as run_checks
from .errors import DevError
from .places import BENCH, ROOT, STATIC, VENV
from .setup import set_up

# A machine takes one core; tests of one file share what they start, so a file stays together.
ON_ALL_CORES = ("-n", "auto", "--dist", "loadfile")
READING = (
    ("README.md", "what wanlab is, and a first program"),
    ("docs/architecture.md", "the parts, and what imports what"),
    ("docs/glossary.md", "the words"),
    ("docs/fidelity.md", "what is real, what is modelled, and how exact it is"),
    ("docs/limitations.md", "what it does not do"),
    ("docs/decisions/", "why it is as it is"),
    ("kernel/README.md", "the kernel's recipe; a page for each patch in kernel/patches/"),
    ("CONTRIBUTING.md", "the house rules"),
)


def setup(arguments: Sequence[str]) -> int:
    """Install what is missing: Debian packages, .venv, the kernel, the front end. Says first what."""
    _takes_nothing("setup", arguments)
    set_up()
    return 0


def demo(arguments: Sequence[str]) -> int:
    """Set up, then run the course's Lab 14: a router's bufferbloat."""
    set_up()
    _become([str(VENV / "bin" / "wanlab"), "lab", "run", "14", *arguments])


def test(arguments: Sequence[str]) -> int:
    """Set up, then run the tests, on all cores; what follows is passed on to pytest instead."""
    set_up()
    os.chdir(ROOT)
    os.environ["WANLAB_REQUIRE_KERNEL"] = (
        "1"  # it has just been built: no test may skip for want of it
    )
    # Who starts this in the background may have switched these off, for all below; tests send them.
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
    _become([str(VENV / "bin" / "python"), "-m", "pytest", *(arguments or ON_ALL_CORES)])


def check(arguments: Sequence[str]) -> int:
    """Style, types and spelling: ruff, mypy, codespell, tsc."""
    _takes_nothing("check", arguments)
    set_up(with_kernel=False)
    return run_checks()


def bench(arguments: Sequence[str]) -> int:
    """Run the benchmarks in bench/, or the one that is named, with what follows passed on."""
    scripts = {path.stem: path for path in sorted(BENCH.glob("*.py")) if path.stem[0] != "_"}
    if not scripts:
        raise DevError("there is no benchmark in bench/")
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
    """Build the kernel (build), or show what it is made of (info)."""
    _become([sys.executable, str(kernels.BUILD), *(arguments or ["--help"])])


def ui(arguments: Sequence[str]) -> int:
    """Build the browser front end, if ui/ has changed since; it is part of setup."""
    _takes_nothing("ui", arguments)
    set_up(with_kernel=False)
    size = front_end.kilobytes(front_end.compressed_bytes(STATIC))
    print(f"ui: {size} compressed; `wanlab web` shows it", file=sys.stderr)
    return 0


def docs(arguments: Sequence[str]) -> int:
    """Check the documentation, and say where to read."""
    _takes_nothing("docs", arguments)
    set_up(with_kernel=False)
    command = [str(VENV / "bin" / "python"), "-m", "pytest", "-q", "tests/docs"]
    status = subprocess.run(command, cwd=ROOT, check=False).returncode
    print("\n".join(["", "To read:", *(f"  {place:22} {what}" for place, what in READING)]))
    return status


WORDS: dict[str, Callable[[Sequence[str]], int]] = {
    word.__name__: word for word in (setup, demo, test, check, bench, kernel, ui, docs)
}


def main(arguments: Sequence[str]) -> int:
    """Do what a word says; the exit status is 0 if that went well."""
    if not arguments or arguments[0] in ("-h", "--help", "help"):
        print(usage())
        return 0
    word, *rest = arguments
    if word not in WORDS:
        close = difflib.get_close_matches(word, WORDS, n=1)
        meant = f" (did you mean {close[0]}?)" if close else ""
        print(f"dev: {word!r} is not one of its words{meant}\n\n{usage()}", file=sys.stderr)
        return 2
    signal.signal(signal.SIGTERM, _interrupt)
    try:
        return WORDS[word](rest)
    except DevError as error:
        print(f"dev: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print(f"dev: interrupted; ./dev {word} goes on from here", file=sys.stderr)
        return 130


def _interrupt(*_: object) -> NoReturn:
    raise KeyboardInterrupt


def usage() -> str:
    """The words, with one line each."""
    lines = [f"  {name:8} {(word.__doc__ or '').splitlines()[0]}" for name, word in WORDS.items()]
    return "\n".join(["usage: ./dev WORD [ARGUMENTS]", "", *lines])


def first_line(path: Path) -> str:
    """The first line of a script's docstring: for a benchmark, its claim."""
    docstring = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))
    return docstring.splitlines()[0] if docstring else ""


def _bench(path: Path, arguments: Sequence[str]) -> int:
    print(f"--- {path.stem}: {first_line(path)}", flush=True)
    command = [str(VENV / "bin" / "python"), str(path), *arguments]
    return subprocess.run(command, check=False).returncode


def _takes_nothing(word: str, arguments: Sequence[str]) -> None:
    if arguments:
        raise DevError(f"./dev {word} takes nothing, not {' '.join(arguments)!r}")


def _become(command: Sequence[str]) -> NoReturn:
    """Go on as another program: its output, exit status and Ctrl-C are its own."""
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
