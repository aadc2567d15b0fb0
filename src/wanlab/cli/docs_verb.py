"""`wanlab docs`: open the documentation in the browser."""

from __future__ import annotations

from typing import Annotated

import typer

from . import completions


def docs(
    page: Annotated[
        str,
        typer.Argument(
            help="A page, such as walkthrough; see --list.",
            metavar="[PAGE]",
            autocompletion=completions.doc_pages,
        ),
    ] = "index",
    lists: Annotated[bool, typer.Option("--list", help="List all pages instead.")] = False,
    no_browser: Annotated[
        bool, typer.Option("--no-browser", help="Only print the path of the page.")
    ] = False,
) -> None:
    """Open the documentation in the browser. It needs no network.

    \b
    wanlab docs
    wanlab docs walkthrough
    wanlab docs --list
    """
    from wanlab.documentation import doc_pages, find

    from .display import open_file

    if lists:
        part = ""
        for each in doc_pages():
            if each.part != part:
                part = each.part
                print(f"\n{part}")
            print(f"  {each.name:24} {each.title}")
        return
    path = find(page).path
    print(path)
    if not no_browser:
        open_file(path)
