"""Test completion at the prompt."""

from __future__ import annotations

from pathlib import Path

import pytest

from wanlab.mininet.words import Words, suggestions

WORDS: Words = {
    "commands": ["help", "link", "nodes", "source"],
    "nodes": ["h1", "h2", "s1"],
    "ports": ["h1-eth0", "h2-eth0"],
    "after": {
        "link": ["nodes", "up", "down"],
        "help": ["commands"],
        "nodes": [],
        "source": ["files"],
    },
}


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "here.txt").touch()
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "file").touch()
    (tmp_path / ".hidden").touch()
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(
    ("before", "begun", "expected"),
    [
        ("", "h", ["help", "h1", "h2"]),
        ("", "s", ["source", "s1"]),
        ("link ", "h", ["h1", "h2"]),
        ("link h1 s1 ", "u", ["up"]),
        ("help ", "no", ["nodes"]),
        ("nodes ", "", []),
        ("h1 ping ", "h2", ["h2", "h2-eth0"]),
        ("h1 cat ", "here", ["here.txt"]),
        ("h1 cat ", "sub/", ["sub/file"]),
        ("source ", "", ["here.txt", "sub/"]),
        ("source ", ".", [".hidden"]),
        ("source ", "no/such", []),
    ],
)
def test_words_are_completed(before: str, begun: str, expected: list[str]) -> None:
    assert suggestions(WORDS, before, begun) == expected
