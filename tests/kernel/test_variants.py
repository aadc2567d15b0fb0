"""Test variants: their names, bases and patches are checked and are inputs of the manifest."""

from pathlib import Path

import pytest
from kernelbuild import cache as kernels
from kernelbuild import source as sources
from kernelbuild.command import listed
from kernelbuild.errors import BuildError
from kernelbuild.fragments import parse_requests
from kernelbuild.manifest import inputs, manifest_hash
from kernelbuild.recipe import Recipe, kernel_names, load_recipe
from kernelbuild.variants import define_variant, load_kernel, variant_names

SECOND_KERNEL = """
[kernel."7.3"]
package = "linux-source-7.3"
paths = ["/nowhere/linux-source-7.3.tar.xz"]
suite = "trixie-backports"
patches = "patches-7.3"
steps = 20
[[kernel."7.3".archive]]
version = "7.3.4"
origin = "a test"
sha256 = "cd"
"""
DIFF = "--- a/{file}\n+++ b/{file}\n@@ -1,2 +1,2 @@\n one\n-{old}\n+{new}\n"


@pytest.fixture
def two_kernels(recipe_folder: Path) -> Path:
    """Write a recipe with two kernels; the newer one shares a patch and has another option."""
    path = recipe_folder / "recipe.toml"
    path.write_text(path.read_text() + SECOND_KERNEL)
    (recipe_folder / "patches-7.3").mkdir()
    (recipe_folder / "patches-7.3" / "series").write_text("../patches/0001-a.patch\n")
    (recipe_folder / "config" / "7.3").mkdir()
    option = "# Two queues.\nCONFIG_NET_SCH_DUALPI2=y\n"
    (recipe_folder / "config" / "7.3" / "qdisc.config").write_text(option)
    (recipe_folder / "config" / "release.config").write_text(
        '# Our name.\nCONFIG_LOCALVERSION="-wanlab"\n'
    )
    return recipe_folder


@pytest.fixture
def patch(tmp_path: Path) -> Path:
    """Write a patch without a message, as `git diff` makes it."""
    path = tmp_path / "faster.patch"
    path.write_text(DIFF.format(file="x", old="two", new="zwei"))
    return path


def hash_of(recipe: Recipe) -> str:
    return manifest_hash(inputs(recipe, recipe.archives[0], {}, "x86_64"))


def test_each_kernel_has_its_source_its_patches_and_its_options(two_kernels: Path) -> None:
    assert kernel_names(two_kernels) == ("6.12", "7.3")
    old, new = load_recipe(two_kernels), load_recipe(two_kernels, "7.3")
    assert (old.name, old.package, old.suite) == ("6.12", "linux-source-6.12", "")
    assert (new.name, new.package, new.suite) == ("7.3", "linux-source-7.3", "trixie-backports")
    assert [one.path.resolve() for one in new.patches] == [one.path for one in old.patches]
    assert {one.name for one in new.options} - {one.name for one in old.options} == {
        "NET_SCH_DUALPI2"
    }


def test_a_newer_kernel_does_not_change_the_hash_of_an_older_one(
    recipe_folder: Path, request: pytest.FixtureRequest
) -> None:
    (recipe_folder / "config" / "release.config").write_text(
        '# Our name.\nCONFIG_LOCALVERSION="-wanlab"\n'
    )
    before = hash_of(load_recipe(recipe_folder))
    request.getfixturevalue("two_kernels")
    assert hash_of(load_recipe(recipe_folder)) == before
    assert "variant" not in inputs(
        load_recipe(recipe_folder), load_recipe(recipe_folder).archives[0], {}, ""
    )


def test_a_variant_has_the_patches_of_its_base_then_its_own_and_its_name_in_the_release(
    two_kernels: Path, tmp_path: Path, patch: Path
) -> None:
    recipe = define_variant(two_kernels, "fast", "7.3", [patch], tmp_path / "cache")
    patch.unlink()
    assert load_kernel(two_kernels, "fast", tmp_path / "cache") == recipe
    assert (recipe.name, recipe.base) == ("fast", "7.3")
    assert [one.file for one in recipe.patches] == ["0001-a.patch", "0001-faster.patch"]
    options = {option.name: option.value for option in recipe.options}
    assert options["LOCALVERSION"] == '"-wanlab-fast"'
    stated = inputs(recipe, recipe.archives[0], {}, "x86_64")
    assert stated["variant"] == {"name": "fast", "base": "7.3"}
    assert stated["patches"][-1] == {
        "file": "0001-faster.patch",
        "sha256": recipe.patches[-1].sha256,
    }


def test_a_variant_is_another_kernel_with_each_of_its_inputs(
    two_kernels: Path, tmp_path: Path, patch: Path
) -> None:
    cache = tmp_path / "cache"
    hashes = [hash_of(load_recipe(two_kernels)), hash_of(load_recipe(two_kernels, "7.3"))]
    hashes.append(hash_of(define_variant(two_kernels, "fast", "6.12", [patch], cache)))
    hashes.append(hash_of(define_variant(two_kernels, "fast", "7.3", [patch], cache)))
    hashes.append(hash_of(define_variant(two_kernels, "faster", "7.3", [patch], cache)))
    patch.write_text(patch.read_text().replace("zwei", "deux"))
    hashes.append(hash_of(define_variant(two_kernels, "fast", "7.3", [patch], cache)))
    assert len(set(hashes)) == len(hashes)
    assert variant_names(cache) == ("fast", "faster")


@pytest.mark.parametrize(
    ("name", "base", "message"),
    [
        ("Fast", "6.12", '"Fast" cannot be the name of a kernel'),
        ("a/b", "6.12", '"a/b" cannot be the name of a kernel'),
        ("x" * 31, "6.12", "cannot be the name of a kernel"),
        ("7.3", "6.12", "7.3 is a kernel of the recipe"),
        ("fast", "6.13", 'there is no kernel "6.13" to start from'),
    ],
)
def test_an_invalid_variant_is_refused(
    two_kernels: Path, tmp_path: Path, patch: Path, name: str, base: str, message: str
) -> None:
    with pytest.raises(BuildError) as raised:
        define_variant(two_kernels, name, base, [patch], tmp_path)
    assert message in raised.value.what
    assert variant_names(tmp_path) == ()


def test_a_variant_without_a_readable_patch_is_refused(
    two_kernels: Path, tmp_path: Path, patch: Path
) -> None:
    with pytest.raises(BuildError, match=r"fast would be equal to 6\.12"):
        define_variant(two_kernels, "fast", "", [], tmp_path)
    with pytest.raises(BuildError, match="cannot read the patch"):
        define_variant(two_kernels, "fast", "", [tmp_path / "none.patch"], tmp_path)
    patch.write_text("no diff\n")
    with pytest.raises(BuildError, match=r"faster.patch contains no diff"):
        define_variant(two_kernels, "fast", "", [patch], tmp_path)


def test_an_unknown_kernel_is_refused_with_the_known_ones(
    two_kernels: Path, tmp_path: Path, patch: Path
) -> None:
    define_variant(two_kernels, "bbr3", "6.12", [patch], tmp_path)
    with pytest.raises(BuildError, match='there is no kernel "bbr"') as raised:
        load_kernel(two_kernels, "bbr", tmp_path)
    assert raised.value.hint == "did you mean bbr3? there are: 6.12, 7.3, bbr3"


def test_the_error_for_a_users_patch_that_does_not_fit_names_its_hunks_and_a_remedy(
    two_kernels: Path, tmp_path: Path
) -> None:
    ours = two_kernels / "patches" / "0001-a.patch"
    ours.write_text(
        ours.read_text().partition("--- a/x")[0] + DIFF.format(file="x", old="two", new="2")
    )
    theirs = tmp_path / "theirs.patch"
    diff = DIFF.format(file="x", old="two", new="zwei")
    theirs.write_text(diff + DIFF.format(file="y", old="two", new="zwei"))
    recipe = define_variant(two_kernels, "fast", "6.12", [theirs], tmp_path / "cache")
    tree = tmp_path / "tree"
    tree.mkdir()
    for name in "xy":
        (tree / name).write_text("one\ntwo\n")
    with pytest.raises(BuildError) as raised:
        sources.apply_patches(recipe, tree)
    kept = tmp_path / "cache" / "variants" / "fast" / "0001-theirs.patch"
    assert raised.value.what == (
        f"{kept} does not apply to Linux 6.12 as wanlab patches it:\n"
        "  x: hunk 1 (line 1) did not apply"
    )
    assert "Earlier patches change these files, too: x (0001-a.patch)." in raised.value.hint
    assert "adapt these hunks" in raised.value.hint


def test_the_list_says_which_kernels_are_built_and_which_are_of_an_older_recipe(
    two_kernels: Path, tmp_path: Path, patch: Path
) -> None:
    cache = tmp_path / "cache"
    recipe = define_variant(two_kernels, "fast", "6.12", [patch], cache)
    tools = {"gcc": "as when it was built"}
    for one, stated in (
        (
            load_recipe(two_kernels, "7.3"),
            inputs(
                load_recipe(two_kernels, "7.3"),
                load_recipe(two_kernels, "7.3").archives[0],
                tools,
                "x86_64",
            ),
        ),
        (recipe, inputs(recipe, recipe.archives[0], tools, "x86_64")),
    ):
        folder = cache / "building-kernel"
        folder.mkdir()
        (folder / "linux").write_text(one.name)
        manifest = {
            "hash": manifest_hash(stated),
            "name": one.name,
            "inputs": stated,
            "release": "x",
            "files": kernels.describe_files(folder),
        }
        kernels.store(cache, folder, manifest)
    assert [(one["name"], one["state"]) for one in listed(two_kernels, cache)] == [
        ("6.12", "not built"),
        ("7.3", "outdated"),
        ("fast", "outdated"),
    ]


def test_a_kernel_without_a_name_in_its_manifest_is_named_after_its_source(tmp_path: Path) -> None:
    manifest = {"inputs": {"source": {"package": "linux-source-6.12"}}}
    assert kernels.Image(folder=tmp_path, manifest=manifest).name == "6.12"


# -- options ----------------------------------------------------------------------------------------


def test_a_variant_can_change_and_add_options_without_a_patch(
    two_kernels: Path, tmp_path: Path
) -> None:
    requests = parse_requests(["CONFIG_NET=n", "CONFIG_PSI=y"])
    recipe = define_variant(two_kernels, "psi", "6.12", [], tmp_path, requests)
    assert {option.name: option.value for option in recipe.options} == {
        "NET": "n",
        "PSI": "y",
        "LOCALVERSION": '"-wanlab-psi"',
    }
    assert load_kernel(two_kernels, "psi", tmp_path) == recipe
    other = define_variant(two_kernels, "psi", "6.12", [], tmp_path, requests[:1])
    assert hash_of(other) != hash_of(recipe)


def test_options_that_the_base_has_anyway_make_no_variant(
    two_kernels: Path, tmp_path: Path
) -> None:
    with pytest.raises(BuildError, match=r"net would be equal to 6\.12") as raised:
        define_variant(two_kernels, "net", "", [], tmp_path, parse_requests(["CONFIG_NET=y"]))
    assert "--config CONFIG_X=y" in raised.value.hint


def test_the_name_in_the_release_cannot_be_replaced_by_an_option(
    two_kernels: Path, tmp_path: Path
) -> None:
    requests = parse_requests(['CONFIG_LOCALVERSION="-x"'])
    with pytest.raises(BuildError, match="CONFIG_LOCALVERSION contains the name of the variant"):
        define_variant(two_kernels, "mine", "", [], tmp_path, requests)


def test_requests_are_options_or_files_of_them(tmp_path: Path) -> None:
    file = tmp_path / "my.config"
    file.write_text("# a comment\nCONFIG_A=y\n\n# CONFIG_B is not set\nCONFIG_C=250\n")
    found = parse_requests([str(file), "CONFIG_A=n"])
    assert [(str(option), option.place) for option in found] == [
        ("CONFIG_A=n", "--config"),
        ("CONFIG_B=n", "my.config:4"),
        ("CONFIG_C=250", "my.config:5"),
    ]


@pytest.mark.parametrize(
    ("word", "message"),
    [
        ("CONFIG_A=m", "CONFIG_A=m asks for a module"),
        ("CONFIG_A=maybe", "'maybe' is not a value"),
        ("nowhere.config", "--config nowhere.config: cannot read this file"),
        ("CONFIG_A", "--config CONFIG_A: cannot read this file"),
    ],
)
def test_a_wrong_request_is_refused(word: str, message: str) -> None:
    with pytest.raises(BuildError) as raised:
        parse_requests([word])
    assert message in raised.value.what
