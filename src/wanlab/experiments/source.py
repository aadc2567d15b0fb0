"""The code of an experiment, as files that travel: to worker processes, and to other computers.

    experiment's file  +  modules beside it that it imports  +  files that it names
                               \\__ found by reading the import statements, nothing is run

A run is performed from these files and nothing else of their folder, here as elsewhere: what it needs
and does not name is missed at once. An experiment that is not in a file (in a notebook, in a test's
function) gets one: its function with all that it refers to, as text.

Libraries (neither Python's own, nor wanlab, nor beside the file) do not travel; their versions count.
"""

from __future__ import annotations

import ast
import builtins
import hashlib
import importlib.metadata
import importlib.util
import inspect
import sys
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

from wanlab.errors import WanlabError

from . import archive

YAML = (".yaml", ".yml")
WRITTEN = "experiment.py"
"""The file that an experiment without one gets."""


@dataclass(frozen=True)
class Source:
    """Files by their paths, the one that has the experiment, and its name in there."""

    entry: str
    name: str
    files: Mapping[str, bytes]
    libraries: Mapping[str, str] = field(default_factory=dict)
    """Version of each library that it imports."""

    def digest(self) -> str:
        """Of what decides a run: of Python what it means, without comments and without what stands in
        `@experiment(...)`. Another design of the same experiment leaves its runs what they are."""
        digest = hashlib.sha256()
        for part in (self.entry, self.name, repr(sorted(self.libraries.items()))):
            digest.update(part.encode() + b"\0")
        for path, content in sorted(self.files.items()):
            meaning = _meaning(content, path, is_entry=path == self.entry)
            digest.update(f"{path}\0{len(meaning)}\0".encode())
            digest.update(meaning)
        return digest.hexdigest()

    def to_bytes(self) -> bytes:
        """To travel; the same bytes for the same source."""
        return archive.pack(self.files)


def of_file(path: Path, name: str, named: Sequence[str]) -> Source:
    """Of an experiment in a file, with what it imports from beside it and the files that it names."""
    folder = path.parent
    files: dict[str, bytes] = {}
    libraries: dict[str, str] = {}
    if path.suffix in YAML:
        files[path.name] = path.read_bytes()
    else:
        _follow(path, folder, files, libraries)
    for other in named:
        try:
            files[other] = _beside(folder, other).read_bytes()
        except OSError as error:
            raise WanlabError(
                f"the experiment {name} names the file {other}: {error.strerror}",
                f"it is looked for in {folder}",
            ) from None
    return Source(path.name, name, files, libraries)


def of_function(function: Callable[..., Any], name: str, decoration: str) -> Source:
    """Of an experiment that is in no file: a text with all that its function refers to."""
    lines: dict[str, str] = {}
    _write_function(function, lines)
    text = "\n".join(
        [
            "from __future__ import annotations",
            *sorted(line for line in lines.values() if line.startswith(("import ", "from "))),
            *(line for line in lines.values() if not line.startswith(("import ", "from "))),
            decoration,
        ]
    )
    libraries: dict[str, str] = {}
    _note_libraries(ast.parse(text), Path("/nonexistent"), libraries)
    return Source(WRITTEN, name, {WRITTEN: f"{text}\n".encode()}, libraries)


def _meaning(content: bytes, path: str, *, is_entry: bool) -> bytes:
    if is_entry and path.endswith(YAML):
        from .yaml_form import meaning

        return meaning(content.decode()).encode()
    if not path.endswith(".py"):
        return content
    tree = ast.parse(content)
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            kept = [one for one in node.decorator_list if not _names_experiment(one)]
            node.decorator_list = kept
    return ast.unparse(tree).encode()


# -- from a file ----------------------------------------------------------------------------------


def _beside(folder: Path, name: str) -> Path:
    path = (folder / name).resolve()
    if not path.is_relative_to(folder.resolve()):
        raise WanlabError(
            f"the file {name} is not in the experiment's folder", f"put it into {folder}"
        )
    return path


def _follow(path: Path, folder: Path, files: dict[str, bytes], libraries: dict[str, str]) -> None:
    """Adds a Python file and, in turn, what it imports."""
    name = str(path.relative_to(folder))
    if name in files:
        return
    try:
        files[name] = path.read_bytes()
    except OSError as error:
        raise WanlabError(f"cannot read {path}: {error.strerror}") from None
    try:
        tree = ast.parse(files[name])
    except SyntaxError as error:
        raise WanlabError(f"{path}, line {error.lineno}: {error.msg}") from None
    _note_libraries(tree, folder, libraries)
    for module in _modules(tree):
        for local in _local_files(folder, module):
            _follow(local, folder, files, libraries)


def _modules(tree: ast.AST) -> Iterator[str]:
    """Every module that a file imports, and for `from a import b` also a.b, which may be one."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def _local_files(folder: Path, module: str) -> Iterator[Path]:
    """The files of a module that stands beside the experiment: a package comes whole."""
    first = folder / module.partition(".")[0]
    if first.with_suffix(".py").is_file():
        yield first.with_suffix(".py")
    elif (first / "__init__.py").is_file():
        yield from sorted(first.rglob("*.py"))


def _note_libraries(tree: ast.AST, folder: Path, libraries: dict[str, str]) -> None:
    for module in _modules(tree):
        first = module.partition(".")[0]
        if first in sys.stdlib_module_names or first == "wanlab" or first in libraries:
            continue
        if not any(_local_files(folder, first)):
            libraries[first] = version_of(first)


def version_of(library: str) -> str:
    """Its version; of one that is installed from a checkout also what is in its files."""
    names = importlib.metadata.packages_distributions().get(library, [])
    versions = [f"{name} {importlib.metadata.version(name)}" for name in sorted(set(names))]
    try:
        found = importlib.util.find_spec(library)
    except (ImportError, ValueError):
        found = None
    if found is None:
        return "missing"
    origin = Path(found.origin or "")
    if "site-packages" not in origin.parts and origin.is_file():
        files = sorted(origin.parent.rglob("*.py")) if origin.stem == "__init__" else [origin]
        versions.append(hashlib.sha256(b"\0".join(f.read_bytes() for f in files)).hexdigest())
    return ", ".join(versions) or "unknown"


# -- from a function ------------------------------------------------------------------------------


def _write_function(thing: Any, lines: dict[str, str]) -> None:
    """Adds the text of a function or class, after the text of what it refers to."""
    try:
        text = textwrap.dedent(inspect.getsource(thing))
    except (OSError, TypeError):
        raise WanlabError(
            f"the text of {thing.__name__} is not to be had", "put the experiment into a file"
        ) from None
    tree = ast.parse(text)
    definition = tree.body[0]
    assert isinstance(definition, ast.FunctionDef | ast.ClassDef)
    is_decorated = any(_names_experiment(decorator) for decorator in definition.decorator_list)
    if is_decorated:
        definition.decorator_list = []
        assert isinstance(definition, ast.FunctionDef)
        definition.returns = None
        for argument in [*definition.args.args, *definition.args.kwonlyargs]:
            argument.annotation = None
        text = ast.unparse(definition)
    lines.setdefault(thing.__name__, "")  # it may refer to itself
    known = _known_to(thing)
    # In a notebook a variable of the function may have the name of a global one.
    code = getattr(thing, "__code__", None)
    own = {*code.co_varnames, *code.co_cellvars} if code else set()
    used = {node.id for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Name)}
    for name in sorted(used - own):
        if name in known and name not in lines:
            _write_name(name, known[name], thing.__name__, lines)
    del lines[thing.__name__]  # what it needs stands before it
    lines[thing.__name__] = text


def _known_to(thing: Any) -> dict[str, Any]:
    """What names mean in a function: its module's, and those of functions around it."""
    if not inspect.isfunction(thing):
        return dict(vars(sys.modules[thing.__module__]))
    return {**thing.__globals__, **inspect.getclosurevars(thing).nonlocals}


def _write_name(name: str, value: Any, user: str, lines: dict[str, str]) -> None:
    module = getattr(value, "__module__", None)
    qualified = getattr(value, "__qualname__", getattr(value, "__name__", ""))
    if isinstance(value, ModuleType):
        lines[name] = f"import {value.__name__} as {name}"
    elif module and module != "__main__" and _is_to_be_found(module, qualified, value):
        lines[name] = f"from {module} import {qualified} as {name}"
    elif inspect.isfunction(value) or inspect.isclass(value):
        _write_function(value, lines)
    elif _is_constant(value):
        lines[name] = f"{name} = {value!r}"
    elif name not in vars(builtins):
        raise WanlabError(
            f"{user} uses {name}, which cannot travel to another process",
            "make it inside, or put the experiment into a file",
        )


def _is_to_be_found(module: str, qualified: str, value: Any) -> bool:
    """In a module that another process can import: of Python, wanlab, or installed."""
    there = sys.modules.get(module)
    file = getattr(there, "__file__", None)
    is_installed = (
        file is None
        or "site-packages" in file
        or module.partition(".")[0]
        in (
            "wanlab",
            *sys.stdlib_module_names,
        )
    )
    return is_installed and getattr(there, qualified, None) is value


def _is_constant(value: Any) -> bool:
    if isinstance(value, list | tuple | set | frozenset):
        return all(map(_is_constant, value))
    if isinstance(value, dict):
        return all(_is_constant(part) for pair in value.items() for part in pair)
    return value is None or isinstance(value, str | int | float | bool | bytes)


def _names_experiment(decorator: ast.expr) -> bool:
    called = decorator.func if isinstance(decorator, ast.Call) else decorator
    name = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
    return name == "experiment"
