"""Check that imports point down in the order of the parts.

    cli   mininet   web   pytest_plugin          faces: translate, decide nothing
      \\       \\       /       /
       labs    front door (wanlab/__init__.py)
                    |
               experiments
                  sweep
                /       \\
              run        plot
             /   \\        |
          jobs  measure   |
             \\   /         \\
            network         \\
          /     \\            \\
       plan     machine       \\
       /   \\     /             \\
topology  operations          record
       \\      |              /
        \\   agent           /
            units, errors

The table below gives the same order, and the parts that each part may import.
"""

import ast
import re
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "src" / "wanlab"
FRONT_DOOR = "the front door"

DATA = {
    "units",
    "errors",
    "version",
    "notebook",
    "fields",
    "yaml_text",
    "json_text",
    "input_file",
    "capture_file",
    "parent_death",
    "temporary",
    "user_cache",
    "shared_folder",
    "documentation",
    "kept_output",
}
LIVE = {"network", "record", "topology"} | DATA
FACE = {FRONT_DOOR}

# What faces may import besides the front door: the rest of the public API.
PUBLIC_MODULES = {
    "errors",
    "fields",
    "units",
    "version",
    "yaml_text",
    "json_text",
    "temporary",
    "text_table",
    "machine_options",
    "shared_folder",
    "input_file",
    "capture_file",
    "parent_death",
    "documentation",
    "kept_output",
    "topology",
    "topology.cpu",
    "topology.layout",
    "topology.file_names",
    "topology.files",
    "topology.foreign",
    "plan",
    "network",
    "network.replay",
    "record",
    "plot",
    "measure.packet_events",
    "measure.packet_headers",
    "measure.queue_lengths",
    "measure.time_sequence",
    "measure",
    "measure.fairness",
    "measure.here",
    "measure.interfaces",
    "measure.metrics",
    "measure.flent",
    "measure.lost_packets",
    "measure.qdisc_reader",
    "netlink.port_conditions",
    "netlink.qdisc",
    # Faces start jobs and follow them; keys, pools and stores are not theirs.
    "jobs.batch",
    "jobs.job",
    "jobs.progress",
    "jobs.worker",
    "experiments",
    "run",
    "sweep",
    "session",
    "bottleneck",
    "calibration",
    "machine.checkup",
    "machine.compiled_modules",
    "machine.defaults",
    "machine.embedded",
    "machine.guest_environment",
    "machine.stale",
}

MAY_IMPORT: dict[str, set[str]] = {
    "errors": set(),
    "documentation": {"errors"},
    "version": set(),
    "notebook": set(),
    # Measures this computer. No network takes part.
    "calibration": {"topology", "parent_death"},
    "text_table": set(),
    "machine_options": set(),
    "units": {"errors"},
    "fields": {"errors", "input_file"},
    "input_file": {"errors"},
    "capture_file": {"errors"},
    "kept_output": set(),
    "user_cache": set(),
    "shared_folder": {"errors"},
    "parent_death": set(),
    "process_identity": {"user_cache"},
    "temporary": {"process_identity"},
    "yaml_text": {"errors"},
    "json_text": {"errors"},
    "topology": DATA,
    "record": DATA,
    "agent": set(),
    "controller": set(),
    # Loads its reader of captures only for `replay`.
    "generator": {"capture_file", "errors"},
    # Paths and command lines of the programs that the agent starts.
    "operations": {"agent"},
    "plan": {"operations", "topology"} | DATA,
    "machine": {"agent", "operations", "process_identity"} | DATA,
    "session": {"agent"} | DATA,
    # Decodes what the agent passes on from the kernel.
    "netlink": {"errors"},
    "network": {
        "session",
        "machine",
        "plan",
        "operations",
        "agent",
        "topology",
        "record",
        "netlink",
    }
    | DATA,
    # Besides networks, it inspects the machine that it runs in, with the agent's own tools.
    "measure": LIVE | {"agent", "netlink"},
    "plot": {"record"} | DATA,
    # Imports nothing before a notebook displays an object.
    "formatters": {"record", "topology", "network"},
    # A result depends on the kernel that would be booted and the programs that it would find.
    "jobs": {"machine", "network", "record", "topology"} | DATA,
    "run": {"jobs", "measure", "machine"} | LIVE,
    "sweep": {"jobs", "run", "plot"} | LIVE,
    "experiments": {"jobs", "run", "sweep", "measure"},
    "labs": FACE | {"jobs"},
    # The options of `mn` and the lines of its prompt are read and edited outside the machine.
    "standard_tests": FACE | {"jobs"},
    # Published figures: experiments as data, and pages about their results.
    "bottleneck": {"measure"} | LIVE,
    "gallery": FACE | {"jobs", "sweep", "run", "plot", "standard_tests"},
    "cli": FACE | {"labs", "standard_tests", "gallery", "mininet", "web", "calibration"},
    # Its prompt looks for programs that wait for a line, with the agent's own tools.
    "mininet": FACE | {"agent"},
    "web": FACE | {"labs", "gallery"},
    "pytest_plugin": FACE,
}
FACES = {"labs", "standard_tests", "gallery", "cli", "mininet", "web", "pytest_plugin"}

WEB_USED_BY_ALL = {
    "protocol",
    "broadcast",
    "folder",
    "limits",
    "running_tasks",
    "background_job",
}
WEB_RUNNING = {"running", "terminals", "timeline", "drawing", "packets"} | WEB_USED_BY_ALL
"""The running network is in three folders, which use each other's modules."""
WEB_MAY_IMPORT = {
    "protocol": set(),
    **{name: {"protocol"} for name in WEB_USED_BY_ALL - {"protocol"}},
    "drawing": WEB_USED_BY_ALL,
    "packets": WEB_USED_BY_ALL,
    "running": WEB_RUNNING,
    "terminals": WEB_RUNNING,
    "timeline": WEB_RUNNING,
    "measuring": WEB_RUNNING,
    "lessons": WEB_RUNNING,
    "gallery": WEB_USED_BY_ALL,
    "laboratory": {"measuring", "lessons", "gallery"} | WEB_RUNNING,
    "server": {"laboratory"} | WEB_RUNNING,
    # Loads the libraries for curves once for all students.
    "classroom": {"laboratory", "server", "measuring"} | WEB_USED_BY_ALL,
    "jupyterhub": {"classroom", "laboratory", "server"} | WEB_USED_BY_ALL,
    "typescript": {"classroom", "measuring"} | WEB_RUNNING,
}
"""The folders of the laboratory in the browser, and its modules beside them, as for the parts."""

MAX_LINES = 600
FORBIDDEN_NAMES = {
    "util",
    "utils",
    "core",
    "common",
    "manager",
    "managers",
    "base",
    "helper",
    "helpers",
    "misc",
}
# Mininet's scripts import it by this name.
MININETS_NAME = PACKAGE / "mininet" / "util.py"


def part_of(path: Path, package: Path) -> str:
    """Return the part that a file belongs to; the front door is a part too."""
    name = path.relative_to(package).parts[0].removesuffix(".py")
    return FRONT_DOOR if name == "__init__" else name


@cache
def parts(package: Path) -> set[str]:
    """Return the names of the parts in the package's folder."""
    return {part_of(path, package) for path in package.rglob("*.py")} - {FRONT_DOOR}


@cache
def statements(path: Path) -> list[ast.AST]:
    """Return a file's imports and classes, also those inside functions and classes."""
    kinds = (ast.Import, ast.ImportFrom, ast.ClassDef)
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return [node for node in ast.walk(tree) if isinstance(node, kinds)]


def imports(path: Path, source: Path) -> Iterator[tuple[str, list[str]]]:
    """Return the full name of every module that a file imports, with the names imported from it."""
    package = ".".join(path.relative_to(source).with_suffix("").parts[:-1])
    for node in statements(path):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name, []
        elif isinstance(node, ast.ImportFrom):
            names = [alias.name for alias in node.names]
            if node.level == 0:
                yield node.module or "", names
                continue
            folders = package.split(".")
            upper = ".".join(folders[: len(folders) - node.level + 1])
            yield ".".join(filter(None, [upper, node.module])), names


def modules_imported(path: Path, package: Path) -> set[str]:
    """Return the package's modules that a file imports, without the package's name in front."""
    found = set()
    for module, names in imports(path, package.parent):
        first, _, rest = module.partition(".")
        if first != package.name:
            continue
        if rest:
            found.add(rest)
        else:
            found |= {name if name in parts(package) else FRONT_DOOR for name in names or [""]}
    return found


def wrong_imports(package: Path) -> list[str]:
    """Return a line for each import that does not point down, and for each non-public one of a face."""
    wrong = []
    for path in sorted(package.rglob("*.py")):
        part = part_of(path, package)
        allowed = {part, *(set(MAY_IMPORT) - FACES if part == FRONT_DOOR else MAY_IMPORT[part])}
        modules = modules_imported(path, package)
        if part in FACES:
            others = {
                module
                for module in modules - PUBLIC_MODULES
                if module.partition(".")[0] not in allowed
            }
        else:
            others = {module.partition(".")[0] for module in modules} - allowed
        wrong += [f"{path.relative_to(package)} imports {other}" for other in sorted(others)]
    return wrong


def module_name(path: Path, source: Path) -> str:
    """Return the dotted name of a file's module."""
    return ".".join(path.relative_to(source).with_suffix("").parts).removesuffix(".__init__")


def import_graph(folder: Path, source: Path) -> dict[str, set[str]]:
    """Map each module in a folder to the modules of that folder that it imports anywhere.

    Imports in functions and those for type checking count too.
    """
    paths = {module_name(path, source): path for path in sorted(folder.rglob("*.py"))}
    graph: dict[str, set[str]] = {}
    for name, path in paths.items():
        graph[name] = set()
        for module, names in imports(path, source):
            submodules = {f"{module}.{imported}" for imported in names} & set(paths)
            takes_more = len(submodules) < len(names) or not names
            graph[name] |= submodules | ({module} & set(paths) if takes_more else set())
        graph[name].discard(name)
    return graph


def import_cycles(graph: dict[str, set[str]]) -> list[list[str]]:
    """Return the groups of modules that all reach each other through imports."""

    def reachable(start: str) -> set[str]:
        seen: set[str] = set()
        waiting = [start]
        while waiting:
            new = graph[waiting.pop()] - seen
            seen |= new
            waiting += new
        return seen

    reach = {name: reachable(name) for name in graph}
    groups = {
        tuple(sorted(other for other in reach[name] if name in reach[other]))
        for name in graph
        if name in reach[name]
    }
    return [list(group) for group in sorted(groups)]


def packages() -> list[str]:
    return sorted(path.parent.name for path in PACKAGE.glob("*/__init__.py"))


def foreign_imports(folder: Path, own: str) -> list[str]:
    """Return a folder's imports that are neither its own nor from the standard library."""
    wrong = []
    for path in sorted(folder.rglob("*.py")):
        for module, _ in imports(path, folder.parent):
            first = module.partition(".")[0]
            if first not in sys.stdlib_module_names and not f"{module}.".startswith(f"{own}."):
                wrong.append(f"{path.relative_to(folder)} imports {module}")
    return wrong


def test_every_part_has_its_place_in_the_order() -> None:
    assert parts(PACKAGE) - set(MAY_IMPORT) == set()


def test_the_order_has_no_cycle() -> None:
    below: dict[str, set[str]] = {}
    rest = {part: others - {FRONT_DOOR} for part, others in MAY_IMPORT.items()}
    while rest:
        lowest = {part for part, others in rest.items() if others <= set(below)}
        assert lowest, f"these import each other: {sorted(rest)}"
        below |= {part: rest.pop(part) for part in lowest}


def test_imports_point_down() -> None:
    assert wrong_imports(PACKAGE) == []


@pytest.mark.parametrize("package", packages())
def test_the_modules_of_a_package_have_no_import_cycles(package: str) -> None:
    assert import_cycles(import_graph(PACKAGE / package, PACKAGE.parent)) == []


def test_imports_between_folders_of_the_laboratory_point_down() -> None:
    web = PACKAGE / "web"
    wrong = []
    for path in sorted(web.rglob("*.py")):
        folder = path.relative_to(web).parts[0].removesuffix(".py")
        modules = modules_imported(path, PACKAGE)
        used = {module.split(".")[1] for module in modules if module.startswith("web.")}
        wrong += [
            f"{path.relative_to(web)} imports {other}"
            for other in sorted(used - {folder} - WEB_MAY_IMPORT.get(folder, set()))
        ]
    assert wrong == []


def programs_started(source: str) -> set[str]:
    """Return the modules of wanlab that a file names in a text, as for another Python."""
    texts = (
        node.value
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    )
    return {text for text in texts if re.fullmatch(r"wanlab\.[a-z_.]+", text)}


def test_no_part_starts_the_command_line_and_reads_its_text() -> None:
    """It would depend on an upper part, where no import shows it: use `wanlab.jobs`."""
    started = [
        str(path.relative_to(PACKAGE))
        for path in PACKAGE.rglob("*.py")
        if part_of(path, PACKAGE) != "cli"
        and "wanlab.cli" in programs_started(path.read_text(encoding="utf-8"))
    ]
    assert started == []
    assert programs_started("start(['python', '-m', 'wanlab.cli'])") == {"wanlab.cli"}


DEFAULTS = "machine/defaults.py"
SETS_DEFAULTS = {"web/classroom/sandbox.py"}
"""Gives a student's process its own defaults, so that nothing in it runs in another mode than ptrace."""


def test_the_users_choice_of_a_machine_is_read_in_one_place() -> None:
    """Everything else gets a `MachineChoice` as an argument, and sets no variable for deeper code."""
    names = {"KERNEL_VARIABLE": "WANLAB_KERNEL", "TRAPS_VARIABLE": "WANLAB_TRAPS"}
    names["CPU_VARIABLE"] = "WANLAB_CPU"

    def uses(source: str) -> set[str]:
        nodes = [
            part
            for node in ast.walk(ast.parse(source))
            if isinstance(node, ast.Subscript | ast.Call | ast.Dict | ast.keyword)
            for part in ast.iter_child_nodes(node)
        ]
        named = {node.id for node in nodes if isinstance(node, ast.Name)}
        texts = {node.value for node in nodes if isinstance(node, ast.Constant)}
        return {name for name, text in names.items() if name in named or text in texts}

    using = {
        str(path.relative_to(PACKAGE))
        for path in PACKAGE.rglob("*.py")
        if uses(path.read_text(encoding="utf-8"))
    }
    assert using == {DEFAULTS} | SETS_DEFAULTS
    assert uses("os.environ['WANLAB_CPU'] = name") == {"CPU_VARIABLE"}
    assert uses("os.environ[KERNEL_VARIABLE] = name") == {"KERNEL_VARIABLE"}
    assert uses("start(env={**os.environ, TRAPS_VARIABLE: mode})") == {"TRAPS_VARIABLE"}


def test_code_that_runs_in_machines_imports_nothing_else() -> None:
    for part, others in (
        ("agent", ()),
        ("controller", ()),
        ("generator", ("capture_file", "errors")),
    ):
        wrong = foreign_imports(PACKAGE / part, part)
        allowed = tuple(f" imports wanlab.{name}" for name in (part, *others))
        assert [line for line in wrong if not any(name in line for name in allowed)] == []


@pytest.mark.parametrize(
    ("folder", "own"), [("kernel/kernelbuild", "kernelbuild"), ("tools/dev", "dev")]
)
def test_code_that_runs_before_setup_imports_only_the_standard_library(
    folder: str, own: str
) -> None:
    allowed = {"kernelbuild"} if own == "dev" else set()  # ./dev asks the recipe
    wrong = [
        line
        for line in foreign_imports(ROOT / folder, own)
        if line.split(" imports ")[1].partition(".")[0] not in allowed
    ]
    assert wrong == []


def test_no_file_is_too_long() -> None:
    long = [
        f"{path.relative_to(ROOT)} has {lines} lines"
        for path in python_files()
        if (lines := len(path.read_text(encoding="utf-8").splitlines())) > MAX_LINES
    ]
    assert long == []


def test_no_module_has_a_catch_all_name() -> None:
    named = [
        str(path.relative_to(ROOT))
        for path in python_files()
        if FORBIDDEN_NAMES & {*path.relative_to(ROOT).parent.parts, path.stem}
        and path != MININETS_NAME
    ]
    assert named == []


def python_files() -> list[Path]:
    """Return all Python files of this checkout."""
    folders = ("src", "kernel", "tools", "tests", "bench")
    return sorted(path for folder in folders for path in (ROOT / folder).rglob("*.py"))


# -- the rules themselves ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("file", "text", "wrong"),
    [
        ("topology/bad.py", "from wanlab import plan", ["topology/bad.py imports plan"]),
        ("topology/bad.py", "import wanlab.web.app", ["topology/bad.py imports web"]),
        ("topology/bad.py", "from ..plan import build", ["topology/bad.py imports plan"]),
        (
            "topology/bad.py",
            "from wanlab import Network",
            [f"topology/bad.py imports {FRONT_DOOR}"],
        ),
        ("topology/bad.py", "def f():\n    import wanlab.plan", ["topology/bad.py imports plan"]),
        ("topology/good.py", "from . import model\nfrom ..errors import WanlabError", []),
        (
            "cli/bad.py",
            "from wanlab.network.process import Process",
            ["cli/bad.py imports network.process"],
        ),
        ("cli/bad.py", "from wanlab import agent", ["cli/bad.py imports agent"]),
        ("web/bad.py", "from wanlab.jobs.pool import Workers", ["web/bad.py imports jobs.pool"]),
        ("cli/bad.py", "from wanlab.jobs import origin", ["cli/bad.py imports jobs"]),
        ("cli/good.py", "from wanlab.jobs.progress import BatchProgress", []),
        ("cli/good.py", "from wanlab import Network, shapes, plan\nfrom .x import y", []),
        ("cli/good.py", "from wanlab.plan import plan_script\nimport wanlab", []),
        ("__init__.py", "from .network import Network", []),
        ("__init__.py", "from .cli import main", ["__init__.py imports cli"]),
    ],
)
def test_an_import_that_points_up_is_found(
    tmp_path: Path, file: str, text: str, wrong: list[str]
) -> None:
    package = tmp_path / "wanlab"
    for folder in ("agent", "plan", "topology", "cli", "web", "jobs"):
        (package / folder).mkdir(parents=True)
        (package / folder / "__init__.py").touch()
    (package / file).write_text(text)
    assert wrong_imports(package) == wrong


def test_a_class_name_occurs_once_in_the_project() -> None:
    """Exceptions: classes that are private to a module, and the Mininet part, which copies names."""
    places: dict[str, list[str]] = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        if PACKAGE / "mininet" in path.parents:
            continue
        for node in statements(path):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places.setdefault(node.name, []).append(str(path.relative_to(PACKAGE)))
    assert {name: paths for name, paths in places.items() if len(paths) > 1} == {}


def test_an_import_cycle_is_found(tmp_path: Path) -> None:
    package = tmp_path / "wanlab"
    package.mkdir()
    (package / "__init__.py").write_text("from .a import x\n")
    (package / "a.py").write_text("def f():\n    from . import b\n")
    (package / "b.py").write_text("from .c import C\n")
    (package / "c.py").write_text(
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from .a import A\n"
    )
    (package / "d.py").write_text("from . import a, x\n")
    assert import_cycles(import_graph(package, tmp_path)) == [["wanlab.a", "wanlab.b", "wanlab.c"]]


def test_a_foreign_import_is_found(tmp_path: Path) -> None:
    (tmp_path / "agent").mkdir()
    (tmp_path / "agent" / "a.py").write_text("import os\nimport numpy.linalg\nfrom . import b\n")
    assert foreign_imports(tmp_path / "agent", "agent") == ["a.py imports numpy.linalg"]
