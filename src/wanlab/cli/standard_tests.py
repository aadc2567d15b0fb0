"""`wanlab test`: runs ready-made tests, prints their table, and draws their figures."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from wanlab import Design, Sweep
from wanlab.errors import WanlabError
from wanlab.network import MachineChoice
from wanlab.standard_tests import catalog
from wanlab.text_table import aligned

from . import sweeps, topologies

Value = str | int | float | bool
FORMATS = (".png", ".pdf", ".svg")
OF_ANY_TOPOLOGY = ("congestion", "cpu")
"""The values that do not describe the bottleneck."""


def show_list() -> int:
    """Print the tests with their load."""
    tests = [(test.name, test.about) for test in catalog.TESTS.values()]
    tests.append(("tcp_Nup", "N TCP flows up, for any N; tcp_Ndown: down"))
    print("\n".join(aligned(tests, "<<")))
    return 0


def run(
    name: str,
    *,
    topo: str | None,
    values: dict[str, str | None],
    seconds: int,
    flows: int,
    client: str,
    server: str,
    wire: str,
    seeds: int,
    jobs: int | None,
    output: Path | None,
    ending: str,
    flent: bool,
    no_cache: bool,
    choice: MachineChoice,
    as_json: bool,
) -> int:
    """Perform a test with all values and seeds; return 1 if a run failed."""
    from wanlab.standard_tests.experiment import standard_test

    test = catalog.find(name)
    axes = _axes(values)
    if topo is not None and (
        excluded := [f"--{option}" for option in axes if option not in OF_ANY_TOPOLOGY]
    ):
        raise WanlabError(
            f"{' and '.join(excluded)} cannot be combined with --topo",
            "they describe the bottleneck of the default topology; set them in your topology instead",
        )
    if ending not in FORMATS:
        raise WanlabError(f"--format {ending}: unknown format", f"use one of: {', '.join(FORMATS)}")
    fixed: dict[str, Value] = {
        **{"test": test.name, "seconds": seconds, "flows": flows},
        **{"client": client, "server": server},
        "wire": wire,
        "topology": _as_text(topo) if topo else "",
    }
    design = Design(axes, ({k: v for k, v in fixed.items() if v != ""},), repeats=seeds)
    task = Sweep(standard_test, design, output=output or Path("results") / test.name, choice=choice)
    return _perform(task, jobs, ending, flent, no_cache, as_json)


def _perform(
    task: Sweep, jobs: int | None, ending: str, flent: bool, no_cache: bool, as_json: bool
) -> int:
    with sweeps.shown(task) as listener:
        results = task.run(jobs=jobs, uses_cache=not no_cache, retry_failed=True, progress=listener)
    for failure in results.failures:
        print(f"failed: {failure.title(results.varied)}: {failure}")
    if not results.results:
        return 1
    from wanlab.standard_tests import figures, flent_file, summary

    test = str(results.results[0].parameters["test"])
    drawn = figures.draw(results, results.folder / test, ending)
    written = flent_file.write(results, results.folder) if flent else []
    if as_json:
        print(
            json.dumps(
                {
                    **sweeps.results_as_json(results, None),
                    "figures": [str(sweeps.short(path)) for path in drawn],
                    **({"flent": [str(sweeps.short(path)) for path in written]} if flent else {}),
                },
                indent=2,
            )
        )
    else:
        print(summary.text(results))
        if warning := results.computing_warning():
            print(f"Warning: {warning}")
        for path in drawn:
            print(f"figure: {sweeps.short(path)}")
        for path in written:
            print(f"Flent's data file: {sweeps.short(path)}")
        print(f"records: {sweeps.short(results.folder / 'runs')}")
    return 1 if results.failures else 0


def _axes(values: dict[str, str | None]) -> dict[str, Sequence[Value]]:
    """Return the list of values of each option that was used; commas separate values."""
    axes: dict[str, Sequence[Value]] = {}
    for name, text in values.items():
        if text is not None:
            axes[name] = list(dict.fromkeys(part.strip() for part in text.split(",")))
            if not all(axes[name]):
                raise WanlabError(f"--{name} {text}: a value is empty")
    return axes


def _as_text(topo: str) -> str:
    from wanlab.topology import dumps, resolve

    return dumps(resolve(topologies.read(topo)), "test.mn")
