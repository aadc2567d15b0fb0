"""The code of an experiment, as files that are sent to worker processes and to other computers.

    experiment's file  +  modules beside it that it imports  +  files that it names
                               \\__ found by reading the import statements; nothing is executed

A run uses these files and nothing else of their folder, on this computer as on others, so a needed file
that the experiment does not name is missing at once. For an experiment that is not in a file (in a
notebook, in a test's function) a file is written: its function and everything that it refers to.

Libraries (neither Python's own, nor wanlab, nor beside the file) are not sent; their versions are part
of the source's digest.
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

from wanlab.errors import WanlabError
from wanlab.jobs.archive import pack
from wanlab.yaml_text import read_yaml

from .design import DESIGN_KEYS

YAML = (".yaml", ".yml")
GENERATED_FILE = "experiment.py"
"""The file that is written for an experiment without one."""
IRRELEVANT_KEYS = {*DESIGN_KEYS, "full", "plots", "labels", "about"}
"""Keys of a YAML file that do not change the result of a run."""


@dataclass(frozen=True)
class SourceCode:
    """The files by their paths, the one with the experiment, and the experiment's name in it."""

    entry: str
    name: str
    files: Mapping[str, bytes]
    libraries: Mapping[str, str] = field(default_factory=dict)
    """The version of each library that it imports."""

    def digest(self) -> str:
        """Return the hash of the parts that decide a run.

        Comments in Python, the arguments of `@experiment(...)`, and design and figures in YAML do not
        count, because they do not change the runs.
        """
        digest = hashlib.sha256()
        for part in (self.entry, self.name, repr(sorted(self.libraries.items()))):
            digest.update(part.encode() + b"\0")
        for path, content in sorted(self.files.items()):
            relevant = _relevant_part(content, path, is_entry=path == self.entry)
            digest.update(f"{path}\0{len(relevant)}\0".encode())
            digest.update(relevant)
        return digest.hexdigest()

    def to_bytes(self) -> bytes:
        """Return the files as one byte string; the same source gives the same bytes."""
        return pack(self.files)


def of_file(path: Path, name: str, named_files: Sequence[str]) -> SourceCode:
    """Return the source of an experiment in a file: the file, the modules beside it that it imports, and
    the named files."""
    folder = path.parent
    files: dict[str, bytes] = {}
    libraries: dict[str, str] = {}
    if path.suffix in YAML:
        files[path.name] = path.read_bytes()
    else:
        _follow(path, folder, files, libraries)
    for file in named_files:
        try:
            files[file] = _beside(folder, file).read_bytes()
        except OSError as error:
            raise WanlabError(
                f"the experiment {name} names the file {file}: {error.strerror}",
                f"it should be in {folder}",
            ) from None
    return SourceCode(path.name, name, files, libraries)


def of_function(function: Callable[..., object], name: str, decoration: str) -> SourceCode:
    """Return the source of an experiment that is in no file: a text with everything it refers to.

    `decoration` is the code that makes an experiment of the function.
    """
    definitions: dict[str, str] = {}
    _write_definition(function, definitions)
    imports = [text for text in definitions.values() if text.startswith(("import ", "from "))]
    others = [text for text in definitions.values() if not text.startswith(("import ", "from "))]
    text = "\n".join(["from __future__ import annotations", *sorted(imports), *others, decoration])
    libraries: dict[str, str] = {}
    _note_libraries(ast.parse(text), Path("/nonexistent"), libraries)
    return SourceCode(GENERATED_FILE, name, {GENERATED_FILE: f"{text}\n".encode()}, libraries)


def _relevant_part(content: bytes, path: str, *, is_entry: bool) -> bytes:
    """Return the part of a file's content that decides a run."""
    if is_entry and path.endswith(YAML):
        data = read_yaml(content.decode())
        assert isinstance(data, dict)
        relevant = {key: value for key, value in data.items() if key not in IRRELEVANT_KEYS}
        return repr(relevant).encode()
    if not path.endswith(".py"):
        return content
    tree = ast.parse(content)
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            node.decorator_list = [
                decorator for decorator in node.decorator_list if not _is_experiment(decorator)
            ]
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
    """Add a Python file and, recursively, the files beside the experiment that it imports."""
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
    """Yield the modules that a file imports; for `from a import b` also a.b, which may be a module."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def _local_files(folder: Path, module: str) -> Iterator[Path]:
    """Yield the file of a module beside the experiment, or all files of a package there."""
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
    """Return a library's version; if it is installed from a checkout, also the hash of its files."""
    names = importlib.metadata.packages_distributions().get(library, [])
    versions = [f"{name} {importlib.metadata.version(name)}" for name in sorted(set(names))]
    try:
        spec = importlib.util.find_spec(library)
    except (ImportError, ValueError):
        spec = None
    if spec is None:
        return "missing"
    origin = Path(spec.origin or "")
    if "site-packages" not in origin.parts and origin.is_file():
        files = sorted(origin.parent.rglob("*.py")) if origin.stem == "__init__" else [origin]
        versions.append(hashlib.sha256(b"\0".join(f.read_bytes() for f in files)).hexdigest())
    return ", ".join(versions) or "unknown"


# -- from a function ------------------------------------------------------------------------------


def _write_definition(definition: Callable[..., object], definitions: dict[str, str]) -> None:
    """Add the text of a function or class, after the text of everything that it refers to."""
    name = definition.__name__
    text = _text_of(definition)
    definitions.setdefault(name, "")  # it may refer to itself
    visible = _visible_names(definition)
    # In a notebook a local variable of the function may have the name of a global one.
    code = getattr(definition, "__code__", None)
    local = {*code.co_varnames, *code.co_cellvars} if code else set()
    used = {node.id for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Name)}
    for used_name in sorted(used - local):
        if used_name in visible and used_name not in definitions:
            _write_name(used_name, visible[used_name], name, definitions)
    del definitions[name]  # so that it comes after the definitions that it refers to
    definitions[name] = text


def _text_of(definition: Callable[..., object]) -> str:
    """Return the text of a function or class; for an experiment, without decorator and annotations."""
    try:
        text = textwrap.dedent(inspect.getsource(definition))
    except (OSError, TypeError):
        raise WanlabError(
            f"cannot read the source of {definition.__name__}", "put the experiment into a file"
        ) from None
    node = ast.parse(text).body[0]
    assert isinstance(node, ast.FunctionDef | ast.ClassDef)
    if not any(_is_experiment(decorator) for decorator in node.decorator_list):
        return text
    assert isinstance(node, ast.FunctionDef)
    node.decorator_list = []
    node.returns = None
    for argument in [*node.args.args, *node.args.kwonlyargs]:
        argument.annotation = None
    return ast.unparse(node)


def _visible_names(definition: Callable[..., object]) -> dict[str, object]:
    """Return the names that a function can use: those of its module and of the functions around it."""
    if not inspect.isfunction(definition):
        return dict(vars(sys.modules[definition.__module__]))
    return {**definition.__globals__, **inspect.getclosurevars(definition).nonlocals}


def _write_name(name: str, value: object, user: str, definitions: dict[str, str]) -> None:
    """Add a line that gives the name its value in another process: an import, or a definition."""
    module = getattr(value, "__module__", None)
    qualified = getattr(value, "__qualname__", getattr(value, "__name__", ""))
    if isinstance(value, ModuleType):
        definitions[name] = f"import {value.__name__} as {name}"
    elif module and module != "__main__" and _is_importable(module, qualified, value):
        definitions[name] = f"from {module} import {qualified} as {name}"
    elif inspect.isfunction(value) or inspect.isclass(value):
        _write_definition(value, definitions)
    elif _is_constant(value):
        definitions[name] = f"{name} = {value!r}"
    elif name not in vars(builtins):
        raise WanlabError(
            f"{user} uses {name}, which cannot be sent to another process",
            f"create {name} inside {user}, or put the experiment into a file",
        )


def _is_importable(module: str, qualified: str, value: object) -> bool:
    """Whether another process can import the value: from Python, wanlab, or an installed library."""
    loaded = sys.modules.get(module)
    file = getattr(loaded, "__file__", None)
    is_installed = (
        file is None
        or "site-packages" in file
        or module.partition(".")[0] in {"wanlab", *sys.stdlib_module_names}
    )
    return is_installed and getattr(loaded, qualified, None) is value


def _is_constant(value: object) -> bool:
    """Whether `repr` gives an expression that makes the value again."""
    if isinstance(value, list | tuple | set | frozenset):
        return all(map(_is_constant, value))
    if isinstance(value, dict):
        return all(_is_constant(part) for pair in value.items() for part in pair)
    return value is None or isinstance(value, str | int | float | bool | bytes)


def _is_experiment(decorator: ast.expr) -> bool:
    """Whether a decorator is `@experiment` or `@experiment(...)`, by its name."""
    called = decorator.func if isinstance(decorator, ast.Call) else decorator
    name = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
    return name == "experiment"
