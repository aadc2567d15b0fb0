"""The reference names every public name, key, command and variable, and its programs run."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any, cast

import pytest
from handbook import command_reference, generated, python_reference
from handbook import topology_reference as topology

import wanlab
from wanlab import shapes
from wanlab.topology import loads
from wanlab.topology.files.plain import NODE_KINDS, PORT_READERS
from wanlab.topology.nic import WORDS as NIC_WORDS
from wanlab.topology.settings import QUEUE_KINDS
from wanlab.topology.words import CONDITION_WORDS, WORDS
from wanlab.yaml_text import dump_yaml

ROOT = Path(__file__).resolve().parents[2]
REFERENCE = ROOT / "docs" / "reference"
PYTHON_PAGES = sorted((REFERENCE / "python").glob("[!R]*.md"))
NEEDS_NO_MACHINE = ("topology", "shapes", "records", "plot", "values")


def page(name: str) -> str:
    return generated.filled((REFERENCE / name).read_text(encoding="utf-8"))


def read(data: dict[str, Any]) -> object:
    return loads(dump_yaml(data), "example.yaml")


# -- topology files -------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", NODE_KINDS)
def test_every_key_of_a_node_is_explained_and_its_example_is_accepted(kind: str) -> None:
    rows = dict(
        re.findall(r"^\| `(\w+)` \| .*? \| .*? \| (.*?) \| `", topology.node_tables(), re.M)
    )
    for key in topology.node_keys(kind):
        assert rows[key].strip(), key
        if key in ("extra", "frr_file", "controllers"):
            continue
        nodes: list[dict[str, object]] = [{kind: "n1", key: topology.example(kind, key)}]
        if kind == "switch" and key not in ("kind", "vlan_filtering"):
            nodes[0]["kind"] = "ovs"
        if key == "priority":
            nodes[0]["stp"] = True
        links = [] if kind == "controller" else [{"link": ["n1", "s9"]}]
        read({"nodes": [*nodes, {"switch": "s9"}], "links": links})


@pytest.mark.parametrize("word", CONDITION_WORDS)
def test_the_example_of_every_condition_is_accepted(word: str) -> None:
    words: dict[str, object] = {word: WORDS[word].example}
    needed = WORDS[word].needs
    while needed:
        words[needed] = WORDS[needed].example
        needed = WORDS[needed].needs
    if word == "schedule_repeat":
        words["schedule"] = WORDS["schedule"].example
    if word == "queue":
        words["rate"] = "10Mbps"
    read({"nodes": [{"host": "h1"}, {"host": "h2"}], "links": [{"link": ["h1", "h2"], **words}]})


@pytest.mark.parametrize("word", PORT_READERS)
def test_the_example_of_every_key_of_a_port_is_accepted(word: str) -> None:
    node = {"switch": "n1"} if word in ("vlan", "trunks") else {"host": "n1"}
    port = {word: topology.EXAMPLES[word]}
    read({"nodes": [node, {"host": "h2"}], "links": [{"link": ["n1", "h2"], "a_port": port}]})


def test_the_topology_page_names_every_word() -> None:
    text = page("topology-files.md")
    for word in (*CONDITION_WORDS, *PORT_READERS, *QUEUE_KINDS, *NIC_WORDS):
        assert f"`{word}`" in text
    assert "generated:" not in text


def test_help_of_a_shape_names_the_words_for_links() -> None:
    for shape in shapes.SHAPES.values():
        assert [word for word in CONDITION_WORDS if word not in (shape.__doc__ or "")] == []


# -- commands and variables -----------------------------------------------------------------------


@pytest.mark.long
def test_every_command_and_option_is_on_the_page() -> None:
    text = page("commands.md")
    for words, command in command_reference.commands().items():
        assert f"### wanlab {words}\n" in text
        if words not in command_reference.OWN_HELP:
            for parameter in command.params:
                names = [] if getattr(parameter, "hidden", False) else parameter.opts
                assert [name for name in names if name[:2] == "--" and name not in text] == []


def test_every_environment_variable_is_on_the_page() -> None:
    text = (REFERENCE / "environment.md").read_text(encoding="utf-8")
    folders = [ROOT / "src" / "wanlab", ROOT / "tools" / "dev"]
    files = [path for folder in folders for path in folder.rglob("*.py")]
    used = {
        name
        for path in files
        for name in re.findall(r"\bWANLAB_[A-Z_]+\b", path.read_text(encoding="utf-8"))
    }
    assert sorted(name for name in used if f"`{name}`" not in text) == []


# -- Python ---------------------------------------------------------------------------------------


def test_every_public_name_is_on_a_page() -> None:
    text = "\n".join(generated.filled(path.read_text(encoding="utf-8")) for path in PYTHON_PAGES)
    shown = set(re.findall(r"^::: ([\w.]+)$", text, re.M))
    for name in cast("list[str]", wanlab.__getattr__("__all__")):
        found = [path for path in shown if path.endswith(f".{name}")]
        is_module = name in ("iperf3", "ping", "plot", "shapes")
        assert found or is_module, name
    for module in python_reference.MODULES:
        assert {f"{module}.{name}" for name in python_reference.public_names(module)} <= shown


@pytest.mark.parametrize("path", PYTHON_PAGES, ids=lambda path: path.stem)
def test_every_public_name_is_in_a_page_s_text(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    (module, *_) = re.findall(r"<!-- generated: (wanlab\.[a-z.]+) -->", text)
    if module in ("wanlab.topology", "wanlab.units"):
        return  # most of their names are types of arguments and results
    shown = text.partition("<!-- generated")[0]
    names = python_reference.public_names(module)
    assert [name for name in names if not re.search(rf"\b{name}\b", shown)] == []


def programs(path: Path) -> str:
    return "\n".join(re.findall(r"^```python\n(.*?)^```$", path.read_text("utf-8"), re.M | re.S))


@pytest.mark.parametrize("name", NEEDS_NO_MACHINE)
def test_the_program_of_a_page_runs(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    exec(compile(programs(REFERENCE / "python" / f"{name}.md"), name, "exec"), {})


@pytest.mark.machine
@pytest.mark.parametrize("name", ["network", "measure", "experiments"])
def test_the_program_of_a_page_runs_in_a_machine(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    program = tmp_path / "program.py"
    program.write_text(programs(REFERENCE / "python" / f"{name}.md"), encoding="utf-8")
    monkeypatch.setenv("XDG_CACHE_HOME", str(Path.home() / ".cache"))
    exec(compile(program.read_text(), str(program), "exec"), {"__name__": "page"})


# -- experiments and units ------------------------------------------------------------------------


def keys_read_by(path: Path) -> set[str]:
    """Return the keys that a reader requests of a file, as far as its text shows."""
    readers = {"text", "word", "words", "number", "integer", "flag", "value", "parsed"}
    readers |= {"mapping", "mappings", "items", "texts", "text_of_file"}
    calls = (
        node
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
    )
    return {
        str(call.args[0].value)
        for call in calls
        if isinstance(call.func, ast.Attribute)
        and call.func.attr in readers
        and call.args
        and isinstance(call.args[0], ast.Constant)
    }


@pytest.mark.parametrize(
    ("reader", "name"),
    [("run/yaml_file.py", "experiment-files.md"), ("labs/unit_file.py", "lab-files.md")],
)
def test_every_key_that_a_reader_requests_is_on_its_page(reader: str, name: str) -> None:
    text = (REFERENCE / name).read_text(encoding="utf-8")
    keys = keys_read_by(ROOT / "src" / "wanlab" / reader)
    assert len(keys) > 15
    assert sorted(key for key in keys if f"`{key}`" not in text) == []
