"""The recipe is read as a whole, and its list of patches is consistent."""

from pathlib import Path

import pytest
from kernelbuild.errors import BuildError
from kernelbuild.recipe import load_recipe

REPOSITORY = Path(__file__).resolve().parents[2]


def test_a_recipe_holds_its_archives_patches_and_options(recipe_folder: Path) -> None:
    recipe = load_recipe(recipe_folder)
    assert [archive.version for archive in recipe.archives] == ["6.12.1"]
    assert [(patch.file, patch.subject, patch.message) for patch in recipe.patches] == [
        ("0001-a.patch", "net: a subject that is longer than one line", "A reason.")
    ]
    assert [str(option) for option in recipe.options] == ["CONFIG_NET=y"]


def test_our_recipe_has_a_reason_for_every_option_and_patch() -> None:
    recipe = load_recipe(REPOSITORY / "kernel")
    assert [option for option in recipe.options if not option.reason] == []
    assert [patch for patch in recipe.patches if len(patch.message) < 100] == []


def test_our_patches_are_numbered_as_they_are_applied_and_name_no_invented_author() -> None:
    folder = REPOSITORY / "kernel" / "patches"
    names = [patch.file for patch in load_recipe(folder.parent).patches]
    for number, name in enumerate(names, 1):
        header = (folder / name).read_text(errors="replace").partition("\n\n")[0]
        assert name.startswith(f"{number:04}-")
        assert f"[PATCH {number:02}/{len(names)}]" in header
        assert "From: The wanlab authors <>" in header


# In-process mode, and what was made for it: 7.3 has seccomp mode instead. 0056 is in Linux 6.18.
ONLY_OLD = {
    "0048",
    "0049",
    "0050",
    *(f"{number:04}" for number in (*range(53, 57), *range(58, 74), 75, 76)),
}


def test_the_newer_kernel_has_every_patch_under_the_same_number() -> None:
    kernel = REPOSITORY / "kernel"
    old = [patch.file[:4] for patch in load_recipe(kernel).patches]
    patches = load_recipe(kernel, "7.3").patches
    new = [patch.file[:4] for patch in patches]
    assert {*old} - {*new} == ONLY_OLD
    assert new == sorted(new)
    for patch in patches:
        if patch.file[:4] in old:
            header = patch.path.read_text(errors="replace").partition("\n\n")[0]
            assert f"[PATCH {patch.file[2:4]}/{len(old)}]" in header


def test_all_algorithms_and_queues_of_the_course_are_enabled() -> None:
    asked = {
        option.name for option in load_recipe(REPOSITORY / "kernel").options if option.value == "y"
    }
    algorithms = {f"TCP_CONG_{name}" for name in ("CUBIC", "BIC", "HTCP", "BBR", "VEGAS")}
    queues = "NETEM TBF HTB RED SFQ CODEL FQ_CODEL FQ PIE FQ_PIE CAKE HFSC DRR PRIO SFB CHOKE"
    wanted = algorithms | {f"NET_SCH_{name}" for name in queues.split()} | {"HZ_250", "NET_CLS_U32"}
    assert wanted - asked == set()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("series", ""), "0001-a.patch: not listed in patches/series"),
        (
            ("series", "0001-a.patch\n0002-b.patch\n"),
            "0002-b.patch: listed in patches/series, but there is no such file",
        ),
        (
            ("series", "0001-a.patch\n0001-a.patch\n"),
            "0001-a.patch: listed twice in patches/series",
        ),
        (("0002-b.patch", "x"), "0002-b.patch: not listed in patches/series"),
    ],
)
def test_a_list_of_patches_that_does_not_agree_is_refused(
    recipe_folder: Path, change: tuple[str, str], message: str
) -> None:
    name, text = change
    (recipe_folder / "patches" / name).write_text(text)
    with pytest.raises(BuildError) as raised:
        load_recipe(recipe_folder)
    assert message in [line.strip() for line in raised.value.what.splitlines()]


def test_a_patch_that_does_not_say_why_is_refused(recipe_folder: Path) -> None:
    path = recipe_folder / "patches" / "0001-a.patch"
    path.write_text(path.read_text().replace("A reason.\n", ""))
    with pytest.raises(BuildError, match=r"0001-a.patch: its message does not say why"):
        load_recipe(recipe_folder)


def test_comments_and_blank_lines_in_the_series_are_skipped(recipe_folder: Path) -> None:
    (recipe_folder / "patches" / "series").write_text("# wires\n\n0001-a.patch  # first\n")
    assert [patch.file for patch in load_recipe(recipe_folder).patches] == ["0001-a.patch"]


@pytest.mark.parametrize(
    "text", ["format = 2\n", "format = 1\n", "format =\n", "format = 2\nkernel = 1\n"]
)
def test_a_recipe_of_another_format_is_refused(recipe_folder: Path, text: str) -> None:
    (recipe_folder / "recipe.toml").write_text(text)
    with pytest.raises(BuildError, match=r"recipe.toml"):
        load_recipe(recipe_folder)


def test_a_folder_without_a_recipe_says_so(tmp_path: Path) -> None:
    with pytest.raises(BuildError, match="there is no recipe at"):
        load_recipe(tmp_path)
