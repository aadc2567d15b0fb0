"""The key of a result covers everything that decides it, and nothing else."""

from __future__ import annotations

import hashlib
import platform
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from wanlab.errors import WanlabError
from wanlab.experiments import Run
from wanlab.jobs import origin as origins
from wanlab.jobs.origin import (
    PACKAGE,
    UNINVOLVED_FOLDERS,
    Origin,
    code_hash,
    differences,
    file_hashes,
    kernel_hash,
    key_of,
)
from wanlab.jobs.programs import PROGRAMS
from wanlab.record.provenance import as_text
from wanlab.run.definition import Definition
from wanlab.run.key import origin_of
from wanlab.topology.cpu import COSTS, cpu_words, read_cpu


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """Make a small package with a file in each kind of folder."""
    for name in ("units.py", "run/run.py", "machine/programs/mn", "sweep/sweep.py", "web/app.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("1\n")
    return tmp_path


def hash_of(package: Path) -> str:
    code_hash.cache_clear()
    return code_hash(package)


DECIDING = ["units.py", "run/run.py", "machine/programs/mn"]
OTHERS = ["sweep/sweep.py", "web/app.py"]


@pytest.mark.parametrize("name", DECIDING)
def test_changing_a_deciding_file_changes_the_key(package: Path, name: str) -> None:
    before = hash_of(package)
    (package / name).write_text("2\n")
    assert hash_of(package) != before


@pytest.mark.parametrize("name", DECIDING)
def test_renaming_a_deciding_file_changes_the_key(package: Path, name: str) -> None:
    before = hash_of(package)
    (package / name).rename((package / name).with_name("renamed.py"))
    assert hash_of(package) != before


@pytest.mark.parametrize(
    "name", ["new.py", "run/new.py", "new_folder/new.py", "machine/programs/x"]
)
def test_adding_a_deciding_file_changes_the_key(package: Path, name: str) -> None:
    before = hash_of(package)
    (package / name).parent.mkdir(exist_ok=True)
    (package / name).write_text("")
    assert hash_of(package) != before


@pytest.mark.parametrize("name", OTHERS)
def test_no_change_of_other_folders_changes_the_key(package: Path, name: str) -> None:
    before = hash_of(package)
    (package / name).write_text("2\n")
    assert hash_of(package) == before
    (package / name).rename((package / name).with_name("renamed.py"))
    assert hash_of(package) == before
    (package / name).with_name("new.py").write_text("")
    assert hash_of(package) == before


def test_compiled_files_do_not_change_the_key(package: Path) -> None:
    before = hash_of(package)
    (package / "run/__pycache__").mkdir()
    (package / "run/__pycache__/run.cpython-311.pyc").write_bytes(b"1")
    assert hash_of(package) == before


def test_every_folder_that_the_key_leaves_out_exists() -> None:
    folders = {path.name for path in PACKAGE.iterdir() if path.is_dir()}
    assert folders >= UNINVOLVED_FOLDERS
    assert "run" not in UNINVOLVED_FOLDERS


# -- the origin of a run ----------------------------------------------------------------------------


def measured(run: Run, *, delay: str = "10ms") -> None:
    """Measure nothing."""


@pytest.fixture
def definition(monkeypatch: pytest.MonkeyPatch) -> Definition:
    """Return an experiment, on a computer whose kernel and programs need not be there."""
    monkeypatch.delenv("WANLAB_KERNEL", raising=False)
    monkeypatch.delenv("WANLAB_CPU", raising=False)
    monkeypatch.setattr(origins, "kernel_hash", lambda kernel: f"the kernel {kernel!r}")
    monkeypatch.setattr(
        origins, "program_hashes", lambda names: {name: f"the hash of {name}" for name in names}
    )
    return Definition.of_function(measured, programs=["netperf"])


def test_the_origin_of_a_run_names_everything_that_its_result_depends_on(
    definition: Definition,
) -> None:
    origin = origin_of(definition, {"delay": "10ms"})
    assert origin == {
        "format": origins.FORMAT,
        "inputs": {"experiment": definition.source.digest()},
        "parameters": {"delay": "10ms"},
        "clock": "",
        "wanlab": code_hash(),
        "kernel": "the kernel ''",
        "cpu": {},
        "programs": {name: f"the hash of {name}" for name in (*PROGRAMS, "netperf")},
        "python": platform.python_version(),
    }
    assert set(origin) == Origin.__required_keys__


def test_a_run_with_another_kernel_has_that_kernel_in_its_origin(definition: Definition) -> None:
    assert origin_of(definition, {"kernel": "7.3"})["kernel"] == "the kernel '7.3'"


@pytest.mark.parametrize(
    ("part", "other"),
    [
        ("format", 1),
        ("inputs", {"experiment": "another source"}),
        ("clock", "real"),
        ("parameters", {"delay": "20ms"}),
        ("wanlab", "another code"),
        ("kernel", "another kernel"),
        ("cpu", {"model": "server-2019"}),
        ("programs", {"iperf3": "another iperf3"}),
        ("python", "3.0.0"),
    ],
)
def test_every_part_of_the_origin_changes_the_key(
    definition: Definition, part: str, other: object
) -> None:
    origin = origin_of(definition, {"delay": "10ms"})
    changed = cast(Origin, {**origin, part: other})
    assert key_of(origin, 1) == key_of(cast(Origin, dict(origin)), 1)
    assert key_of(changed, 1) != key_of(origin, 1)


def test_the_key_is_the_hash_of_the_origin_and_the_seed(definition: Definition) -> None:
    origin = origin_of(definition, {})
    whole = as_text({**origin, "seed": 3})
    assert key_of(origin, 3) == hashlib.sha256(whole.encode()).hexdigest()


def test_the_order_in_which_a_disk_lists_files_does_not_matter(
    package: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = hash_of(package)
    listed = Path.rglob
    monkeypatch.setattr(Path, "rglob", lambda *words: sorted(listed(*words), reverse=True))
    assert hash_of(package) == before


def test_another_seed_changes_the_key(definition: Definition) -> None:
    origin = origin_of(definition, {})
    assert len({key_of(origin, seed) for seed in (1, 2, 12)}) == 3


def test_the_differences_of_two_computers_are_named(definition: Definition) -> None:
    ours = origin_of(definition, {"delay": "10ms"})
    theirs = cast(Origin, {**ours, "wanlab": "x", "python": "3.0.0"})
    assert differences(ours, ours) == []
    assert differences(ours, theirs) == ["different python", "different wanlab code"]
    programs = {**ours["programs"], "iperf3": "x"}
    del programs["tc"]
    programs["curl-2"] = "only theirs"
    theirs = cast(Origin, {**ours, "programs": programs, "inputs": {}})
    assert differences(ours, theirs) == [
        "different experiment",
        "different curl-2",
        "different iperf3",
        "different tc",
    ]
    older = cast(Origin, {name: ours[name] for name in ours if name != "clock"})  # type: ignore[literal-required]
    assert differences(ours, older) == differences(older, ours) == ["different clock"]
    assert differences(ours, cast(Origin, {**ours, "inputs": "x"})) == ["different inputs"]
    assert differences(cast(Origin, {**ours, "inputs": "x"}), ours) == ["different inputs"]


def test_the_kernel_that_the_environment_names_is_in_the_origin(
    definition: Definition, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WANLAB_KERNEL", "7.3")
    assert origin_of(definition, {})["kernel"] == "the kernel '7.3'"
    assert origin_of(definition, {"kernel": "6.12"})["kernel"] == "the kernel '6.12'"


def test_a_kernel_has_the_same_key_whether_an_option_or_the_environment_names_it(
    definition: Definition, monkeypatch: pytest.MonkeyPatch
) -> None:
    by_option = origin_of(definition, {}, "7.3")
    assert origin_of(definition, {"kernel": "6.12"}, "7.3")["kernel"] == "the kernel '6.12'"
    monkeypatch.setenv("WANLAB_KERNEL", "7.3")
    assert origin_of(definition, {}) == by_option
    assert origin_of(definition, {}, "6.12")["kernel"] == "the kernel '6.12'"


def test_the_files_of_a_folder_are_inputs_by_name_and_content(package: Path) -> None:
    before = file_hashes(package, "unit", ["app.py"])
    assert list(before) == [
        "unit/machine/programs/mn",
        "unit/run/run.py",
        "unit/sweep/sweep.py",
        "unit/units.py",
    ]
    (package / "units.py").write_text("2\n")
    (package / "web/app.py").write_text("2\n")
    (package / "__pycache__").mkdir()
    (package / "__pycache__/x.pyc").write_bytes(b"1")
    after = file_hashes(package, "unit", ["app.py"])
    assert {name for name in after if after[name] != before.get(name)} == {"unit/units.py"}


def test_the_kernel_is_known_by_the_manifest_of_its_image(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    asked = []

    def find_image(kernel: str) -> SimpleNamespace:
        asked.append(kernel)
        return SimpleNamespace(manifest_hash=f"manifest of {kernel}")

    monkeypatch.setattr(origins, "find_image", find_image)
    name = str(tmp_path)  # cached by its name, which no other test has
    assert kernel_hash(name) == f"manifest of {name}"
    assert asked == [name]


def test_the_whole_processor_is_in_the_origin_whoever_chooses_it(
    definition: Definition, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    server = cpu_words(read_cpu("server-2019"))
    assert origin_of(definition, {"cpu": "server-2019"})["cpu"] == server
    monkeypatch.setenv("WANLAB_CPU", "server-2019")
    assert origin_of(definition, {})["cpu"] == server
    assert origin_of(definition, {"cpu": "free"})["cpu"] == {}
    assert origin_of(definition, {"cpu": "free"}, cpu=server)["cpu"] == server
    model = tmp_path / "mine.yaml"
    costs = "".join(f"  {name}: {{value: 5, source: a guess}}\n" for name in COSTS)
    model.write_text(f"cores: 2\ncosts:\n{costs}")
    before = origin_of(definition, {"cpu": str(model)})
    model.write_text(model.read_text().replace("value: 5", "value: 6", 1))
    assert key_of(origin_of(definition, {"cpu": str(model)}), 1) != key_of(before, 1)


def test_a_parameter_of_the_experiment_that_is_called_cpu_is_no_processor(
    definition: Definition,
) -> None:
    own = replace(definition, parameters={"cpu": 0.5})
    assert origin_of(own, {"cpu": 0.5})["cpu"] == {}
    assert own.resolve({"cpu": "0.25"}) == {"cpu": 0.25}


def test_an_unknown_processor_is_refused_with_the_likely_name(definition: Definition) -> None:
    assert definition.resolve({"cpu": "free"}) == {"delay": "10ms", "cpu": "free"}
    with pytest.raises(WanlabError, match="server-2020") as caught:
        definition.resolve({"cpu": "server-2020"})
    assert "server-2019" in caught.value.hint
