"""Test source trees that a person edits: what counts as a change, and which patch it gives."""

import json
import os
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from kernelbuild import trees
from kernelbuild.errors import BuildError
from kernelbuild.recipe import load_recipe
from kernelbuild.treediff import Change, as_patch, changes

BEFORE = {
    "Makefile": "all:\n",
    "net/ipv4/Makefile": "obj-y += tcp_cubic.o\n",
    "net/ipv4/tcp_cubic.c": "".join(f"line {number}\n" for number in range(20)),
    "net/ipv4/tcp_veno.c": "veno\n",
    "scripts/check.sh": "#!/bin/sh\n",
}


@pytest.fixture
def source(tmp_path: Path) -> Path:
    return write(tmp_path / "source", BEFORE)


@pytest.fixture
def tree(tmp_path: Path, source: Path) -> Path:
    """Copy the source with its times, as `wanlab kernel tree` does."""
    return Path(shutil.copytree(source, tmp_path / "tree"))


def write(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


def edit(tree: Path) -> None:
    """Change, add and remove files, one without a line feed at its end, and one that is a script."""
    cubic = tree / "net/ipv4/tcp_cubic.c"
    cubic.write_text(cubic.read_text().replace("line 7\n", "line seven\n") + "end")
    (tree / "net/ipv4/tcp_veno.c").unlink()
    (tree / "net/ipv4/tcp_foo.c").write_text("foo\n\fsecond page\r\n")
    (tree / "scripts/new.sh").write_text("#!/bin/sh\n")
    (tree / "scripts/new.sh").chmod(0o755)


def test_an_unedited_tree_has_no_changes(source: Path, tree: Path) -> None:
    assert changes(source, tree) == []
    assert as_patch([]) == b""


def test_a_file_that_was_only_touched_is_not_a_change(source: Path, tree: Path) -> None:
    os.utime(tree / "net/ipv4/tcp_cubic.c", ns=(1, 1))
    assert changes(source, tree) == []


def test_patch_makes_the_same_files_from_the_changes(
    source: Path, tree: Path, tmp_path: Path
) -> None:
    edit(tree)
    found = changes(source, tree)
    assert [change.path for change in found] == [
        "net/ipv4/tcp_cubic.c",
        "net/ipv4/tcp_foo.c",
        "net/ipv4/tcp_veno.c",
        "scripts/new.sh",
    ]
    command = ["patch", "-p1", "--batch", "--fuzz=0", "-d", str(source)]
    subprocess.run(command, input=as_patch(found), check=True, capture_output=True)
    assert changes(source, tree) == []
    assert (source / "scripts/new.sh").stat().st_mode & 0o100


def test_the_patch_depends_on_the_changes_only(source: Path, tree: Path, tmp_path: Path) -> None:
    edit(tree)
    patch = as_patch(changes(source, tree))
    elsewhere = Path(shutil.copytree(tree, tmp_path / "else where"))
    for path in elsewhere.rglob("*"):
        os.utime(path, ns=(7, 7))
    assert as_patch(changes(source, elsewhere)) == patch
    with (elsewhere / "net/ipv4/tcp_foo.c").open("a") as file:
        file.write("/* */\n")
    assert as_patch(changes(source, elsewhere)) != patch


@pytest.mark.parametrize(
    "name", ["notes.txt", "net/ipv4/tcp_cubic.c.orig", "net/ipv4/x.o", ".git/HEAD", ".vscode/a.c"]
)
def test_new_files_that_are_no_source_do_not_count(source: Path, tree: Path, name: str) -> None:
    write(tree, {name: "x\n"})
    assert changes(source, tree) == []


@pytest.mark.parametrize("name", [".config", "include/generated/autoconf.h"])
def test_a_tree_in_which_make_has_run_is_refused(source: Path, tree: Path, name: str) -> None:
    write(tree, {name: "x\n"})
    with pytest.raises(BuildError, match="has been compiled with make") as raised:
        changes(source, tree)
    assert raised.value.hint.endswith(f"make -C {tree} ARCH=um mrproper")


def test_a_folder_without_a_kernel_is_refused(source: Path, tree: Path) -> None:
    (tree / "Makefile").unlink()
    with pytest.raises(BuildError, match="is not the source tree of a kernel"):
        changes(source, tree)


def test_a_file_that_is_no_text_is_refused() -> None:
    with pytest.raises(BuildError, match=r"x\.c is not a text"):
        as_patch([Change(path="x.c", old=None, new=b"\0")])


# -- folders ----------------------------------------------------------------------------------------


def test_the_key_of_a_source_covers_its_archive_and_patches_only(recipe_folder: Path) -> None:
    base = load_recipe(recipe_folder)
    key = trees.tree_key(base, "ab")
    assert key.startswith("6.12-")
    assert trees.tree_key(replace(base, options=()), "ab") == key
    assert trees.tree_key(base, "cd") != key
    assert trees.tree_key(replace(base, patches=()), "ab") != key


def marked(tree: Path, cache: Path, source: Path) -> Path:
    """Let a tree be one of the cache's source."""
    kept = cache / "trees" / "6.12-0123456789ab" / "source"
    kept.parent.mkdir(parents=True)
    source.rename(kept)
    mark = {"base": "6.12", "source": "6.12-0123456789ab"}
    (tree / trees.MARK_FILE).write_text(json.dumps(mark))
    return kept


def test_the_changes_of_a_tree_are_those_since_it_was_unpacked(
    source: Path, tree: Path, tmp_path: Path
) -> None:
    marked(tree, tmp_path / "cache", source)
    assert trees.tree_patch(tree, tmp_path / "cache") == ("6.12", b"")
    edit(tree)
    base, patch = trees.tree_patch(tree, tmp_path / "cache")
    assert base == "6.12"
    assert patch.startswith(b"diff --git a/net/ipv4/tcp_cubic.c b/net/ipv4/tcp_cubic.c\n--- a/net")


def test_a_tree_whose_source_is_gone_is_refused(source: Path, tree: Path, tmp_path: Path) -> None:
    shutil.rmtree(marked(tree, tmp_path / "cache", source))
    with pytest.raises(BuildError, match="is no longer in") as raised:
        trees.tree_patch(tree, tmp_path / "cache")
    assert "git diff base" in raised.value.hint


@pytest.mark.parametrize(
    ("mark", "message"),
    [
        (None, "was not made by `wanlab kernel tree`"),
        ("[]", "cannot be read"),
        ('{"base": "6.12", "source": "../x"}', '"../x" is no source'),
    ],
)
def test_a_tree_of_unknown_origin_is_refused(tree: Path, mark: str | None, message: str) -> None:
    if mark is not None:
        (tree / trees.MARK_FILE).write_text(mark)
    with pytest.raises(BuildError) as raised:
        trees.read_mark(tree)
    assert message in raised.value.what
    assert "wanlab kernel tree FOLDER" in raised.value.hint


def test_a_missing_tree_is_refused_with_the_command_that_makes_it(tmp_path: Path) -> None:
    with pytest.raises(BuildError, match="there is no folder") as raised:
        trees.read_mark(tmp_path / "linux")
    assert raised.value.hint == f"make it with: wanlab kernel tree {tmp_path / 'linux'}"


def test_a_tree_is_written_to_a_new_or_empty_folder_only(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "used").mkdir()
    (tmp_path / "used" / "x").touch()
    trees.check_new_folder(tmp_path / "empty")
    trees.check_new_folder(tmp_path / "new")
    with pytest.raises(BuildError, match="exists already"):
        trees.check_new_folder(tmp_path / "used")
    with pytest.raises(BuildError, match="there is no folder"):
        trees.check_new_folder(tmp_path / "a" / "b")
