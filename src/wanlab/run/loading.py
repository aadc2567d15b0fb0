"""Find experiments in files: Python (`@experiment`) and YAML."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType
from typing import TypeVar

from wanlab.errors import WanlabError, did_you_mean

from .definition import Definition
from .source import YAML
from .yaml_file import read_yaml

AnyDefinition = TypeVar("AnyDefinition", bound=Definition)


def load_definition(
    path: str | Path, name: str, definition_type: type[AnyDefinition]
) -> AnyDefinition:
    """Return the experiment in a file; if there are several, the one with this name.

    A YAML file is read into a `definition_type`. A Python file is searched for instances of it.
    Raises WanlabError if there is no such experiment or the file has errors.
    """
    path = Path(path).resolve()
    if not path.is_file():
        raise WanlabError(f"there is no file {path}", "name a file with an experiment")
    if path.suffix in YAML:
        return read_yaml(path, definition_type)
    if path.suffix != ".py":
        raise WanlabError(
            f"{path.name} is not an experiment", "its name must end in .py, .yaml or .yml"
        )
    module = _load_module(path)
    by_name = {each.name: each for each in _definitions_in(module, definition_type)}
    if name in by_name:
        return by_name[name]
    if name:
        raise WanlabError(f"{path.name} has no experiment {name!r}", did_you_mean(name, by_name))
    if len(by_name) == 1:
        return next(iter(by_name.values()))
    if not by_name:
        raise WanlabError(f"{path.name} has no experiment", "decorate a function with @experiment")
    raise WanlabError(
        f"{path.name} has several experiments: {', '.join(by_name)}",
        f"name one, as in {path.name}:{next(iter(by_name))}",
    )


class _UncachedLoader(SourceFileLoader):
    """Ignores Python's cache of compiled files.

    The cache overlooks a change within a second of the last one that keeps the file's size.
    """

    def get_code(self, fullname: str) -> CodeType:
        return self.source_to_code(self.get_data(self.path), self.path)


def _load_module(path: Path) -> ModuleType:
    module_name = f"wanlab_experiment_{path.stem}"
    loader = _UncachedLoader(module_name, str(path))
    spec = importlib.util.spec_from_file_location(module_name, path, loader=loader)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[module_name] = module
    _make_importable(path.parent)
    try:
        spec.loader.exec_module(module)
    except WanlabError:
        raise
    except SyntaxError as error:
        raise WanlabError(f"{path.name}, line {error.lineno}: {error.msg}") from error
    except Exception as error:
        what = f"{path.name} cannot be loaded: {type(error).__name__}: {error}"
        raise WanlabError(what) from error
    return module


def _definitions_in(
    module: ModuleType, definition_type: type[AnyDefinition]
) -> Iterator[AnyDefinition]:
    """Yield the experiments that the module defines, but not those that it imports."""
    for value in list(vars(module).values()):
        if isinstance(value, definition_type) and value.function.__module__ == module.__name__:
            yield value


def _make_importable(folder: Path) -> None:
    """Put the experiment's folder first on the module path, for now and for later imports.

    Modules of another experiment's folder with the same names as modules here are unloaded.
    """
    if str(folder) in sys.path:
        sys.path.remove(str(folder))
    sys.path.insert(0, str(folder))
    for path in [*folder.glob("*.py"), *folder.glob("*/__init__.py")]:
        name = path.stem if path.parent == folder else path.parent.name
        loaded_from = getattr(sys.modules.get(name), "__file__", None)
        if loaded_from and name not in sys.stdlib_module_names and Path(loaded_from) != path:
            del sys.modules[name]
