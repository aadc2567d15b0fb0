"""Options that several verbs have."""

from __future__ import annotations

from typing import Annotated

import typer

Seed = Annotated[
    int, typer.Option(min=0, help="Of all random numbers in the machine.", metavar="NUMBER")
]
Clock = Annotated[
    str,
    typer.Option(
        help="virtual (as fast as it can be computed; equal runs are equal) or real.",
        metavar="CLOCK",
    ),
]
WireOption = Annotated[
    str,
    typer.Option(
        help="mtu (as a real wire) or gso (packets up to 64 KB, as plain veth; faster).",
        metavar="WIRE",
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print the report for programs.")]
