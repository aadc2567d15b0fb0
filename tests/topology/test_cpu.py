"""Models of processors: files with costs, and words for them."""

from __future__ import annotations

from pathlib import Path

import pytest

from wanlab.errors import InputError, WanlabError
from wanlab.topology.cpu import COSTS, FREE, cpu_words, processor_names, read_cpu, read_model


def test_free_is_no_processor() -> None:
    assert read_cpu(FREE) is None
    assert read_cpu(None) is None
    assert cpu_words(None) == {}
    with pytest.raises(WanlabError, match="no cores and no speed"):
        read_cpu({"model": FREE, "cores": 2})
    with pytest.raises(WanlabError, match="no cores and no speed"):
        read_cpu({"cores": 2})
    with pytest.raises(WanlabError, match=r"has no costs \(use one of .*server-2019"):
        read_model(FREE)


@pytest.mark.parametrize("name", processor_names()[1:])
def test_each_model_is_complete_and_survives_its_words(name: str) -> None:
    cpu = read_cpu(name)
    assert cpu is not None
    assert read_cpu(cpu_words(cpu)) == cpu
    assert len(cpu.table()) == 1 + len(COSTS)
    assert all(cpu.table())


def test_speed_divides_the_work_but_not_the_times() -> None:
    fast, slow = read_cpu("server-2019"), read_cpu({"model": "server-2019", "speed": 0.1})
    assert fast is not None
    assert slow is not None
    for name, before, after in zip(COSTS, fast.table()[1:], slow.table()[1:], strict=True):
        assert after == (before if name in ("threshold_ns", "idle_after_ns") else 10 * before)
    assert fast.share(0.1).table() == slow.table()
    assert fast.share(None) is fast


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("server-2018", "there is no processor"),
        ({"model": "server-2019", "core": 2}, 'unknown field "core"'),
        ({"model": "server-2019", "cores": 0}, "cannot be 0"),
        ({"model": "server-2019", "cores": 1.5}, "whole number"),
        ({"model": "server-2019", "speed": "fast"}, "must be a number"),
        ({"model": "server-2019", "speed": float("nan")}, "cannot be nan"),
        ({"model": "x", "costs": {}}, "not complete"),
        (3, "does not describe a processor"),
    ],
)
def test_impossible_processors_are_refused(words: object, message: str) -> None:
    with pytest.raises(WanlabError, match=message):
        read_cpu(words)


def test_a_file_is_a_model_and_all_its_mistakes_are_named(tmp_path: Path) -> None:
    costs = "".join(f"  {name}: {{value: 5, source: a guess}}\n" for name in COSTS)
    file = tmp_path / "mine.yaml"
    file.write_text(f"cores: 2\ncosts:\n{costs}")
    cpu = read_cpu(str(file))
    assert cpu is not None
    assert (cpu.model, cpu.cores, set(cpu.costs.values())) == ("mine", 2, {5})
    file.write_text("cores: 2\ncosts:\n  call_ns: {value: -1}\n  caal_ns: {value: 1}\n")
    with pytest.raises(InputError) as caught:
        read_cpu(str(file))
    assert '"source" is missing' in str(caught.value)
    assert 'unknown field "caal_ns"' in str(caught.value)
    assert "call_ns of a processor cannot be -1" in str(caught.value)
