"""`wanlab lab show`: shows a lesson in the terminal. Answers are hidden unless they are requested."""

from __future__ import annotations

import re
import sys

from wanlab.errors import WanlabError
from wanlab.labs import catalog

DETAILS = re.compile(r"<details>\s*(?:<summary>(.*?)</summary>)?(.*?)</details>", re.DOTALL)


def show(name: str, *, as_text: bool, with_answers: bool) -> int:
    """Print a lesson as Markdown, or format it if standard output is a terminal."""
    path = catalog.folder_of(name) / "lesson.md"
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        catalog.find(name)  # raises if there is no such unit
        raise WanlabError(f"{name} has no lesson") from None
    if as_text or not sys.stdout.isatty():
        print(text, end="")
        return 0
    from rich.console import Console
    from rich.markdown import Markdown

    console = Console()
    with console.pager(styles=True):
        console.print(Markdown(for_terminal(text, name, with_answers=with_answers)))
    return 0


def for_terminal(text: str, name: str, *, with_answers: bool) -> str:
    """Replace the folded parts of a page, which hold answers, by the answers or by how to see them."""

    def answer(match: re.Match[str]) -> str:
        title = (match[1] or "Answer").strip()
        if with_answers:
            return f"**{title}.** {match[2].strip()}"
        return f"*({title}: wanlab lab show {name} --answers)*"

    return DETAILS.sub(answer, text)
