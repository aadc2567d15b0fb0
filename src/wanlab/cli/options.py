"""Options that several commands have."""

from __future__ import annotations

from typing import Annotated

import typer

from . import completions

Seed = Annotated[
    int, typer.Option(min=0, help="Seed of all random numbers in the machine.", metavar="NUMBER")
]
Clock = Annotated[
    str,
    typer.Option(
        help="virtual (as fast as possible, repeatable) or real.",
        metavar="CLOCK",
        autocompletion=completions.one_of("virtual", "real"),
    ),
]
WireOption = Annotated[
    str,
    typer.Option(
        help="mtu (packets as on a real wire) or gso (up to 64 KB, as on plain veth; faster).",
        metavar="WIRE",
        autocompletion=completions.one_of("mtu", "gso"),
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
