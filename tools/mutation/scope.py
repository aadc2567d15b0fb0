"""Which modules are mutated, and which test files import them.

The modules are those that decide whether a result can be trusted: what makes an earlier result valid,
what a submission earns, whether a replay is equal, and what numbers are read from the output of programs
and of the kernel.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path

PACKAGES: Mapping[str, tuple[str, ...]] = {
    "jobs and keys": (
        "jobs/origin",
        "jobs/programs",
        "jobs/job",
        "jobs/batch",
        "jobs/store",
        "run/key",
        "run/design",
        "run/result",
    ),
    "sweep": ("sweep/cache", "sweep/folder", "sweep/results", "sweep/result_set", "sweep/table"),
    "grading": (
        "labs/grade",
        "labs/outcome",
        "labs/unit",
        "labs/run_inputs",
        "labs/class_run",
        "labs/grade_tables",
        "labs/similar",
    ),
    "sessions": ("session/comparison", "session/lines", "session/recorded"),
    "parsers": (
        "measure/iperf3",
        "measure/iperf3_text",
        "measure/iperf3_summary",
        "measure/ping",
        "netlink/framing",
        "netlink/link_dump",
        "netlink/qdisc_dump",
        "netlink/qdisc",
        "measure/pcapng",
        "measure/packet_headers",
        "measure/tc_text",
        "measure/tcp_info",
        "measure/metrics",
        "measure/metric_values",
        "measure/fairness",
        "measure/port_queue",
        "measure/traffic",
    ),
    "units and fields": ("units", "fields"),
    "the calendar": ("machine/embedded/calendar", "machine/embedded/timetravel", "network/timers"),
}


def modules(root: Path) -> dict[str, str]:
    """Map the path of each mutated file to its package; only files that exist."""
    paths = {
        f"src/wanlab/{name}.py": package for package, names in PACKAGES.items() for name in names
    }
    return {path: package for path, package in paths.items() if (root / path).is_file()}


def importers(root: Path, paths: Iterable[str]) -> dict[str, list[str]]:
    """Map each of these files to the test files that import something from it.

    If there are none, they are those that import a module which imports it, and so on.
    """
    tests = _importers(root, "tests", "test_*.py")
    modules = _importers(root, "src", "*.py")
    return {path: _tests_of({path}, set(), tests, modules) for path in paths}


def _tests_of(
    paths: set[str],
    seen: set[str],
    tests: Mapping[str, Sequence[str]],
    modules: Mapping[str, Sequence[str]],
) -> list[str]:
    found = sorted({test for path in paths for test in tests.get(path, ())})
    above = {module for path in paths for module in modules.get(path, ())} - seen - paths
    return found if found or not above else _tests_of(above, seen | paths, tests, modules)


def nearest(importers: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    """Keep of each file's tests those that are about it, as their names say.

    They notice most mutants, and are a small part of the tests that run the file's lines: those of
    tests/labs/test_grade.py for src/wanlab/labs/grade.py, or all of tests/labs/ if there is none.
    """
    return {path: _nearest(Path(path), tests) for path, tests in importers.items()}


def _nearest(path: Path, tests: Sequence[str]) -> list[str]:
    folder = "tests" / path.relative_to("src/wanlab").parent
    beside = [test for test in tests if folder in Path(test).parents] or list(tests)
    named = [test for test in beside if Path(test).stem.startswith(f"test_{path.stem}")]
    return named or beside


def _importers(root: Path, folder: str, pattern: str) -> dict[str, list[str]]:
    """Map the files of the package to the files in a folder that import something from them."""
    found: dict[str, list[str]] = {}
    for file in sorted((root / folder).rglob(pattern)):
        for path in imported_files(root / "src", file):
            if path != file and path.name != "__init__.py":
                name = str(path.relative_to(root))
                found.setdefault(name, []).append(str(file.relative_to(root)))
    return found


def imported_files(source: Path, file: Path) -> set[Path]:
    """Return the files below `source` from which a file imports something, anywhere in it."""
    package = ".".join(file.relative_to(source).parts[:-1]) if source in file.parents else ""
    found = set()
    for module, name in _imports(file.read_bytes(), package):
        if path := _origin(source, module, name):
            found.add(path)
    return found


@cache
def _imports(text: bytes, package: str) -> tuple[tuple[str, str], ...]:
    """Return the modules that a file imports, each with a name from it, or with ""."""
    return tuple(_all_imports(text, package))


def _all_imports(text: bytes, package: str) -> Iterator[tuple[str, str]]:
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            yield from ((alias.name, "") for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            folders = package.split(".")
            above = ".".join(folders[: len(folders) - node.level + 1]) if node.level else ""
            module = ".".join(filter(None, [above, node.module]))
            yield from ((module, alias.name) for alias in node.names)


def _origin(source: Path, module: str, name: str, depth: int = 0) -> Path | None:
    """Return the file that defines a name; a package's __init__ may have it from another module."""
    folder = source / module.replace(".", "/")
    if name and (path := _file(folder / name)):
        return path
    path = _file(folder)
    if path is None or path.name != "__init__.py" or not name or depth > 4:
        return path
    for inner, inner_name in _imports(path.read_bytes(), module):
        if inner_name == name:
            return _origin(source, inner, name, depth + 1)
    return path


def _file(path: Path) -> Path | None:
    for candidate in (path.with_suffix(".py"), path / "__init__.py"):
        if candidate.is_file():
            return candidate
    return None
