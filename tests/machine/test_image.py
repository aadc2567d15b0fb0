import hashlib
import json
import os
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

from wanlab.errors import RequirementError
from wanlab.machine.embedded import first_use, image
from wanlab.machine.embedded.image import Image, find_image, is_known, load_image

PATCHES = [
    {"file": f"0043-{image.BROKER_PATCH}.patch"},
    {"file": f"0056-{image.NO_SIGNALS_PATCH}.patch"},
]
FILES = {"linux": b"\x7fELF" + bytes(1000), "config": b"CONFIG_HZ=250\n"}


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Use an empty cache, and unset everything else that could choose a kernel."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("WANLAB_KERNEL", raising=False)
    monkeypatch.setattr(image, "shipped_folder", lambda: tmp_path / "no wheel")
    monkeypatch.setattr(first_use, "recipe_program", lambda: tmp_path / "no recipe")
    first_use.folder_of.cache_clear()
    return tmp_path / "wanlab" / "kernels"


def make(folder: Path, name: str = "0123abcd", age_s: int = 0, kernel: str = "") -> Path:
    folder.mkdir(parents=True)
    for file, content in FILES.items():
        (folder / file).write_bytes(content)
    files = {
        file: {"size_bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
        for file, content in FILES.items()
    }
    manifest = folder / "manifest.json"
    stated = {"hash": name, "release": "6.12.1-wanlab", "files": files, "patches": PATCHES}
    manifest.write_text(json.dumps(stated | ({"name": kernel} if kernel else {})))
    os.utime(manifest, (1_700_000_000 - age_s, 1_700_000_000 - age_s))
    return folder


def refusal(folder: Path) -> str:
    with pytest.raises(RequirementError) as caught:
        load_image(folder)
    assert caught.value.hint == "build it with: wanlab kernel build"
    return caught.value.what


def test_a_kernel_that_changes_files_itself_is_refused(cache: Path) -> None:
    """Nothing outside its process would keep it to the working folder."""
    folder = make(cache / "0123abcd")
    manifest = json.loads((folder / "manifest.json").read_text())
    (folder / "manifest.json").write_text(json.dumps(manifest | {"patches": []}))
    assert refusal(folder) == (
        f"the kernel in {folder} was built by an older wanlab and cannot be confined"
    )


def test_a_complete_image_is_found_in_the_cache(cache: Path) -> None:
    folder = make(cache / "0123abcd")
    found = find_image()
    assert found == Image(folder, "0123abcd", "6.12.1-wanlab", "6.12")
    assert (found.program, found.config) == (folder / "linux", folder / "config")


def test_the_kernel_built_last_is_chosen(cache: Path) -> None:
    make(cache / "aa", "aa", age_s=10)
    make(cache / "00", "00", age_s=5)
    make(cache / "ff", "ff", age_s=20)
    assert find_image().manifest_hash == "00"


def test_a_kernel_is_found_by_its_name_whatever_was_built_last(cache: Path) -> None:
    make(cache / "aa", "aa", age_s=10)
    make(cache / "bb", "bb", age_s=9, kernel="bbr3")
    make(cache / "cc", "cc", age_s=8, kernel="7.3")
    make(cache / "dd", "dd", age_s=7, kernel="bbr3")
    assert find_image().name == "6.12"
    assert find_image("6.12").manifest_hash == "aa"
    assert find_image("bbr3").manifest_hash == "dd"
    assert find_image(str(cache / "bb")).name == "bbr3"
    assert {name: folder.name for name, folder in image.built_kernels().items()} == {
        "6.12": "aa",
        "7.3": "cc",
        "bbr3": "dd",
    }


def test_the_variable_names_a_kernel_or_a_folder_and_a_named_kernel_comes_before_it(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(cache / "aa", "aa")
    folder = make(cache / "cc", "cc", kernel="7.3")
    for text in ("7.3", str(folder)):
        monkeypatch.setenv("WANLAB_KERNEL", text)
        assert find_image().manifest_hash == "cc"
    assert find_image("6.12").manifest_hash == "aa"


RECIPE = """
import json, os, pathlib, sys
if sys.argv[1] == "list":
    where = os.environ.get("OWN_FOLDER", "")
    print(json.dumps([{"name": n, "where": where} for n in ("6.12", "7.3", "bbr3")]))
elif sys.argv[2] == "bbr3":
    print("kernel: x.patch does not apply", file=sys.stderr)
    sys.exit(1)
else:
    folder = pathlib.Path(os.environ["XDG_CACHE_HOME"]) / "wanlab" / "kernels" / "abc"
    folder.mkdir(parents=True)
    patches = [{"file": "0043-hostfs-let-a-broker-change-files.patch"}]
    manifest = {"hash": "abc", "name": sys.argv[2], "release": "7.3.4-wanlab", "files": {}}
    manifest["patches"] = patches
    (folder / "manifest.json").write_text(json.dumps(manifest))
"""


@pytest.fixture
def recipe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Use a recipe whose builds take no time."""
    program = tmp_path / "build.py"
    program.write_text(RECIPE)
    monkeypatch.setattr(first_use, "recipe_program", lambda: program)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1})
    return program


def test_of_several_kernels_of_one_name_the_recipes_is_chosen_whatever_was_built_last(
    cache: Path, recipe: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours = make(cache / "aa", "aa", age_s=10)
    make(cache / "bb", "bb", age_s=5)
    make(cache / "cc", "cc", age_s=1)
    monkeypatch.setenv("OWN_FOLDER", str(ours))
    assert find_image().manifest_hash == "aa"
    first_use.folder_of.cache_clear()
    monkeypatch.setenv("OWN_FOLDER", "")  # the recipe's own kernel is not built
    assert find_image().manifest_hash == "cc"


def test_a_kernel_that_is_not_built_is_built_at_its_first_use_after_saying_how_long_it_takes(
    cache: Path, recipe: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert find_image("7.3").release == "7.3.4-wanlab"
    assert capfd.readouterr().err == (
        "wanlab: the kernel 7.3 has not been built yet; that takes about 5 min on 2 idle "
        "processors, once\n"
    )
    assert find_image("7.3").manifest_hash == "abc"
    assert capfd.readouterr().err == ""


def test_an_unknown_kernel_is_refused_with_the_known_ones(cache: Path, recipe: Path) -> None:
    with pytest.raises(RequirementError, match='there is no kernel "bbr"') as caught:
        find_image("bbr")
    assert caught.value.hint == "did you mean bbr3?"
    with pytest.raises(RequirementError) as caught:
        find_image("x")
    assert caught.value.hint == "choose from: 6.12, 7.3, bbr3"


def test_a_kernel_that_cannot_be_built_is_an_error(
    cache: Path, recipe: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(RequirementError, match="the kernel bbr3 could not be built") as caught:
        find_image("bbr3")
    assert caught.value.hint == "see above, or: wanlab kernel build bbr3"
    assert "x.patch does not apply" in capfd.readouterr().err


def test_without_the_recipe_only_kernels_that_were_built_can_be_named(
    cache: Path, recipe: Path
) -> None:
    recipe.unlink()
    make(cache / "aa", "aa", kernel="bbr3")
    with pytest.raises(RequirementError, match='there is no kernel "bbr" here') as caught:
        find_image("bbr")
    assert caught.value.hint == "a checkout of wanlab builds others; did you mean bbr3?"


def test_the_default_kernel_is_the_recipes() -> None:
    recipe_folder = Path(__file__).parents[2] / "kernel"
    table = tomllib.loads((recipe_folder / "recipe.toml").read_text())
    assert table["default"] == image.DEFAULT_KERNEL


def test_an_unfinished_build_is_not_chosen(cache: Path) -> None:
    make(cache / ".building-aa", "aa")
    (cache / "bb").mkdir()
    with pytest.raises(RequirementError):
        find_image()


def test_without_a_kernel_the_error_says_how_to_get_one(cache: Path) -> None:
    with pytest.raises(RequirementError) as caught:
        find_image()
    assert str(caught.value) == (
        f"no kernel has been built in {cache} (build it with: wanlab kernel build)"
    )


def test_a_named_kernel_is_preferred(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(cache / "aa", "aa")
    monkeypatch.setenv("WANLAB_KERNEL", str(make(tmp_path / "mine", "mine")))
    assert find_image().manifest_hash == "mine"


def test_a_missing_named_kernel_is_not_replaced_by_another(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(cache / "aa", "aa")
    monkeypatch.setenv("WANLAB_KERNEL", str(tmp_path / "mine"))
    with pytest.raises(RequirementError, match=r"mine/manifest.json: No such file or directory"):
        find_image()


def test_the_wheels_kernel_is_preferred_to_the_cache(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(cache / "aa", "aa")
    wheel = make(tmp_path / "wheel", "wheel")
    monkeypatch.setattr(image, "shipped_folder", lambda: wheel)
    assert find_image().manifest_hash == "wheel"


def cut_short(folder: Path) -> str:
    (folder / "linux").write_bytes(FILES["linux"][:100])
    return f"{folder}/linux is damaged: it has 100 of {len(FILES['linux'])} bytes"


def damaged(folder: Path) -> str:
    (folder / "linux").write_bytes(FILES["linux"][:-1] + b"!")
    return f"{folder}/linux is damaged: its SHA-256 is not the manifest's"


def without_a_file(folder: Path) -> str:
    (folder / "config").unlink()
    return f"cannot read {folder}/config: No such file or directory"


def without_a_manifest(folder: Path) -> str:
    (folder / "manifest.json").unlink()
    return f"cannot read {folder}/manifest.json: No such file or directory"


def with_a_list_for_a_manifest(folder: Path) -> str:
    (folder / "manifest.json").write_text("[]")
    return f"{folder}/manifest.json is damaged: not a JSON object"


def with_a_manifest_cut_short(folder: Path) -> str:
    (folder / "manifest.json").write_text('{"hash": ')
    said = "Expecting value: line 1 column 10 (char 9)"
    return f"{folder}/manifest.json is damaged: {said}"


def with_a_manifest_that_lacks_the_release(folder: Path) -> str:
    (folder / "manifest.json").write_text('{"hash": "aa", "files": {}}')
    return f"{folder}/manifest.json lacks 'release'"


def with_a_file_that_has_no_hash(folder: Path) -> str:
    files = {"linux": {"size_bytes": len(FILES["linux"])}}
    manifest = {"hash": "aa", "release": "6", "files": files}
    (folder / "manifest.json").write_text(json.dumps(manifest))
    return f"{folder}/manifest.json lacks 'sha256'"


def with_a_file_that_is_described_by_a_number(folder: Path) -> str:
    (folder / "manifest.json").write_text('{"hash": "aa", "release": "6", "files": {"linux": 3}}')
    return f"{folder}/manifest.json is damaged: 'int' object is not subscriptable"


@pytest.mark.parametrize(
    "break_it",
    [
        cut_short,
        damaged,
        without_a_file,
        without_a_manifest,
        with_a_list_for_a_manifest,
        with_a_manifest_cut_short,
        with_a_manifest_that_lacks_the_release,
        with_a_file_that_has_no_hash,
        with_a_file_that_is_described_by_a_number,
    ],
    ids=lambda function: function.__name__,
)
def test_a_damaged_image_is_refused(tmp_path: Path, break_it: Callable[[Path], str]) -> None:
    folder = make(tmp_path / "image")
    assert break_it(folder) == refusal(folder)


def test_modules_have_the_names_that_modprobe_accepts(tmp_path: Path) -> None:
    folder = make(tmp_path / "image")
    assert load_image(folder).built_in() == []
    (folder / "modules.builtin").write_text(
        "kernel/net/sched/sch_fq.ko\nkernel/net/ipv4/tcp_bic.ko\nkernel/drivers/net/open-v.ko\n"
    )
    assert load_image(folder).built_in() == ["open_v", "sch_fq", "tcp_bic"]


def test_another_processor_is_named_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("platform.machine", lambda: "aarch64")
    with pytest.raises(
        RequirementError, match="x86-64 processor; this computer is aarch64"
    ) as raised:
        find_image()
    assert "use a computer with one" in str(raised.value)


def test_a_name_of_a_kernel_that_is_too_long_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WANLAB_KERNEL", "x" * 5000)
    with pytest.raises(RequirementError, match=r'there is no kernel "x{40}\.\.\." \(a name has at'):
        find_image()
    assert not is_known("x" * 5000)
    with pytest.raises(RequirementError, match="File name too long"):
        find_image("/" + "x" * 5000)
