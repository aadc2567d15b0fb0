"""Test which patches apply to another release, and what is said about those that do not."""

import io
import tarfile
from dataclasses import replace
from pathlib import Path

import pytest
from kernelbuild import requirements
from kernelbuild.errors import BuildError
from kernelbuild.recipe import Recipe, load_recipe
from kernelbuild.trial import trial_text, try_patches

MESSAGE = "From: us\nSubject: [PATCH] {subject}\n\nA reason.\n---\n\n"
DIFF = "--- a/{file}\n+++ b/{file}\n@@ -1,3 +1,3 @@\n one\n-{old}\n+{new}\n three\n"
NEWER = {
    "Makefile": "all:\n",
    "same.c": "one\ntwo\nthree\n",
    "moved.c": "zero\none\ntwo\nthree\n",
    "changed.c": "one\nother\nthree\n",
}


@pytest.fixture
def recipe(recipe_folder: Path) -> Recipe:
    """Write a recipe with five patches, one of a file that the newer release has removed."""
    patches = {
        "0001-same.patch": DIFF.format(file="same.c", old="two", new="2"),
        "0002-moved.patch": DIFF.format(file="moved.c", old="two", new="2"),
        "0003-changed.patch": DIFF.format(file="changed.c", old="two", new="2"),
        "0004-after.patch": DIFF.format(file="changed.c", old="2", new="zwei"),
        "0005-gone.patch": DIFF.format(file="gone.c", old="two", new="2"),
        "0006-again.patch": DIFF.format(file="same.c", old="2", new="zwei"),
    }
    (recipe_folder / "patches" / "0001-a.patch").unlink()
    for name, diff in patches.items():
        (recipe_folder / "patches" / name).write_text(MESSAGE.format(subject=name) + diff)
    (recipe_folder / "patches" / "series").write_text("\n".join(patches) + "\n")
    return load_recipe(recipe_folder)


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    return archive_of(NEWER, tmp_path)


def archive_of(files: dict[str, str], folder: Path) -> Path:
    path = folder / "linux-6.18.tar.xz"
    with tarfile.open(path, "w:xz") as members:
        for name, content in files.items():
            member = tarfile.TarInfo(f"linux-6.18/{name}")
            member.size = len(content)
            members.addfile(member, io.BytesIO(content.encode()))
    return path


def test_each_patch_is_tried_and_those_after_one_that_fails_as_well(
    recipe: Recipe, archive: Path
) -> None:
    trials = try_patches(recipe, archive, jobs=1, stream=io.StringIO())
    assert trial_text(trials).splitlines() == [
        "ok     0001-same.patch",
        "moved  0002-moved.patch",
        "FAILS  0003-changed.patch",
        "         changed.c: hunk 1 (line 1) did not apply",
        "FAILS  0004-after.patch",
        "         changed.c: hunk 1 (line 1) did not apply",
        "         first adapt 0003-changed.patch",
        "FAILS  0005-gone.patch",
        "         a file: this source does not have it",
        "ok     0006-again.patch",
        "3 of 6 patches apply",
    ]


def test_a_missing_archive_is_an_error(recipe: Recipe, tmp_path: Path) -> None:
    with pytest.raises(BuildError, match="there is no source archive"):
        try_patches(recipe, tmp_path / "linux.tar.xz", stream=io.StringIO())


def test_missing_programs_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(BuildError, match="this computer lacks: patch, xz") as raised:
        requirements.check_tools(("patch", "xz"))
    assert raised.value.hint.endswith("apt-get install patch xz-utils")


CHECKPATCH = """
my $complaint = "kernel/same.c:3: WARNING:VOLATILE: Use of volatile is usually wrong";
$ARGV[-1] =~ /0001/ and print "$complaint\\narch/um/$complaint\\n:7: ERROR:TYPO: a typo\\n";
print "same.c:9: ERROR:MISSING_SIGN_OFF: Missing Signed-off-by: line(s)\\n";
$ARGV[-1] =~ /0006/ and die "broken";
exit 1;
"""


@pytest.fixture
def archive_with_checkpatch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An archive whose checkpatch complains about the first patch, and fails at the last one."""
    monkeypatch.setitem(NEWER, "scripts/checkpatch.pl", CHECKPATCH)
    return archive_of(NEWER, tmp_path)


def test_checkpatch_judges_each_patch_but_for_what_does_not_apply(
    recipe: Recipe, archive_with_checkpatch: Path
) -> None:
    two = replace(recipe, patches=recipe.patches[:2])
    trials = try_patches(two, archive_with_checkpatch, checks_style=True, stream=io.StringIO())
    assert trial_text(trials).splitlines() == [
        "ok     0001-same.patch",
        "         style: kernel/same.c:3: WARNING:VOLATILE: Use of volatile is usually wrong",
        "         style: message:7: ERROR:TYPO: a typo",
        "moved  0002-moved.patch",
        "2 of 2 patches apply",
    ]


def test_a_checkpatch_that_fails_is_an_error(recipe: Recipe, archive_with_checkpatch: Path) -> None:
    with pytest.raises(BuildError, match=r"checkpatch\.pl fails"):
        try_patches(recipe, archive_with_checkpatch, checks_style=True, stream=io.StringIO())
