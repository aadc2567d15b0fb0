"""`wanlab lab show`: a lesson in the terminal. Answers stay hidden until they are asked for."""

from __future__ import annotations

import re
import sys

from wanlab.errors import WanlabError
from wanlab.labs import catalog

DETAILS = re.compile(r"<details>\s*(?:<summary>(.*?)</summary>)?(.*?)</details>", re.DOTALL)


def show(name: str, *, as_text: bool, with_answers: bool) -> int:
    """As Markdown where nobody watches, otherwise made up for the terminal."""
    path = catalog.folder_of(name) / "lesson.md"
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        catalog.find(name)  # if that is what is wrong
        raise WanlabError(f"there is no lesson of {name} here") from None
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
    """A terminal does not fold: what a page hides is left out, or told."""

    def answer(found: re.Match[str]) -> str:
        title = (found[1] or "Answer").strip()
        if with_answers:
            return f"**{title}.** {found[2].strip()}"
        return f"*({title}: wanlab lab show {name} --answers)*"

    return DETAILS.sub(answer, text)
