"""The documentation: a site that MkDocs builds from docs/ into the package, as mkdocs.yml describes."""

from __future__ import annotations

import os
import sys

from .places import ROOT, SITE, VENV
from .progress import run

BUILD = ("build", "--strict", "--quiet")
"""Arguments of MkDocs. A broken link, or a page that nothing leads to, is an error."""
# Material asks its users, at each start, to read about the future of MkDocs.
QUIET = {"NO_MKDOCS_2_WARNING": "1"}


def build() -> None:
    """Build the site into the package, where `wanlab docs` finds it."""
    run("building the documentation", command(*BUILD), folder=ROOT, environment=QUIET)
    print(f"docs: {SITE.relative_to(ROOT)}; `wanlab docs` opens it", file=sys.stderr)


def serve_command() -> list[str]:
    """Return the command that builds the site, serves it, and builds it again when a page changes."""
    os.environ.update(QUIET)
    os.chdir(ROOT)
    return command("serve", "--strict")


def command(*arguments: str) -> list[str]:
    """Return a command of MkDocs."""
    return [str(VENV / "bin" / "mkdocs"), *arguments]
