"""`wanlab cpu`: prints models of processors, and measures this computer's."""

from __future__ import annotations

import datetime
import json
import textwrap
from dataclasses import asdict
from pathlib import Path

from wanlab import __version__
from wanlab.errors import WanlabError
from wanlab.shared_folder import file_error, write_output
from wanlab.text_table import aligned
from wanlab.topology.cpu import ABOUT, FREE, CpuModel, is_model_file, processor_names, read_model

from .progress import Progress

NO_COST = "computing takes no time (the default)"
WIDTH = 100


def show_list(*, as_json: bool) -> None:
    """Print the models, `free` first."""
    models = [read_model(name) for name in processor_names() if name != FREE]
    if as_json:
        print(json.dumps([asdict(model) for model in models], indent=2))
        return
    rows = [(FREE, "", NO_COST)]
    rows += [(model.name, f"{model.cores} cores", model.about) for model in models]
    print("\n".join(aligned(rows, "<><")))


def show(name: str, *, as_json: bool) -> None:
    """Print a model."""
    if name == FREE:
        print(f"{FREE}: {NO_COST}")
        return
    model = read_model(name)
    if as_json:
        print(json.dumps(asdict(model), indent=2))
        return
    for line in _lines(model):
        print(line)


def _lines(model: CpuModel) -> list[str]:
    texts = [
        line
        for word in ABOUT
        if (text := getattr(model, word))
        for line in textwrap.wrap(f"{word}: {text}", WIDTH, subsequent_indent="  ")
    ]
    rows = [(name, f"{model.costs[name]:,}", model.sources[name]) for name in model.costs]
    return [*texts, f"cores: {model.cores}", "", *aligned(rows, "<><")]


def calibrate(output: Path, base: str) -> None:
    """Measure this computer and write its model."""
    from wanlab.calibration import calibrated, measure, model_text

    if not is_model_file(output.name):
        raise WanlabError(f"{output} is not the name of a model", "use a name that ends in .yaml")
    base_model = read_model(base)
    progress = Progress()
    try:
        costs, error = measure(progress.say)
    finally:
        progress.end()
    day = datetime.datetime.now(tz=datetime.UTC).date().isoformat()
    model = calibrated(base_model, output.stem, costs, error, version=__version__, day=day)
    try:
        write_output(output, model_text(model))
    except OSError as problem:
        raise file_error("write", output, problem) from None
    for line in _lines(model):
        print(line)
    print(f"the model is in {output}; to use it: --cpu {output}")
