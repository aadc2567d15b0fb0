from __future__ import annotations

from pathlib import Path

import pytest

from wanlab import Design, Run, experiment, units
from wanlab.errors import WanlabError
from wanlab.experiments import Experiment, load_experiment
from wanlab.jobs import archive
from wanlab.machine.embedded import find_image
from wanlab.run.run import check_parameters
from wanlab.run.source import SourceCode
from wanlab.units import parse_time

LOSSES = Path(__file__).with_name("losses.py")
FACTOR = 3


def doubled(value: float) -> float:
    return FACTOR * value


@pytest.mark.parametrize(
    ("given", "taken"), [("3", 3), ("2.5", 2.5), (2.5, 2.5), (3, 3), ("1e3", 1000.0)]
)
def test_a_number_may_have_a_fraction_where_the_default_has_none(
    given: str | float, taken: float
) -> None:
    found = check_parameters({"seconds": 2}, {"seconds": given}, "one")["seconds"]
    assert (found, type(found)) == (taken, type(taken))


@pytest.mark.parametrize("given", ["1e999", "-1e999", "nan", "9" * 5000, float("inf"), 10**400])
@pytest.mark.parametrize("default", [2, 2.5])
def test_a_number_that_is_not_finite_is_refused(given: str | float, default: float) -> None:
    if isinstance(given, int) and default == 2:
        return  # a whole number may have any size
    with pytest.raises(WanlabError, match=r"count must be an? (int|float)"):
        check_parameters({"count": default}, {"count": given}, "one")


def test_a_functions_keywords_are_the_parameters() -> None:
    @experiment
    def one(run: Run, *, rate: str = "1Gbps", flows: int = 2, paced: bool = True) -> None:
        """Says what it does."""

    assert isinstance(one, Experiment)
    assert one.name == "one"
    assert one.about == "Says what it does."
    assert one.parameters == {"rate": "1Gbps", "flows": 2, "paced": True}


def test_values_get_the_types_of_the_defaults() -> None:
    @experiment
    def one(run: Run, *, rate: str = "1Gbps", flows: int = 2, paced: bool = True) -> None: ...

    found = one.resolve({"flows": "4", "paced": "no"})
    assert found == {"rate": "1Gbps", "flows": 4, "paced": False}
    with pytest.raises(WanlabError, match=r"did you mean flows\?"):
        one.resolve({"flow": 1})
    with pytest.raises(WanlabError, match="flows=many"):
        one.resolve({"flows": "many"})


def test_a_parameter_without_a_default_is_refused() -> None:
    with pytest.raises(WanlabError, match="has no default"):

        @experiment
        def one(run: Run, *, rate: str) -> None: ...


def test_a_design_with_an_unknown_parameter_is_refused_where_it_is_written() -> None:
    with pytest.raises(WanlabError, match="no parameter 'rat'"):

        @experiment(design=Design.grid({"rat": ["1Gbps"]}))
        def one(run: Run, *, rate: str = "1Gbps") -> None: ...


def test_parameters_with_ambiguous_names_are_refused() -> None:
    with pytest.raises(WanlabError, match="called seed"):

        @experiment
        def one(run: Run, *, seed: int = 1) -> None: ...


# -- the source, as it travels ----------------------------------------------------------------------


def load(folder: Path, files: dict[str, str], entry: str = "one.py") -> SourceCode:
    folder.mkdir(exist_ok=True)
    for name, text in files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    return load_experiment(folder / entry).source


ONE = """
from wanlab import Design, Run, experiment
from beside import more
import far.away

@experiment(design=Design.grid({{"rate": [{values}]}}), files=["the.trace"])
def one(run: Run, *, rate: str = "1Gbps") -> None:
    # {comment}
    more({number})
"""
FILES = {
    "beside.py": "import json\nmore = print\n",
    "far/__init__.py": "",
    "far/away.py": "",
    "the.trace": "1\n2\n",
    "no_part.py": "",
}


def one(values: str = '"1Gbps"', comment: str = "why", number: int = 1) -> dict[str, str]:
    return {**FILES, "one.py": ONE.format(values=values, comment=comment, number=number)}


def test_modules_beside_an_experiment_travel_with_it(tmp_path: Path) -> None:
    source = load(tmp_path, one())
    expected = {"one.py", "beside.py", "far/__init__.py", "far/away.py", "the.trace"}
    assert set(source.files) == expected
    archive.unpack(source.to_bytes(), tmp_path / "there")
    again = load_experiment(tmp_path / "there" / "one.py")
    assert again.source == source


def test_changing_the_code_makes_another_experiment_but_changing_design_or_comments_does_not(
    tmp_path: Path,
) -> None:
    digest = load(tmp_path / "a", one()).digest()
    assert load(tmp_path / "b", one(values='"1Gbps", "2Gbps"', comment="x")).digest() == digest
    assert load(tmp_path / "c", one(number=2)).digest() != digest
    assert load(tmp_path / "d", {**one(), "the.trace": "1\n"}).digest() != digest
    assert load(tmp_path / "e", {**one(), "beside.py": "more = repr\n"}).digest() != digest


def test_a_missing_file_is_reported(tmp_path: Path) -> None:
    files = one()
    del files["the.trace"]
    with pytest.raises(WanlabError, match=r"names the file the\.trace: No such file"):
        load(tmp_path, files)


def test_a_function_in_no_file_travels_with_everything_it_refers_to(tmp_path: Path) -> None:
    scale = 7

    @experiment(programs=["curl"])
    def inner(run: Run, *, delay: str = "5ms") -> None:
        run.metric("scaled", doubled(scale * parse_time(delay)) + len(units.__name__), "ns")

    source = inner.source
    archive.unpack(source.to_bytes(), tmp_path)
    again = load_experiment(tmp_path / source.entry, source.name)
    run = Run("inner", {"delay": "1ns"}, 1, tmp_path)
    again.function(run, delay="1ns")
    assert run.metrics["scaled"].value == 3 * 7 * 1 + len("wanlab.units")
    assert again.parameters == inner.parameters
    assert again.programs == ("curl",)


def test_a_local_variable_may_have_the_name_of_an_outer_one() -> None:
    @experiment
    def inner(run: Run, *, delay: str = "5ms") -> None:
        opened = 3
        run.metric("opened", opened)

    globals()["opened"] = object()  # notebooks do this: all cells share their variables
    try:
        assert b"opened = 3" in inner.source.files[inner.source.entry]
    finally:
        del globals()["opened"]


def test_a_value_that_cannot_travel_is_named() -> None:
    opened = object()

    @experiment
    def inner(run: Run, *, delay: str = "5ms") -> None:
        print(opened)

    with pytest.raises(WanlabError, match="uses opened, which cannot be sent"):
        _ = inner.source


def test_one_of_several_experiments_in_a_file_is_chosen_by_name(tmp_path: Path) -> None:
    two = "\n".join(f"@experiment\ndef {name}(run, *, a: int = 1): pass" for name in ("one", "two"))
    path = tmp_path / "several.py"
    path.write_text(f"from wanlab import experiment\n{two}\n")
    assert load_experiment(path, "two").name == "two"
    with pytest.raises(WanlabError, match="several experiments: one, two"):
        load_experiment(path)
    with pytest.raises(WanlabError, match=r"did you mean two\?"):
        load_experiment(path, "tow")


def test_a_file_without_an_experiment_says_so(tmp_path: Path) -> None:
    path = tmp_path / "none.py"
    path.write_text("x = 1\n")
    with pytest.raises(WanlabError, match="has no experiment"):
        load_experiment(path)
    path.write_text("x = (\n")
    with pytest.raises(WanlabError, match="line 1"):
        load_experiment(path)


READS = """
from wanlab import Run, experiment, shapes

@experiment(files=["said.txt"])
def reads(run: Run, *, kernel: str = "") -> None:
    assert run.file("said.txt").read_text() == "7"
    with run.network(shapes.minimal()) as net:
        done = net["h1"].run("pwd; cat said.txt; echo more > made.txt")
    run.keep("made", run.folder / "made.txt")
    run.metric("said", float(done.output.split()[1]))
    print(done.output)
"""


@pytest.mark.machine
def test_programs_find_the_files_that_an_experiment_names(tmp_path: Path) -> None:
    (tmp_path / "reads.py").write_text(READS)
    (tmp_path / "said.txt").write_text("7")
    result = load_experiment(tmp_path / "reads.py").run(
        cache=False, kernel=str(find_image().folder)
    )
    assert result["said"] == 7
    assert result.record.raw["made"] == b"more\n"
    assert result.console.startswith("/run/experiment\n")
    assert str(tmp_path) not in result.record.provenance.to_json()


PLAIN = """
import os
from wanlab import Run, experiment, shapes

@experiment
def plain(run: Run, *, x: int = 1) -> None:
    with run.network(shapes.minimal()) as net:
        release = net["h1"].run("uname -r").output.strip()
    run.metric("is_as_said", float(release == os.environ["EXPECTED"]))
"""


@pytest.mark.machine
def test_every_experiment_has_a_kernel_and_its_key_and_record_name_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "plain.py").write_text(PLAIN)
    experiment = load_experiment(tmp_path / "plain.py")
    image = find_image("6.12")
    monkeypatch.setenv("EXPECTED", image.release)
    result = experiment.run(cache=False, kernel="6.12")
    assert result["is_as_said"] == 1
    assert result.parameters == {"x": 1, "kernel": "6.12"}
    provenance = result.record.provenance
    assert provenance.kernel_release == image.release
    assert provenance.kernel_manifest == image.manifest_hash
    assert dict(provenance.parameters) == {"x": 1, "kernel": "6.12"}
    # A YAML file writes it as a number.
    assert experiment.resolve({"kernel": 6.12}) == {"x": 1, "kernel": "6.12"}
    assert experiment.resolve({}) == {"x": 1}


@pytest.mark.machine
def test_a_missing_kernel_is_reported(tmp_path: Path) -> None:
    (tmp_path / "reads.py").write_text(READS)
    (tmp_path / "said.txt").write_text("7")
    with pytest.raises(WanlabError, match="cannot read /nowhere"):
        load_experiment(tmp_path / "reads.py").run(cache=False, kernel="/nowhere")


def test_a_script_must_not_perform_runs_when_it_is_loaded(tmp_path: Path) -> None:
    path = tmp_path / "script.py"
    text = "from wanlab import experiment\n@experiment\ndef one(run, *, a: int = 1): pass\n"
    path.write_text(text)
    loaded = load_experiment(path)
    path.write_text(f"{text}one.run(cache=False)\n")
    with pytest.raises(WanlabError, match=r'below: if __name__ == "__main__":'):
        loaded.run(cache=False)
