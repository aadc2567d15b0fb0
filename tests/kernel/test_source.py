"""Test the source: unknown archives are refused, known ones unpacked and patched."""

import hashlib
import io
import tarfile
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from kernelbuild import source as sources
from kernelbuild.errors import BuildError
from kernelbuild.progress import Progress
from kernelbuild.recipe import Archive, Recipe, load_recipe

FILES = (
    "Makefile",
    "drivers/gpu/Kconfig",
    "drivers/gpu/drm/driver.c",
    "drivers/net/veth.c",
    "include/sound/core.h",
    "sound/core.c",
    "arch/arm/boot/dts/board.dts",
    "arch/um/kernel/time.c",
)


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    """Make a small source archive."""
    path = tmp_path / "linux-6.12.1.tar.xz"
    with tarfile.open(path, "w:xz") as members:
        for name in FILES:
            member = tarfile.TarInfo(f"linux-6.12.1/{name}")
            content = b"one\ntwo\nthree\n"
            member.size = len(content)
            members.addfile(member, io.BytesIO(content))
    return path


def test_only_files_that_the_build_needs_and_every_kconfig_are_unpacked(
    tmp_path: Path, archive: Path
) -> None:
    folder = tmp_path / "tree"
    folder.mkdir()
    sources.unpack(archive, folder, 1)
    unpacked = {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}
    gone = {"drivers/gpu/drm/driver.c", "sound/core.c", "arch/arm/boot/dts/board.dts"}
    assert unpacked == set(FILES) - gone


@pytest.mark.parametrize("kept_bytes", [0, 100])
def test_an_archive_cut_short_is_refused(tmp_path: Path, archive: Path, kept_bytes: int) -> None:
    archive.write_bytes(archive.read_bytes()[:kept_bytes])
    (tmp_path / "tree").mkdir()
    with pytest.raises(BuildError, match=r"linux-6.12.1.tar.xz"):
        sources.unpack(archive, tmp_path / "tree", 1)


def test_an_unknown_archive_is_refused_with_the_lines_that_allow_it(
    tmp_path: Path, archive: Path, recipe_folder: Path
) -> None:
    with pytest.raises(BuildError) as raised:
        sources.identify(load_recipe(recipe_folder), archive, tmp_path)
    assert "is not a source that this recipe knows" in raised.value.what
    sha256 = hashlib.sha256(archive.read_bytes()).hexdigest()
    assert f'sha256 = "{sha256}"' in raised.value.hint


def test_a_known_archive_is_identified(tmp_path: Path, archive: Path, recipe_folder: Path) -> None:
    sha256 = hashlib.sha256(archive.read_bytes()).hexdigest()
    known = Archive(version="6.12.1", origin="a test", sha256=sha256)
    recipe = replace(load_recipe(recipe_folder), archives=(known,))
    assert sources.identify(recipe, archive, tmp_path) == known


def test_the_cached_hash_is_updated_when_the_file_changes(tmp_path: Path, archive: Path) -> None:
    first = sources.archive_hash(archive, tmp_path)
    assert sources.archive_hash(archive, tmp_path) == first
    archive.write_bytes(b"another")
    assert sources.archive_hash(archive, tmp_path) == hashlib.sha256(b"another").hexdigest()


def provided(recipe: Recipe, cache: Path, source: Path | None = None) -> tuple[Path, str]:
    """Provide the archive; return its path and the progress that was shown."""
    shown = io.StringIO()
    return sources.provide_archive(recipe, source, cache, Progress(shown, 1)), shown.getvalue()


def test_a_missing_source_says_what_to_install(tmp_path: Path, recipe_folder: Path) -> None:
    with pytest.raises(BuildError, match="is missing") as raised:
        provided(load_recipe(recipe_folder), tmp_path)
    assert "sudo apt-get install linux-source-6.12" in raised.value.hint


def test_a_named_source_that_does_not_exist_is_refused(tmp_path: Path, recipe_folder: Path) -> None:
    with pytest.raises(BuildError, match="there is no source archive /nowhere/x"):
        provided(load_recipe(recipe_folder), tmp_path, Path("/nowhere/x"))


@dataclass
class Packaged:
    """A recipe whose archive is in a Debian package at a URL, and a cache for it."""

    recipe: Recipe
    archive: Path
    package: Path
    cache: Path


@pytest.fixture
def packaged(
    tmp_path: Path, archive: Path, recipe_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> Packaged:
    files = io.BytesIO()
    with tarfile.open(fileobj=files, mode="w:xz") as members:
        members.add(archive, "./usr/src/linux-source-6.12.tar.xz")
    package = tmp_path / "linux-source-6.12.deb"
    package.write_bytes(debian_package(files.getvalue()))
    monkeypatch.setenv(sources.PACKAGE_VARIABLE, package.as_uri())
    sha256 = hashlib.sha256(archive.read_bytes()).hexdigest()
    known = Archive(version="6.12.1", origin="a test", sha256=sha256)
    recipe = replace(load_recipe(recipe_folder), archives=(known,))
    return Packaged(recipe, archive, package, tmp_path / "cache")


def debian_package(files: bytes) -> bytes:
    """Make a Debian package: an `ar` archive whose members begin at even offsets (deb(5))."""

    def member(name: str, content: bytes) -> bytes:
        header = f"{name:<16}{0:<12}{0:<6}{0:<6}{100644:<8}{len(content):<10}`\n".encode()
        return header + content + b"\n" * (len(content) % 2)

    inside = [("debian-binary", b"2.0\n"), ("control.tar.xz", b"odd"), ("data.tar.xz", files)]
    return b"!<arch>\n" + b"".join(member(*one) for one in inside)


def test_a_missing_source_is_fetched_once(packaged: Packaged) -> None:
    path, shown = provided(packaged.recipe, packaged.cache)
    assert path.read_bytes() == packaged.archive.read_bytes()
    assert f"fetching {packaged.package.as_uri()}" in shown
    packaged.package.unlink()
    assert provided(packaged.recipe, packaged.cache) == (path, "")
    assert sources.identify(packaged.recipe, path, packaged.cache).version == "6.12.1"


def test_a_fetched_archive_is_kept_only_with_the_known_hash(packaged: Packaged) -> None:
    known = replace(packaged.recipe.archives[0], sha256="ab" * 32)
    with pytest.raises(BuildError) as raised:
        provided(replace(packaged.recipe, archives=(known,)), packaged.cache)
    assert "does not list the hash" in raised.value.hint
    assert list((packaged.cache / "sources").iterdir()) == []


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b"<html>", "not a Debian package"),
        (b"!<arch>\n", "contains no files"),
        (debian_package(b"no tar"), "truncated header"),
    ],
)
def test_a_file_that_is_no_package_is_refused(
    packaged: Packaged, content: bytes, complaint: str
) -> None:
    packaged.package.write_bytes(content)
    with pytest.raises(BuildError) as raised:
        provided(packaged.recipe, packaged.cache)
    assert complaint in raised.value.hint


def test_an_address_without_a_file_is_reported(packaged: Packaged) -> None:
    packaged.package.unlink()
    with pytest.raises(BuildError, match="cannot be fetched") as raised:
        provided(packaged.recipe, packaged.cache)
    assert packaged.package.as_uri() in raised.value.hint


def test_without_an_address_another_installed_version_is_used(
    packaged: Packaged, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed = tmp_path / "installed.tar.xz"
    installed.write_bytes(b"another")
    monkeypatch.delenv(sources.PACKAGE_VARIABLE)
    recipe = replace(packaged.recipe, source_paths=(installed,))
    assert provided(recipe, packaged.cache) == (installed, "")


def test_a_package_of_another_suite_is_fetched_with_apt_through_the_computers_mirror(
    packaged: Packaged, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A fake apt-get records its arguments and the list of sources."""
    programs, notes = tmp_path / "bin", tmp_path / "notes"
    programs.mkdir()
    (programs / "apt-get").write_text(
        f"""#!/bin/bash
case "$*" in
indextargets*) echo "http://mirror.test/debian-security/|main"; echo "http://mirror.test/debian/|main" ;;
*update) cat suite.list > {notes} ;;
*download*) echo "${{@: -1}}" >> {notes}; cp {packaged.package} . ;;
esac
"""
    )
    (programs / "apt-get").chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:/usr/bin:/bin")
    monkeypatch.delenv(sources.PACKAGE_VARIABLE)
    recipe = replace(packaged.recipe, suite="trixie-backports")
    path, shown = provided(recipe, packaged.cache)
    assert path.read_bytes() == packaged.archive.read_bytes()
    assert "fetching linux-source-6.12 6.12.1 from trixie-backports" in shown
    noted = notes.read_text().splitlines()
    assert noted[0].endswith("http://mirror.test/debian/ trixie-backports main")
    assert noted[1] == "linux-source-6.12=6.12.1"
    (programs / "apt-get").write_text("#!/bin/bash\necho 'E: no network' >&2; exit 100\n")
    assert provided(recipe, packaged.cache) == (path, "")
    path.unlink()
    with pytest.raises(BuildError, match="E: no network") as raised:
        provided(recipe, packaged.cache)
    assert "--source FILE" in raised.value.hint


def test_a_patch_is_applied(tmp_path: Path, recipe_folder: Path) -> None:
    text = "--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n one\n-two\n+zwei\n"
    path = recipe_folder / "patches" / "0001-a.patch"
    path.write_text(path.read_text().partition("--- a/x")[0] + text)
    (tmp_path / "x").write_text("one\ntwo\n")
    sources.apply_patches(load_recipe(recipe_folder), tmp_path)
    assert (tmp_path / "x").read_text() == "one\nzwei\n"


def test_a_patch_that_does_not_fit_is_refused(tmp_path: Path, recipe_folder: Path) -> None:
    text = "--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n one\n-two\n+zwei\n"
    path = recipe_folder / "patches" / "0001-a.patch"
    path.write_text(path.read_text().partition("--- a/x")[0] + text)
    (tmp_path / "x").write_text("one\nthree\n")
    with pytest.raises(BuildError, match=r"0001-a.patch does not apply to this source"):
        sources.apply_patches(load_recipe(recipe_folder), tmp_path)


@pytest.mark.parametrize(
    ("owner", "version", "changed", "taken"),
    [
        ("linux-source-6.12", "6.12.200-1", "", True),
        ("another-package", "6.12.200-1", "", False),
        ("linux-source-6.12", "6.13.1-1", "", False),
        ("linux-source-6.12", "6.12.200-1", "??5?????? /usr/src/linux.tar.xz", False),
    ],
)
def test_another_version_is_used_if_the_package_manager_verifies_it(
    recipe_folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    owner: str,
    version: str,
    changed: str,
    taken: bool,
) -> None:
    answers = {
        "--search": f"{owner}: /usr/src/linux.tar.xz",
        "--show": version,
        "--verify": changed,
    }
    monkeypatch.setattr(sources, "_words_of", lambda *command: answers[command[1]])
    recipe = load_recipe(recipe_folder)
    recipe = replace(recipe, package="linux-source-6.12", base="6.12")
    archive = sources.packaged(recipe, Path("/usr/src/linux.tar.xz"), "00")
    assert (archive is not None) is taken
    if archive is not None:
        assert (archive.version, archive.sha256) == (version, "00")
