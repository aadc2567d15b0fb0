"""Check that wanlab opens files in folders that programs can write only through `SharedFolder`."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[1] / "src" / "wanlab"
PARTS = (
    "cli",
    "gallery",
    "jobs",
    "labs",
    "network",
    "record",
    "run",
    "session",
    "sweep",
    "topology",
    "web",
)

OF_PATHS = {
    "read_text",
    "read_bytes",
    "write_text",
    "write_bytes",
    "touch",
    "mkdir",
    "rmdir",
    "unlink",
    "rename",
    "chmod",
    "symlink_to",
    "hardlink_to",
}
"""Methods of `Path`; the methods of SharedFolder have other names, except `rename` and `open`."""
OF_MODULES = {
    "os": {
        "open",
        "mkdir",
        "makedirs",
        "replace",
        "rename",
        "remove",
        "unlink",
        "rmdir",
        "chmod",
        "chown",
        "truncate",
        "symlink",
        "link",
        "utime",
        "mknod",
        "mkfifo",
    },
    "shutil": {"copy", "copy2", "copyfile", "copytree", "copymode", "copystat", "move", "rmtree"},
    "tempfile": {"mkstemp", "mkdtemp", "NamedTemporaryFile", "TemporaryDirectory"},
}

COURSE = "files of the course, in the installed package or the teacher's folder of units"
NAMED = "an input that the user names"
TEACHERS = "the teacher's folder of a class, in which no program of a network can write"
INSIDE = "runs as a program inside a network"
RUN = "the folder of a run: the run's network can write only in the folder `files` inside it"
TEMPORARY = "a temporary folder of this process alone"
PROC = "/proc of this computer"
CACHE = "the user's cache, which a machine shows to programs only for reading"
BEFORE = "the run's own folder, before a program of its network has started"
LOCKED = (
    "a folder of results: locking it refuses links in it, and runs write in their own folders only"
)
ALLOWED: dict[str, tuple[set[str], str]] = {
    "cli/completions.py": ({".read_text"}, COURSE),
    "cli/drawables.py": ({".read_bytes"}, NAMED),
    "cli/editor.py": ({".mkdir", ".open"}, "the history of prompts, in the user's state folder"),
    "cli/program.py": ({"open", "os.open"}, "/dev/null in place of closed standard streams"),
    "cli/virtual_environment.py": ({".read_text"}, "pyvenv.cfg of the running Python"),
    "cli/windows.py": ({".open", ".read_text"}, TEMPORARY),
    "gallery/measurement.py": ({".read_text"}, NAMED),
    "gallery/unit_file.py": ({".read_text"}, COURSE),
    "gallery/units/abr-video/abr_video.py": ({".write_bytes"}, BEFORE),
    "gallery/units/bufferbloat/bufferbloat.py": ({".write_bytes"}, BEFORE),
    "jobs/archive.py": ({".mkdir", ".open", ".write_bytes"}, TEMPORARY),
    "jobs/cluster.py": ({".read_bytes", ".rename", "shutil.rmtree"}, RUN),
    "jobs/job.py": ({".mkdir", ".read_text", ".unlink", ".write_text", "shutil.rmtree"}, RUN),
    "jobs/memory.py": ({".read_text"}, PROC),
    "jobs/origin.py": ({".read_bytes"}, COURSE),
    "jobs/pool.py": ({".read_text"}, PROC),
    "jobs/programs.py": (
        {".mkdir", ".read_bytes", ".read_text", ".replace", ".write_text"},
        CACHE,
    ),
    "jobs/store.py": (
        {
            ".chmod",
            ".open",
            ".rename",
            ".replace",
            ".unlink",
            "os.link",
            "tempfile.mkdtemp",
            "shutil.copyfile",
            "shutil.copytree",
            "shutil.rmtree",
        },
        LOCKED,
    ),
    "jobs/worker.py": ({".mkdir", ".rename", "os.open", "shutil.rmtree"}, RUN),
    "labs/class_run.py": ({".write_bytes", ".write_text"}, TEMPORARY),
    "labs/distribution.py": ({".read_text"}, NAMED),
    "labs/durations.py": ({".read_text"}, COURSE),
    "labs/hand_in_archive.py": ({".open"}, NAMED),
    "labs/lesson.py": ({".read_text"}, COURSE),
    "labs/scripts/csv_file.py": ({".write_text"}, INSIDE),
    "labs/scripts/iperf3_file.py": ({".read_bytes"}, INSIDE),
    "labs/scripts/plot_iperf.py": ({".mkdir", ".unlink"}, INSIDE),
    "labs/scripts/xdg_open.py": ({".read_text"}, INSIDE),
    "labs/student_files.py": ({".read_bytes"}, COURSE),
    "network/announcement.py": ({".read_text"}, INSIDE),
    "record/file.py": ({"os.open"}, NAMED),
    "run/perform.py": ({".mkdir", "shutil.copyfile", "shutil.rmtree"}, RUN),
    "run/result.py": ({".write_text"}, RUN),
    "run/run_script.py": ({".read_text"}, NAMED),
    "run/source.py": ({".read_bytes"}, NAMED),
    "sweep/cache.py": ({".mkdir", "os.utime", "shutil.rmtree"}, CACHE),
    "sweep/folder.py": (
        {".mkdir", ".read_text", ".rename", ".write_bytes", "shutil.rmtree"},
        LOCKED,
    ),
    "sweep/table.py": ({".replace"}, LOCKED),
    "web/classroom/hub.py": ({".chmod"}, "a temporary folder"),
    "web/classroom/looking.py": ({".read_text"}, "the page, in the installed package"),
    "web/classroom/kept_hand_ins.py": ({".unlink"}, TEACHERS),
    "web/classroom/messages.py": ({"open"}, "a file in memory, by its descriptor"),
    "web/classroom/roster.py": ({".open"}, TEACHERS),
    "web/classroom/sandbox.py": ({".write_text", "os.chown"}, "/proc/self, and folders of the hub"),
    "web/classroom/student_process.py": ({".mkdir", "shutil.rmtree"}, "folders of the hub"),
    "web/classroom/teacher.py": ({".open"}, TEACHERS),
    "web/drawing/editor.py": ({".read_bytes", ".write_bytes"}, "methods of WorkingFolder"),
}
"""What a module may call, and why no program in a network can have prepared the file."""


def bare_calls(source: str) -> set[str]:
    """Return the calls in a module that open, make or change files by their paths."""
    calls = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and (name := _bare_call(node)):
            calls.add(name)
    return calls


def _bare_call(node: ast.Call) -> str:
    function = node.func
    if isinstance(function, ast.Name):
        return "open" if function.id == "open" else ""
    if not isinstance(function, ast.Attribute):
        return ""
    name, of = function.attr, function.value
    module = of.id if isinstance(of, ast.Name) else ""
    if module in OF_MODULES:
        return f"{module}.{name}" if name in OF_MODULES[module] else ""
    if name == "rename" and len(node.args) == 2:  # SharedFolder.rename
        return ""
    if name in OF_PATHS:
        return f".{name}"
    # str.replace has two arguments, Path.replace one.
    if name == "replace" and len(node.args) == 1 and not node.keywords:
        return ".replace"
    if name == "open" and _is_open_of_a_path(node):
        return ".open"
    return ""


def _is_open_of_a_path(node: ast.Call) -> bool:
    """Whether the arguments are those of Path.open: none, a mode, or an encoding."""
    modes = [argument.value for argument in node.args if isinstance(argument, ast.Constant)]
    is_mode = any(isinstance(mode, str) and set(mode) <= set("rwxabt+") for mode in modes)
    return not node.args or is_mode or any(word.arg == "encoding" for word in node.keywords)


def test_files_are_opened_through_shared_folder() -> None:
    wrong = {}
    for part in PARTS:
        for path in sorted((PACKAGE / part).rglob("*.py")):
            name = str(path.relative_to(PACKAGE))
            allowed, _ = ALLOWED.get(name, (set(), ""))
            if calls := bare_calls(path.read_text(encoding="utf-8")) - allowed:
                wrong[name] = sorted(calls)
    assert wrong == {}, "use wanlab.shared_folder, or add the module to ALLOWED with the reason"


def test_every_allowed_call_is_needed() -> None:
    for name, (allowed, reason) in ALLOWED.items():
        assert allowed <= bare_calls((PACKAGE / name).read_text(encoding="utf-8")), name
        assert reason, name


@pytest.mark.parametrize(
    ("source", "calls"),
    [
        ("open('a')", {"open"}),
        ("path.open('ab')", {".open"}),
        ("(folder / name).open(encoding='utf-8')", {".open"}),
        ("folder.open(name)", set()),
        ("webbrowser.open(page)", set()),
        ("path.write_text(text)", {".write_text"}),
        ("path.mkdir(exist_ok=True)", {".mkdir"}),
        ("shutil.copy(a, b)", {"shutil.copy"}),
        ("os.replace(a, b)", {"os.replace"}),
        ("part.replace(path)", {".replace"}),
        ("text.replace('a', 'b')", set()),
        ("dataclasses.replace(value, a=1)", set()),
        ("structs.replace(value, a=1)", set()),
        ("folder.rename('a', 'b')", set()),
        ("path.rename(other)", {".rename"}),
    ],
)
def test_a_bare_call_is_found(source: str, calls: set[str]) -> None:
    assert bare_calls(source) == calls
