"""The values that the shell completes: units, topologies, nodes, kernels, quantities.

Typer asks for them while the user types, so each imports little, and none raises: a mistake in the
words typed so far must not print anything.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from wanlab.machine_options import MACHINE_OPTIONS

if TYPE_CHECKING:
    from wanlab import Topology

Completion = Callable[[typer.Context, str], list[str | tuple[str, str]]]
"""Returns the words that may complete a command line, some with an explanation."""
_MACHINE_OPTIONS = tuple(f"--{name}" for name in MACHINE_OPTIONS)
TOPOLOGY_FILES = (".mn", ".yaml", ".yml", ".json")


def one_of(*words: str) -> Completion:
    """Return a completion for an option with a fixed set of values."""

    def complete(context: typer.Context, incomplete: str) -> list[str | tuple[str, str]]:
        return [word for word in words if word.startswith(incomplete)]

    return complete


def _quietly(words: Callable[[typer.Context, str], Iterable[str | tuple[str, str]]]) -> Completion:
    """Turn a generator of words into a completion. An exception in it ends the list."""

    def complete(context: typer.Context, incomplete: str) -> list[str | tuple[str, str]]:
        matches: list[str | tuple[str, str]] = []
        with contextlib.suppress(Exception):
            for item in words(context, incomplete):
                if (item if isinstance(item, str) else item[0]).startswith(incomplete):
                    matches.append(item)
        return matches

    return complete


@_quietly
def units(context: typer.Context, incomplete: str) -> Iterator[tuple[str, str]]:
    """Yield the units of the course with their titles."""
    from wanlab.labs import catalog

    for name in catalog.names():
        lesson = catalog.folder_of(name) / "lesson.md"
        title = lesson.read_text(encoding="utf-8").partition("\n")[0] if lesson.exists() else ""
        yield name, title.lstrip("# ")


@_quietly
def doc_pages(context: typer.Context, incomplete: str) -> Iterator[tuple[str, str]]:
    """Yield the pages of the documentation with their titles."""
    from wanlab.documentation import doc_pages as all_pages

    for page in all_pages():
        yield page.name, page.title


def _topology_words(incomplete: str) -> Iterator[str]:
    """Yield shapes; after a shape, its sizes and the conditions of links; and files."""
    from wanlab import shapes
    from wanlab.topology import CONDITION_WORDS

    name, comma, _ = incomplete.partition(",")
    if not comma:
        yield from shapes.SHAPES
        folder = Path(incomplete).parent if "/" in incomplete else Path()
        for path in sorted(folder.iterdir()):
            if path.suffix in TOPOLOGY_FILES:
                yield str(path)
    elif name in shapes.SHAPES:
        before = incomplete.rpartition(",")[0]
        for word in (*shapes.sizes_of(name), *CONDITION_WORDS):
            if f"{word}=" not in before:
                yield f"{before},{word}="


@_quietly
def topologies(context: typer.Context, incomplete: str) -> Iterator[str]:
    """Yield values of --topo: shapes and files."""
    yield from _topology_words(incomplete)


@_quietly
def nodes(context: typer.Context, incomplete: str) -> Iterator[str]:
    """Yield the nodes of the topology that has been typed."""
    yield from (node.name for node in _typed_topology(context).nodes)


@_quietly
def ports(context: typer.Context, incomplete: str) -> Iterator[str]:
    """Yield the ports of the topology that has been typed."""
    from wanlab.topology import resolve

    for link in resolve(_typed_topology(context)).links:
        yield from (str(port.name) for port in link.ports)


@_quietly
def queues(context: typer.Context, incomplete: str) -> Iterator[str]:
    """Yield the kinds of queues."""
    from wanlab.topology import QUEUE_KINDS

    yield from QUEUE_KINDS


@_quietly
def standard_tests(context: typer.Context, incomplete: str) -> Iterator[tuple[str, str]]:
    """Yield the tests of `wanlab test`."""
    from wanlab.standard_tests import catalog

    yield "list", "print all tests"
    yield from ((test.name, test.about) for test in catalog.TESTS.values())


@_quietly
def gallery(context: typer.Context, incomplete: str) -> Iterator[tuple[str, str]]:
    """Yield the figures of the gallery with their titles."""
    from wanlab.gallery import unit_file

    for name in unit_file.names():
        yield name, unit_file.find(name).title


@_quietly
def quantities(context: typer.Context, incomplete: str) -> Iterator[str]:
    """Yield the quantities of `wanlab plot --what`; after a comma, those that are not in the list."""
    from wanlab.plot import quantities as known

    before, comma, _ = incomplete.rpartition(",")
    for name in known.QUANTITIES:
        if name not in before.split(","):
            yield f"{before}{comma}{name}"


@_quietly
def kernels(context: typer.Context, incomplete: str) -> Iterator[str]:
    """Yield the folders of the kernels that have been built."""
    from wanlab.machine.embedded import kernels_folder

    yield from (str(path.parent) for path in kernels_folder().glob("*/manifest.json"))


@_quietly
def kernel_names(context: typer.Context, incomplete: str) -> Iterator[str]:
    """Yield the names of the kernels that have been built."""
    from wanlab.machine.embedded import built_kernels

    yield from built_kernels()


@_quietly
def cpu_names(context: typer.Context, incomplete: str) -> Iterator[str]:
    """Yield the names of the models of processors."""
    from wanlab.topology import processor_names

    yield from processor_names()


OF_OPTIONS = {"kernel": kernel_names, "cpu": cpu_names}
"""Completions of options of a machine that have no fixed set of values."""


def _values_of(option: str, context: typer.Context) -> Iterator[str | tuple[str, str]]:
    """Yield the values of an option of a machine, such as --wire."""
    name = option.removeprefix("--")
    if name in OF_OPTIONS:
        yield from OF_OPTIONS[name](context, "")
    else:
        yield from MACHINE_OPTIONS[name].choices


@_quietly
def settings(context: typer.Context, incomplete: str) -> Iterator[str]:
    """Yield the parameters of a YAML experiment. A Python experiment would have to be executed."""
    from wanlab.experiments import load_experiment

    file = str(context.params.get("file") or "")
    if file.endswith((".yaml", ".yml")):
        for name in load_experiment(file).parameters:
            yield f"{name}="
    name, equals, _ = incomplete.partition("=")
    if name in OF_OPTIONS and equals:
        yield from (f"{name}={value}" for value in OF_OPTIONS[name](context, ""))


@_quietly
def mn_arguments(context: typer.Context, incomplete: str) -> Iterator[str | tuple[str, str]]:
    """Yield the options of `mn`, or the values of the option before."""
    from wanlab.mininet import options

    before = str((context.params.get("arguments") or [""])[-1])
    if before == "--topo":
        yield from _topology_words(incomplete)
    elif before in options.VALUES:
        yield from options.VALUES[before]
    elif before in _MACHINE_OPTIONS:
        yield from _values_of(before, context)
    else:
        yield from options.names()


@_quietly
def python_arguments(context: typer.Context, incomplete: str) -> Iterator[str | tuple[str, str]]:
    """Yield the options of the machine, or the values of the option before; the script is a file."""
    before = str((context.params.get("arguments") or [""])[-1])
    if before in _MACHINE_OPTIONS:
        yield from _values_of(before, context)
    elif incomplete.startswith("-"):
        yield from _MACHINE_OPTIONS


def _typed_topology(context: typer.Context) -> Topology:
    from . import topologies as reader

    return reader.read(str(context.params.get("topo") or context.params.get("topology")))
