"""Test the program that makes mistakes in the code: the mistakes, and the tests that judge them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

import pytest
from mutation import accepted, choice, pool, report, scope
from mutation.accepted import Accepted
from mutation.choice import TestRun as Run  # pytest would collect a class named Test...
from mutation.mutants import Mutant, mutants_of
from mutation.rebinding import rebind
from mutation.report import Judged
from mutation.store import Store
from web_client import wait_until

ROOT = Path(__file__).resolve().parents[2]


def changes(source: str) -> set[str]:
    return {mutant.after for mutant in mutants_of("x.py", source)}


@pytest.mark.parametrize(
    ("line", "mutated"),
    [
        ("a = b < c", {"a = (b <= c)"}),
        ("a = b in c", {"a = (b not in c)"}),
        ("a = b and c", {"a = b", "a = c", "a = (b or c)"}),
        ("a = not b", {"a = b"}),
        ("a = b + 1", {"a = (b - 1)", "a = b + 2"}),
        ("a = True", {"a = False"}),
        ("a = 0.5", {"a = 1.0"}),
        ("a = b if c else d", {"a = (d if c else b)", "a = b if (not c) else d"}),
        ("a = min(b, c)", {"a = max(b, c)"}),
        ("a = {'x': b, 'y': c}", {"a = {'y': c}", "a = {'x': b}"}),
        ("a = [b, *c]", {"a = [*c]", "a = [b]"}),
        ("a = [b for b in c if b.d]", {"a = [b for b in c]"}),
        ("a = b[-1]", {"a = b[0]", "a = b[-2]"}),
        ("a = b[:c]", {"a = b[:]"}),
        ("a.b = c", {"pass"}),
        ("a += b", {"pass", "a -= b"}),
        ("a(b)", {"pass"}),
        ("if a: b = c", {"if (not a): b = c"}),
    ],
)
def test_each_kind_of_mistake_is_made(line: str, mutated: set[str]) -> None:
    assert mutated <= changes(line)


@pytest.mark.parametrize(
    "source",
    [
        '"""At most 10."""',
        "a: Annotated[int, 5]",
        "assert a < 5",
        "x = f'{a + 1}'",
        "from a import b",
        "@dataclass(frozen=True)\nclass A:\n    a: list[int] = field(default_factory=list, repr=False)",
        "if TYPE_CHECKING:\n    a(b)",
        "Line = dict[str, Any]",
    ],
)
def test_nothing_is_changed_that_decides_no_result(source: str) -> None:
    assert changes(source) == set()


def test_an_error_is_left_out_and_its_message_is_not_changed() -> None:
    assert changes("def f():\n    raise ValueError('a' if b < 5 else 'c')\n") == {"pass"}


SOURCE = """\
LIMIT = 5

class A:
    size: int = 6

    def f(self, x=7):
        def inner():
            return x < 8
        return inner()
"""


def test_a_mutant_knows_its_function_and_whether_it_acts_during_the_import() -> None:
    places = {
        mutant.after: (mutant.scope, mutant.function) for mutant in mutants_of("x.py", SOURCE)
    }
    assert places["LIMIT = 6"] == ("", None)
    assert places["size: int = 7"] == ("A", None)
    assert places["def f(self, x=8):"][1] is None
    assert places["return (x <= 8)"] == ("A.f.inner", ("A.f", 6))


def test_each_mutant_compiles_and_differs_from_the_others() -> None:
    path = ROOT / "src/wanlab/labs/grade.py"
    mutants = mutants_of("grade.py", path.read_text())
    assert len({mutant.source for mutant in mutants}) == len(mutants) > 100
    assert len({mutant.identity for mutant in mutants}) == len(mutants)
    for mutant in mutants[::10]:
        compile(mutant.source, "grade.py", "exec")


def test_a_mutant_keeps_its_identity_when_other_lines_change() -> None:
    before = {mutant.identity for mutant in mutants_of("x.py", SOURCE)}
    after = {mutant.identity for mutant in mutants_of("x.py", "NEW = 1\n\n" + SOURCE)}
    assert before < after


def test_every_module_in_the_scope_exists_and_has_tests() -> None:
    names = [name for names in scope.PACKAGES.values() for name in names]
    assert len(scope.modules(ROOT)) == len(names)


def test_the_importers_of_a_module_are_found_through_its_package() -> None:
    path = "src/wanlab/session/recorded.py"
    assert "tests/session/test_session_file.py" in scope.importers(ROOT, [path])[path]


def test_every_module_in_the_scope_is_imported_by_a_test_directly_or_not() -> None:
    importers = scope.importers(ROOT, scope.modules(ROOT))
    assert [path for path, tests in importers.items() if not tests] == []


def test_the_nearest_tests_of_a_module_are_those_about_it() -> None:
    about, beside, other = "tests/a/test_b_c.py", "tests/a/test_d.py", "tests/test_e.py"
    importers = {"src/wanlab/a/b.py": [about, beside, other], "src/wanlab/a/x.py": [beside, other]}
    importers["src/wanlab/y.py"] = [other]
    assert scope.nearest(importers) == {
        "src/wanlab/a/b.py": [about],
        "src/wanlab/a/x.py": [beside],
        "src/wanlab/y.py": [other],
    }


def mutant(first_line: int = 3, function: tuple[str, int] | None = ("f", 1)) -> Mutant:
    return Mutant("x.py", "f", function, first_line, first_line, "a", "b", "source")


def run(name: str, seconds: float, *lines: int) -> Run:
    return Run(f"{name}.py::test", seconds, {"x.py": frozenset(lines)} if lines else {})


def test_a_mutant_is_judged_by_the_tests_that_run_its_line_the_nearest_first() -> None:
    runs = [run("far", 0.1, 3), run("near", 2, 3), run("fast", 0.01, 3), run("other", 0.1, 4)]
    chosen = choice.tests_for(mutant(), runs, ["near.py"])
    assert [test.file for test in chosen] == ["near.py", "fast.py", "far.py"]


def test_a_mutant_of_the_import_is_judged_by_all_tests_of_the_module() -> None:
    runs = [run("a", 0.1, 9), run("importer", 0.1), run("other", 0.1)]
    chosen = choice.tests_for(mutant(function=None), runs, ["importer.py"])
    assert [test.file for test in chosen] == ["importer.py", "a.py"]


def test_slow_tests_are_left_out_when_the_time_is_up_unless_there_is_no_other() -> None:
    slow = [run("a", choice.MAX_TESTS_S + 1, 3), run("b", choice.MAX_TESTS_S + 2, 3)]
    assert [test.file for test in choice.tests_for(mutant(), slow, [])] == ["a.py"]


def test_a_result_holds_until_the_file_or_a_test_changes(tmp_path: Path) -> None:
    test = tmp_path / "near.py"
    test.write_text("1")
    tests = [run("near", 1, 3)]
    Store(tmp_path / "results", tmp_path).keep(mutant(), tests, ("killed", "near.py::test"))
    with (tmp_path / "results" / "results.jsonl").open("a") as file:
        file.write('{"key": "cut')
    assert Store(tmp_path / "results", tmp_path).result(mutant(), tests) == (
        "killed",
        "near.py::test",
    )
    other = Mutant("x.py", "f", ("f", 1), 3, 3, "a", "b", "another source")
    assert Store(tmp_path / "results", tmp_path).result(other, tests) is None


def test_an_accepted_mutant_that_no_longer_exists_is_reported() -> None:
    known = Accepted("x.py", "f", "a", "b", "equivalent")
    old = Accepted("x.py", "f", "a", "c", "equivalent")
    assert accepted.stale([known, old], [mutant()]) == [old]


def test_the_list_of_accepted_mutants_gives_reasons() -> None:
    assert all(len(entry.why.split()) > 2 for entry in accepted.read())


def test_the_report_has_a_line_per_package_and_each_survivor() -> None:
    judged = [
        Judged(mutant(), "units", "killed"),
        Judged(mutant(4), "units", "survived"),
        Judged(mutant(5), "units", "survived", why="equivalent"),
    ]
    text = report.text(judged, 1, 2)
    assert report.killed_share(judged) == 0.5
    assert report.killed_share(judged[2:]) == 1
    assert "x.py:4 f\n  - a\n  + b" in text
    assert "x.py:5" not in text
    assert next(line for line in text.splitlines() if line.startswith("units")).split() == [
        "units",
        "3",
        "1",
        "1",
        "1",
        "50.0%",
    ]


# -- constants of a module in memory ----------------------------------------------------------------


@pytest.fixture
def module(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    module = ModuleType("mutated_module")
    module.__package__ = ""
    monkeypatch.setitem(sys.modules, "mutated_module", module)
    exec(
        "LIMIT = 5\nTABLE = {'a': 1}\nclass A:\n    size = 1\n    def f(self, x=2): return x",
        vars(module),
    )
    return module


def test_changed_constants_reach_the_module_and_those_that_imported_them(
    module: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    importer = ModuleType("importer")
    vars(importer).update(TABLE=vars(module)["TABLE"])
    monkeypatch.setitem(sys.modules, "importer", importer)
    made = vars(module)["A"]()
    assert rebind(
        module,
        "x.py",
        "LIMIT = 6\nTABLE = {'a': 2}\nclass A:\n    size = 3\n    def f(self, x=4): ...",
    )
    assert (vars(module)["LIMIT"], vars(importer)["TABLE"]) == (6, {"a": 2})
    assert (made.size, made.f()) == (3, 4)


def test_a_module_without_changed_constants_is_left_alone(module: ModuleType) -> None:
    assert not rebind(module, "x.py", "LIMIT = 5\nTABLE = {'a': 1}")


# -- processes --------------------------------------------------------------------------------------


def endings(*jobs: pool.Job) -> dict[str, pool.Ending]:
    return {ending.name: ending for ending in pool.run_jobs(jobs, workers=2)}


def loop() -> str:
    while True:
        pass


def test_a_job_gives_its_result_and_cannot_harm_the_others(tmp_path: Path) -> None:
    def end_itself() -> str:
        os.kill(os.getpid(), signal.SIGTERM)
        return ""

    def fail() -> str:
        raise SystemExit("no")

    ended = endings(
        pool.Job("good", 1, lambda: "done"),
        pool.Job("dead", 1, end_itself),
        pool.Job("bad", 1, fail),
    )
    assert ended["good"] == pool.Ending("good", "done")
    assert ended["dead"] == pool.Ending("dead", "", "ended with status -15")
    assert ended["bad"].text.startswith("broken SystemExit")


def test_a_job_that_loops_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    assert endings(pool.Job("loop", 1, loop))["loop"].reason == "timeout"


def test_a_job_that_waits_is_ended_with_its_processes(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(pool, "MIN_WAIT_S", 0.2)
    monkeypatch.setattr(pool, "WAIT_FACTOR", 0)
    monkeypatch.setattr(pool, "TICK_MS", 50)
    note = tmp_path / "pid"

    def wait() -> str:
        child = os.fork()
        if child == 0:
            time.sleep(600)
        note.write_text(str(child))
        time.sleep(600)
        return ""

    assert endings(pool.Job("wait", 1, wait))["wait"].reason == "timeout"
    # On a busy computer, it was ended before it could start one and write its number.
    if note.exists() and (child := note.read_text()):
        wait_until(lambda: is_gone(int(child)))


def is_gone(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def test_temporary_files_of_a_job_are_removed() -> None:
    def leave() -> str:
        import tempfile

        return tempfile.mkdtemp()

    assert not Path(endings(pool.Job("files", 1, leave))["files"].text).exists()


def test_mutants_are_judged_in_a_copy_and_the_result_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Judge the mutants of a tiny project from beginning to end."""
    from mutation import __main__ as program

    make_project(tmp_path / "project")
    monkeypatch.setattr(program, "ROOT", tmp_path / "project")
    monkeypatch.setattr(program, "RESULTS", tmp_path / "project" / "build" / "mutants")
    monkeypatch.setattr(accepted, "read", list)
    monkeypatch.setattr(scope, "PACKAGES", {"tiny": ("tiny",)})
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")  # wanlab's own
    monkeypatch.setattr(signal, "signal", lambda number, action: None)
    outputs = [run_program(monkeypatch, capsys, program.main) for _ in range(2)]
    for output in outputs:
        assert "+ return (value <= LIMIT)" in output
        assert "+ return None" not in output
        assert "+ LIMIT = 6" not in output
        row = next(line for line in output.splitlines() if line.startswith("tiny"))
        assert row.split() == ["tiny", "7", "6", "0", "1", "85.7%"]


def run_program(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    main: object,
    arguments: Sequence[str] = (),
) -> str:
    monkeypatch.setattr(sys, "argv", ["mutation", *arguments])
    assert callable(main)
    assert main() == 1
    return capsys.readouterr().out


def make_project(folder: Path) -> None:
    """Make a checkout with one module and a test that does not look at the limit itself."""
    files = {
        "pyproject.toml": '[tool.pytest.ini_options]\npythonpath = ["src"]\n',
        "src/wanlab/__init__.py": "",
        "src/wanlab/tiny.py": (
            "LIMIT = 5\n\n\ndef fits(value):\n    return value < LIMIT\n\n\n"
            "def _half(value):\n    return value / 2\n\n\nHALF = _half(8)\n"
        ),
        "tests/conftest.py": (ROOT / "tests" / "conftest.py")
        .read_text()
        .partition("GOLDEN")[0]
        .replace("from wanlab", "# from wanlab"),
        "tests/test_tiny.py": (
            "from wanlab.tiny import HALF, fits\n\n\n"
            "def test_it():\n    assert fits(4)\n    assert not fits(5.5)\n    assert HALF == 4\n"
        ),
    }
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content)
    for source in (ROOT / "tools" / "mutation").glob("*.py"):
        (folder / "tools" / "mutation").mkdir(parents=True, exist_ok=True)
        (folder / "tools" / "mutation" / source.name).write_text(source.read_text())
    subprocess.run(["git", "init", "-q", str(folder)], check=True)
