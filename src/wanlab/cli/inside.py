"""`wanlab mn` and `wanlab python`: run a Python program in a new machine.

The machine's options are read here; all other arguments belong to the program.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from threading import Thread
from typing import Any

from wanlab import Network, Switch, Topology, shapes
from wanlab.errors import RequirementError, WanlabError, did_you_mean
from wanlab.mininet import options
from wanlab.mininet.strict import STRICT
from wanlab.topology import IPV6_BASE, Node

from . import execute, start_date, topologies, virtual_environment
from .editor import prepare
from .exec_options import ExecOptions
from .guest_folder import check_guest_folder
from .lost_files import check_keep_folder

# Do not let a file in the working folder hide a module of the standard library.
SAFE_PATH = "-P"
PYTHONS_OPTIONS = ("--version", "--check-hash-based-pycs")
SHOWING_LEVELS = ("debug", "info")
"""Levels of `mn -v` at which Mininet says what it does."""
HIDDEN_FOLDERS = ("/tmp/", "/run/", "/dev/")
BASE_MEMORY_BYTES = 2 << 30
NODE_MEMORY_BYTES = 4 << 20


def run_mn(arguments: Sequence[str]) -> int:
    """Run `mn` and return its exit status."""
    parser = options.parser()
    try:
        split = options.split(arguments)
    except ValueError as error:
        parser.error(str(error))
    values = options.read(split.rest, parser)
    if values.version:
        print(options.version())
        return 0
    if values.clean:
        from .clean import run

        return run(dry_run=False)
    for text in values.custom:
        for name in [text] if Path(text).is_file() else text.split(","):
            _check_is_visible(name)
    topology = _topology_of_file(values.topo)
    if topology is not None:
        options.refuse_beside_file(values, parser)
        if values.stp:
            topology = _with_stp(topology)
        if values.ipv6 and not topology.ipv6_base:
            topology = replace(topology, ipv6_base=IPV6_BASE)
    defaults = {"memory": _memory(values.topo)} if topology is None else {}
    machine = {**defaults, **split.machine}
    if remote := options.remote_controllers(values.controller):
        machine["allow-connect"] = ",".join(
            filter(None, [machine.get("allow-connect", ""), *remote])
        )
    # Without --custom, tests need no installed libraries: skipping them saves a tenth of a second.
    skip_site = [] if values.custom or not values.test else ["-S"]
    command = [SAFE_PATH, *skip_site, "-m", "mininet", *split.rest]
    if topology is not None:
        command.append("--attach")
    return _run(
        replace(split, machine=machine),
        command,
        topology or Topology(),
        stdin_is_for_prompt=True,
        records=not values.test,
        shows_drops=values.verbosity in SHOWING_LEVELS,
    )


def run_python(arguments: Sequence[str]) -> int:
    """Run Python and return its exit status. The machine's options come before Python's arguments."""
    try:
        split = options.split(arguments, only_first=True)
    except ValueError as error:
        raise WanlabError(str(error), "see: wanlab python --help") from None
    if split.rest and split.rest[0].startswith("--") and split.rest[0] not in PYTHONS_OPTIONS:
        name = split.rest[0].partition("=")[0]
        raise WanlabError(f"there is no option {name}", did_you_mean(name, options.MACHINE_NAMES))
    if split.rest and not split.rest[0].startswith("-"):
        _check_is_visible(split.rest[0])
    return _run(split, list(split.rest), Topology(), stdin_is_for_prompt=False)


def _run(
    split: options.SplitArguments,
    arguments: list[str],
    topology: Topology,
    *,
    stdin_is_for_prompt: bool,
    records: bool = False,
    shows_drops: bool = False,
) -> int:
    """Run Python with these arguments in a machine that carries this topology."""
    network_options: dict[str, Any] = {"line_rate": options.LINE_RATE}
    network_options |= {name.replace("-", "_"): value for name, value in split.machine.items()}
    paces_to_real = network_options.pop("pace", "") == "real"
    if "allow_connect" in network_options:
        network_options["allow_connect"] = network_options["allow_connect"].split(",")
    if "seed" in network_options:
        network_options["seed"] = int(network_options["seed"])
    if "guest_folder" in network_options:
        network_options["guest_folder"] = check_guest_folder(network_options["guest_folder"])
    keep_files = network_options.pop("keep_files", None)
    date = start_date.parse(network_options.pop("date", None))
    variables = {STRICT: "1"} if split.is_strict else {}
    python, path, own_path = sys.executable, list[str](), virtual_environment.own_programs()
    if (venv := virtual_environment.chosen(network_options.pop("venv", None))) is not None:
        network_options["visible_folders"] = venv.folders
        python, path, own_path = venv.python, [venv.programs], []
        variables["VIRTUAL_ENV"] = str(venv.folder)
    network = Network(topology, **network_options)
    if records and network.clock == "virtual" and "session" not in network_options:
        network.session.record(True)
    exec_options = ExecOptions(
        paces_to_real=paces_to_real,
        stdin_is_for_prompt=stdin_is_for_prompt,
        variables=variables,
        path=tuple(path),
        own_path=tuple(own_path),
        date=date,
        shows_drops=shows_drops,
        keep_files="" if keep_files is None else check_keep_folder(keep_files),
    )
    if sys.stdin.isatty():
        # Import the line editor while the machine boots.
        Thread(target=prepare, daemon=True).start()
    return execute.run_in(network, network.root.start, [python, *arguments], exec_options)


def _topology_of_file(topo: str) -> Topology | None:
    """Return the topology of a file that --topo names; None for a shape."""
    return topologies.read(topo) if topologies.is_file(topo) else None


def _with_stp(topology: Topology) -> Topology:
    """Enable the spanning tree protocol on every switch that forwards without a controller."""

    def changed(node: Node) -> Node:
        if isinstance(node, Switch) and not node.controllers and node.fail_mode != "secure":
            return replace(node, stp=True)
        return node

    return replace(topology, nodes=tuple(changed(node) for node in topology.nodes))


def _memory(topo: str) -> str:
    """Return the machine's default memory, which grows with the number of nodes of a shape."""
    try:
        nodes = len(shapes.from_text(topo).nodes)
    except WanlabError:
        nodes = 0
    return f"{(BASE_MEMORY_BYTES + nodes * NODE_MEMORY_BYTES) >> 20}MiB"


def _check_is_visible(name: str) -> None:
    """Raise RequirementError for a file that exists, but that programs in the machine cannot see."""
    file = Path(name).resolve()
    hidden = str(file).startswith(HIDDEN_FOLDERS) and not file.is_relative_to(Path.cwd())
    if hidden and file.exists():
        raise RequirementError(
            f"{name}: the machine does not see this file, because it has its own /{file.parts[1]}",
            f"run the command in the file's folder: cd {file.parent}",
        )
