"""Experiments in files: Python (`@experiment`) and YAML."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import CodeType

from wanlab.errors import WanlabError, did_you_mean

from .definition import Experiment
from .source import YAML


def load_experiment(path: str | Path, name: str = "") -> Experiment:
    """The experiment in a file; where there are several, the one of that name."""
    path = Path(path).resolve()
    if not path.is_file():
        raise WanlabError(f"there is no file {path}", "name a file with an experiment")
    if path.suffix in YAML:
        from .yaml_form import read_yaml

        return read_yaml(path)
    if path.suffix != ".py":
        raise WanlabError(f"{path.name} is no experiment", "it may end in .py, .yaml, .yml")
    found = {one.name: one for one in _experiments_in(path)}
    if name in found:
        return found[name]
    if name:
        raise WanlabError(f"{path.name} has no experiment {name!r}", did_you_mean(name, found))
    if len(found) == 1:
        return next(iter(found.values()))
    if not found:
        raise WanlabError(f"{path.name} has no experiment", "a function with @experiment above it")
    raise WanlabError(
        f"{path.name} has several experiments: {', '.join(found)}",
        f"name one, as in {path.name}:{next(iter(found))}",
    )


class _AsItIsNow(SourceFileLoader):
    """Without Python's cache of compiled files: that takes a file for unchanged which has been written
    again within a second and is as long as before."""

    def get_code(self, fullname: str) -> CodeType:
        return self.source_to_code(self.get_data(self.path), self.path)


def _experiments_in(path: Path) -> Iterator[Experiment]:
    module_name = f"wanlab_experiment_{path.stem}"
    loader = _AsItIsNow(module_name, str(path))
    spec = importlib.util.spec_from_file_location(module_name, path, loader=loader)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[module_name] = module
    _stand_beside(path.parent)
    try:
        spec.loader.exec_module(module)
    except WanlabError:
        raise
    except SyntaxError as error:
        raise WanlabError(f"{path.name}, line {error.lineno}: {error.msg}") from error
    except Exception as error:
        what = f"{path.name} cannot be loaded: {type(error).__name__}: {error}"
        raise WanlabError(what) from error
    for thing in list(vars(module).values()):
        if isinstance(thing, Experiment) and thing.function.__module__ == module_name:
            yield thing


def _stand_beside(folder: Path) -> None:
    """Modules beside the experiment can be imported, then and later; those of its namesakes in another
    folder are forgotten."""
    if str(folder) in sys.path:
        sys.path.remove(str(folder))
    sys.path.insert(0, str(folder))
    for beside in [*folder.glob("*.py"), *folder.glob("*/__init__.py")]:
        name = beside.stem if beside.parent == folder else beside.parent.name
        known = getattr(sys.modules.get(name), "__file__", None)
        if known and name not in sys.stdlib_module_names and Path(known) != beside:
            del sys.modules[name]
