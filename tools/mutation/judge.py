"""Judges mutants: runs tests in forked processes, each with one mutant.

It is started in a copy of the checkout and gets its work as lines of JSON. It imports the
libraries once. Then it forks the *collector*, which collects the tests once and forks a process per
mutant. That process gives the mutated code to the functions in memory, or the mutated constants to their
module, and runs the tests.

Where this is impossible, and for constants that nobody has noticed this way, the mutated module must be
imported by a process that has imported nothing of wanlab yet. Those are forked later, from here.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import json
import os
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from functools import _lru_cache_wrapper
from itertools import zip_longest
from pathlib import Path
from types import CodeType, FrameType, FunctionType
from typing import Any

import pytest

from .pool import Ending, Job, run_jobs
from .rebinding import rebind

LIBRARIES = (
    "hypothesis",
    "numpy",
    "pyarrow",
    "pyarrow.parquet",
    "msgspec",
    "yaml",
    "rich.console",
    "typer",
    "matplotlib.figure",
    "matplotlib.backends.backend_agg",
    "starlette.applications",
    "uvicorn",
    "prompt_toolkit",
    "asyncio",
    "multiprocessing",
    "concurrent.futures",
)
"""Imported once, before the first fork; without one of them, judging only takes longer."""
OPTIONS = (
    "-q",
    "-s",
    "-p",
    "no:cacheprovider",
    "-m",
    "not machine and not long",
    "--assert=plain",  # otherwise pytest imports wanlab, which is a plugin, by itself
)
TRACE_CPU_S = 600.0
IMPORT_CPU_S = 15.0
"""How long importing everything may take beside the tests themselves."""
KILLED, SURVIVED, ELSEWHERE = "killed", "survived", "elsewhere"
Request = dict[str, Any]


class Channel:
    """Lines of JSON from the program that has started this one, and to it."""

    def __init__(self) -> None:
        self._replies = os.fdopen(os.dup(1), "w", encoding="utf-8")
        os.dup2(2, 1)  # what tests print goes into the log

    def read(self) -> Request:
        """Return the next request. Bytes are read singly: the forked collector reads, too."""
        line = bytearray()
        while not line.endswith(b"\n"):
            if not (byte := os.read(0, 1)):
                sys.exit("the program that had started this one has ended")
            line += byte
        request: Request = json.loads(Path(json.loads(line)).read_text(encoding="utf-8"))
        return request

    def write(self, reply: Request) -> None:
        self._replies.write(json.dumps(reply) + "\n")
        self._replies.flush()


def main() -> int:
    channel = Channel()
    request = channel.read()
    for name in LIBRARIES:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    gc.freeze()
    if (collector := os.fork()) == 0:
        collected = Collector(channel, request)
        os._exit(pytest.main([*OPTIONS, *request["files"]], plugins=[collected]))
    status = os.waitstatus_to_exitcode(os.waitpid(collector, 0)[1])
    if status != 0:
        return status
    mutants = channel.read()["mutants"]
    _judge_all(channel, mutants, request["workers"], IMPORT_CPU_S, _imported)
    return 0


def _judge_all(
    channel: Channel,
    mutants: Sequence[Request],
    workers: int,
    more_cpu_s: float,
    judge: Callable[[Request], str],
) -> None:
    """Judge each mutant in a process of its own; reply with each result."""
    jobs = (
        Job(str(index), mutant["cpu_s"] + more_cpu_s, lambda mutant=mutant: judge(mutant))  # type: ignore[misc]
        for index, mutant in enumerate(mutants)
    )
    for ending in run_jobs(jobs, workers, parent=0):
        channel.write({"id": mutants[int(ending.name)]["id"], **_result(ending)})
    channel.write({"done": True})


def _result(ending: Ending) -> Request:
    status, _, by = ending.text.partition(" ")
    return {"status": status or ending.reason.partition(" ")[0], "by": by or ending.reason}


# -- tests that have been collected -----------------------------------------------------------------


class Collector:
    """A plugin of pytest: instead of running the collected tests, it judges mutants with them."""

    def __init__(self, channel: Channel, request: Request) -> None:
        self._channel = channel
        self._workers: int = request["workers"]
        self._modules: list[str] = request["modules"]

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection(self) -> None:
        """Let hypothesis neither shrink nor store the examples that fail."""
        from hypothesis import Phase, settings

        settings.register_profile(
            "mutants",
            settings.get_profile("same"),
            phases=(Phase.explicit, Phase.generate),
            database=None,
        )
        settings.load_profile("mutants")

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        items = {item.nodeid: item for item in session.items}
        for path in self._modules:
            importlib.import_module(_module_name(path))
        caches = _caches()
        functions = _functions([_absolute(path) for path in self._modules])
        gc.collect()
        gc.freeze()
        self._trace(session, items, caches, self._channel.read()["files"])

        def judge(mutant: Request) -> str:
            try:
                changed = _replace_code(functions, mutant) or _rebind(mutant)
            except Exception:
                return f"{KILLED} by the import"
            for cache in caches:
                cache.cache_clear()
            chosen = [items[name] for name in mutant["tests"] if name in items]
            result = _run(chosen) if changed else ELSEWHERE
            return ELSEWHERE if result == SURVIVED and mutant["function"] is None else result

        _judge_all(self._channel, self._channel.read()["mutants"], self._workers, 1.0, judge)
        return True

    def _trace(
        self,
        session: pytest.Session,
        items: dict[str, pytest.Item],
        caches: list[_lru_cache_wrapper[Any]],
        files: list[str],
    ) -> None:
        """Run the tests of these files; reply which lines of the modules each test runs."""
        by_file: dict[str, list[pytest.Item]] = {file: [] for file in files}
        for name, item in items.items():
            by_file.get(name.partition("::")[0], []).append(item)
        with tempfile.TemporaryDirectory(prefix="wanlab-traced-") as folder:

            def job(file: str) -> Job:
                path = Path(folder, file.replace("/", "."))
                tracer = Tracer(self._modules, caches)
                return Job(file, TRACE_CPU_S, lambda: tracer.write(by_file[file], path))

            for ending in run_jobs(map(job, by_file), self._workers, parent=0):
                path = Path(folder, ending.name.replace("/", "."))
                traced = json.loads(path.read_text()) if path.exists() else None
                self._channel.write(
                    {"file": ending.name, "traced": traced, "why": ending.reason or ending.text}
                )
        self._channel.write({"done": True})


class Failures:
    """A plugin of pytest that notes the first test that fails."""

    def __init__(self, names: Sequence[str] | None = None) -> None:
        self.first = ""
        self.is_skipped = False
        self._names = None if names is None else set(names)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.is_skipped |= report.skipped
        if report.failed and not self.first:
            self.first = report.nodeid

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        if self._names is not None:
            items[:] = [item for item in items if item.nodeid in self._names]


def _run(items: Sequence[pytest.Item]) -> str:
    """Run tests until one fails."""
    failures = Failures()
    if items:
        items[0].config.pluginmanager.register(failures)
    for item, following in _with_next(items):
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        if failures.first:
            return f"{KILLED} {failures.first}"
    return SURVIVED


def _with_next(items: Sequence[pytest.Item]) -> Iterator[tuple[pytest.Item, pytest.Item | None]]:
    """Yield each test with the next one, for which its fixtures are kept."""
    yield from zip_longest(items, items[1:])


class Tracer:
    """Runs tests and notes which lines of some files each of them runs."""

    def __init__(self, paths: Sequence[str], caches: Sequence[_lru_cache_wrapper[Any]]) -> None:
        self._paths = {_absolute(path): path for path in paths}
        self._lines: dict[str, set[int]] = {path: set() for path in self._paths}
        self._caches = caches

    def _call(self, frame: FrameType, event: str, value: object) -> Any:
        lines = self._lines.get(frame.f_code.co_filename)
        if lines is None:
            return None
        lines.add(frame.f_lineno)

        def line(frame: FrameType, event: str, value: object) -> Any:
            lines.add(frame.f_lineno)
            return line

        return line

    def write(self, items: Sequence[pytest.Item], path: Path) -> str:
        """Run the tests and write what they did; tests that fail or are skipped judge nothing."""
        traced = []
        for item, following in _with_next(items):
            failures = Failures()
            item.config.pluginmanager.register(failures)
            for cache in self._caches:
                cache.cache_clear()
            began_s = time.process_time()
            threading.settrace(self._call)
            sys.settrace(self._call)
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            sys.settrace(None)
            seconds = round(time.process_time() - began_s, 4)
            item.config.pluginmanager.unregister(failures)
            lines = {self._paths[file]: sorted(run) for file, run in self._lines.items() if run}
            if not failures.first and not failures.is_skipped:
                traced.append({"name": item.nodeid, "seconds": seconds, "lines": lines})
            for run in self._lines.values():
                run.clear()
        path.write_text(json.dumps(traced))
        return "traced"


# -- code in memory ---------------------------------------------------------------------------------

Functions = dict[tuple[str, str, int], list[FunctionType]]


def _functions(paths: Sequence[str]) -> Functions:
    """Return all functions of these files that exist, by file, qualified name and first line."""
    found: Functions = {}
    for thing in gc.get_objects():
        if isinstance(thing, FunctionType) and thing.__code__.co_filename in paths:
            code = thing.__code__
            key = code.co_filename, code.co_qualname, code.co_firstlineno
            found.setdefault(key, []).append(thing)
    return found


def _caches() -> list[_lru_cache_wrapper[Any]]:
    """Return the caches of wanlab's functions, whose content may come from unmutated code."""
    return [
        thing
        for thing in gc.get_objects()
        if isinstance(thing, _lru_cache_wrapper) and str(thing.__module__).startswith("wanlab")
    ]


def _replace_code(functions: Functions, mutant: Request) -> bool:
    """Give a function its mutated code; return False if that is impossible."""
    path = _absolute(mutant["path"])
    name, line = mutant["function"] or ("", 0)
    code = next(
        (
            code
            for code in _codes(compile(mutant["source"], path, "exec", dont_inherit=True))
            if (code.co_qualname, code.co_firstlineno) == (name, line)
        ),
        None,
    )
    changed = functions.get((path, name, line), [])
    if code is None or any(f.__code__.co_freevars != code.co_freevars for f in changed):
        return False
    for function in changed:
        function.__code__ = code
    return bool(changed)


def _rebind(mutant: Request) -> bool:
    if mutant["function"] is not None:
        return False
    module = sys.modules[_module_name(mutant["path"])]
    return rebind(module, _absolute(mutant["path"]), mutant["source"])


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)


# -- code that is imported --------------------------------------------------------------------------


class MutantFinder(importlib.abc.MetaPathFinder):
    """Imports one module with other source code."""

    def __init__(self, name: str, path: str, source: str) -> None:
        self._name = name
        self._loader = _MutantLoader(name, path, source)

    def find_spec(
        self, name: str, path: object, target: object = None
    ) -> importlib.machinery.ModuleSpec | None:
        if name != self._name:
            return None
        return importlib.util.spec_from_file_location(name, self._loader.path, loader=self._loader)


class _MutantLoader(importlib.machinery.SourceFileLoader):
    def __init__(self, name: str, path: str, source: str) -> None:
        super().__init__(name, path)
        self._source = source

    def get_code(self, fullname: str) -> CodeType:
        return compile(self._source, self.path, "exec", dont_inherit=True)


def _imported(mutant: Request) -> str:
    """Import the mutated module, and whatever imports it, and run the tests."""
    path = _absolute(mutant["path"])
    finder = MutantFinder(_module_name(mutant["path"]), path, mutant["source"])
    sys.meta_path.insert(0, finder)
    failures = Failures(mutant["tests"])
    files = list(dict.fromkeys(name.partition("::")[0] for name in mutant["tests"]))
    status = pytest.main([*OPTIONS, "-x", *files], plugins=[failures])
    if status == pytest.ExitCode.NO_TESTS_COLLECTED:
        return "broken no tests"
    if status == pytest.ExitCode.OK:
        return SURVIVED
    return f"{KILLED} {failures.first or 'by the import'}"


def _absolute(path: str) -> str:
    return str(Path.cwd() / path)


def _module_name(path: str) -> str:
    return path.removeprefix("src/").removesuffix(".py").replace("/", ".")


if __name__ == "__main__":
    sys.exit(main())
