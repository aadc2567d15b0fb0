"""`wanlab import`: topologies of containerlab and GNS3."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from wanlab.errors import WanlabError

from .options import file_option


def import_topology(
    file: Annotated[
        Path,
        typer.Argument(
            help="A .clab.yml file of containerlab, or a .gns3 or .gns3project file of GNS3.",
            metavar="FILE",
        ),
    ],
    output: Annotated[
        Path | None, file_option("Write to FILE, which ends in .yaml or .mn.", "-o", "--output")
    ] = None,
    force: Annotated[
        bool, typer.Option("-f", "--force", help="Replace the file if it exists.")
    ] = False,
) -> None:
    """Import a topology from containerlab or GNS3.

    \b
    wanlab import lab.clab.yml
    wanlab import campus.gns3 -o campus.mn

    The result is a .yaml file in the current folder. Everything that could not be imported is
    listed. Images do not run in wanlab: nodes with vendor images become Linux routers without
    addresses. If there is an frr.conf next to the file, or addresses that GNS3 has stored, they are
    read, too.
    """
    from wanlab.topology import file_names, save
    from wanlab.topology.foreign import import_file

    imported = import_file(file)
    target = output or Path(f"{file_names.stem(file.name)}.yaml")
    if target.exists() and not force:
        raise WanlabError(f"{target} already exists", "replace it with --force, or use --output")
    save(imported.topology, target)
    nodes, links = len(imported.topology.nodes), len(imported.topology.links)
    print(f"{target}: {nodes} nodes and {links} links of {imported.program}")
    if imported.notes:
        print("differences from the imported file:", file=sys.stderr)
    for note in imported.notes:
        print(f"  {note}", file=sys.stderr)
