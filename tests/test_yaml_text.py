"""YAML is read in the same way whether or not PyYAML was built with libyaml."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
import yaml

from wanlab import yaml_text
from wanlab.errors import InputError
from wanlab.yaml_text import parse_yaml

TOPOLOGIES = sorted((Path(__file__).parent / "golden" / "topologies").rglob("*.yaml"))
TEXTS = (
    *(path.read_text(encoding="utf-8", errors="replace") for path in TOPOLOGIES),
    "",
    "a: b\tc",  # libyaml reads the tab as part of the text
    "!",  # and this as an empty text
    "a: !!str 3",
    'a: {b: "c"?d}',
    "{?a: 1}",
    "a: [1, 2\n",
    "a: &x 1\nb: *x\n",
    "a: 1\na: 2\n",
    "what: it's {n: 1, at: :a}\n",
    "a:\n- b\n-\n- {}\n",
    "a: 'x\n  y'\nb: |\n  z\n",
    "\x00",
    "[" * 500,
)


def read(text: str, *, allow_references: bool) -> object:
    try:
        return parse_yaml(text, allow_references=allow_references)
    except InputError as error:
        return str(error)


@pytest.mark.parametrize("allow_references", [False, True])
@pytest.mark.parametrize("text", TEXTS, ids=range(len(TEXTS)))
def test_yaml_means_the_same_with_and_without_libyaml(
    text: str, allow_references: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    fast = read(text, allow_references=allow_references)
    monkeypatch.setattr(yaml, "__with_libyaml__", False)
    assert read(text, allow_references=allow_references) == fast


def test_the_loaders_in_c_are_used(monkeypatch: pytest.MonkeyPatch) -> None:
    if not yaml.__with_libyaml__:
        pytest.skip("PyYAML was built without libyaml")
    for loader in (yaml_text._PlainLoader, yaml_text._ReferenceLoader):
        monkeypatch.setattr(loader, "get_single_node", None)
    assert parse_yaml("a: [1, 2]").data == {"a": [1, 2]}
    assert parse_yaml("a: &x [1]\nb: *x", allow_references=True).data == {"a": [1], "b": [1]}


BOMB = "a0: &a0 x\n" + "".join(
    f"a{level}: &a{level} [{', '.join([f'*a{level - 1}'] * 9)}]\n" for level in range(1, 30)
)


@pytest.mark.parametrize(
    ("text", "what"),
    [
        (BOMB, "more than 500000 values"),
        ("a: &a [*a]\n", "nested too deeply"),
        ("[" * 20_000, "nested too deeply"),
        ("? " * 20_000, "nested too deeply"),
        (
            f"? {'k' * 100_000}\n:\n" + "".join(f" a{n}: 1\n" for n in range(9000)),
            "very long names",
        ),
        ("a: " + "x" * (17 << 20), "more than 16 Mi characters"),
        ("- what!\n" * 100_000, "more than 512 Ki characters, with a tab"),
        ("[" + "[]," * 600_000 + "]", "more than 500000 values"),
        ("a: [" + "x, " * 300_000, "cannot read this YAML"),
    ],
)
def test_a_text_that_would_take_much_memory_or_time_is_refused(text: str, what: str) -> None:
    before_s = time.process_time()
    with pytest.raises(InputError, match=what):
        parse_yaml(text, "a.yaml", allow_references=True)
    assert time.process_time() - before_s < 20  # half as much on an idle computer
