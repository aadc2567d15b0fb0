"""Run a small part of `./dev bench fuzz`: odd inputs are accepted or refused without a crash."""

import sys
from pathlib import Path
from random import Random

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "bench"))

from _inputs import changed_data, changed_text
from fuzz import KINDS, Outcome, read_within_limit

from wanlab.errors import WanlabError

TIMES = 60
CORPUS = sorted(Path(__file__).parents[1].glob("golden/fuzz/*-*"))


@pytest.mark.parametrize("name", KINDS)
def test_changed_inputs_are_accepted_or_refused(name: str, tmp_path: Path) -> None:
    outcome = Outcome(name)
    for number in range(TIMES):
        outcome.attempt(KINDS[name], f"0:{name}:{number}", tmp_path)
    assert outcome.wrong == {}
    assert outcome.counts["accepted"] + outcome.counts["refused"] == TIMES


@pytest.mark.parametrize("path", CORPUS, ids=lambda path: path.name)
def test_inputs_that_once_failed_are_accepted_or_refused(path: Path, tmp_path: Path) -> None:
    kind = KINDS[path.name.partition("-")[0]]
    error = read_within_limit(kind, path.read_bytes(), tmp_path)
    assert error is None or isinstance(error, WanlabError)


def test_equal_seeds_make_equal_inputs() -> None:
    for kind in KINDS.values():
        assert kind.make(Random("1")) == kind.make(Random("1"))
    assert changed_text(Random(1), "text") == changed_text(Random(1), "text")
    assert changed_data(Random(1), {"a": [1, 2]}) == changed_data(Random(1), {"a": [1, 2]})


def test_a_traceback_and_an_endless_loop_are_detected(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The fuzzer must detect the failures that it looks for."""
    monkeypatch.setattr("fuzz.LIMIT_S", 0.02)
    kind = KINDS["traces"]

    def fail(data: bytes, folder: Path) -> None:
        raise KeyError("x")

    def spin(data: bytes, folder: Path) -> None:
        while True:
            pass

    for read, name in ((fail, "KeyError"), (spin, "TookTooLong")):
        bad = type(kind)(1, kind.make, read)
        assert type(read_within_limit(bad, b"", tmp_path)).__name__ == name
        outcome = Outcome("bad")
        outcome.attempt(bad, "1", tmp_path)
        assert outcome.counts["wrong"] == 1
