"""Find the kernel's source, check it against known hashes, unpack the needed part and patch it."""

from __future__ import annotations

import contextlib
import itertools
import json
import lzma
import os
import re
import subprocess
import tarfile
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath

from . import apt
from .cache import sha256_of
from .errors import BuildError
from .fetch import fetch, path_of, unpack_package
from .programs import ending_with_us, run, run_for_text
from .progress import Progress
from .recipe import Archive, Patch, Recipe

PACKAGE_VARIABLE = "WANLAB_KERNEL_PACKAGE"
"""The address of the Debian package with the source, for computers whose apt does not have it."""
_MEMORY_FILE = "sources.json"

# Code that a User-Mode Linux without devices never compiles: four fifths of the archive. All Kconfig
# files and Makefiles stay, because others refer to them.
_UNUSED_FOLDERS = {
    ".": "samples sound",
    "arch": "alpha arc arm arm64 csky hexagon loongarch m68k microblaze mips nios2 openrisc parisc"
    " powerpc riscv s390 sh sparc xtensa",
    "drivers": "accel acpi ata block clk comedi crypto dma gpu hid hwmon i2c iio infiniband input"
    " iommu md media mfd misc mmc mtd phy pinctrl platform power regulator s390 scsi soc spi"
    " staging usb video",
    "drivers/net": "dsa ethernet phy wireless",
    "drivers/net/can": "c_can cc770 ctucanfd esd flexcan ifi_canfd kvaser_pciefd m_can mscan peak_canfd"
    " rcar rockchip sja1000 slcan softing spi usb",
    "fs": "bcachefs btrfs nfs nls ocfs2 smb xfs",
    "net": "mac80211 wireless",
}
_NAMED = re.compile(r"^(?:(?:rename|copy) (?:from|to) (.+)|(?:---|\+\+\+) (\S+).*)$", re.MULTILINE)
_UNUSED_KINDS = ("*.[chS]", "*.dts", "*.dtsi")
_UNUSED = ("Documentation/*.*", "tools/perf", "tools/testing")


def provide_archive(recipe: Recipe, source: Path | None, cache: Path, progress: Progress) -> Path:
    """Return the archive to build from.

    The first of these that exists: `source`; an archive that the recipe lists; the archive at the
    address in WANLAB_KERNEL_PACKAGE, which is fetched; another version from Debian's installed
    package; the archive that apt fetches from the recipe's suite. Raises BuildError if none does.
    """
    if source is not None:
        if not source.is_file():
            raise BuildError(f"there is no source archive {source}")
        return source
    installed = [path for path in recipe.source_paths if path.is_file()]
    folder = cache / "sources"
    for path in (*installed, *(path_of(archive, folder) for archive in recipe.archives)):
        if path.is_file() and recipe.archive(archive_hash(path, cache)):
            return path
    if url := os.environ.get(PACKAGE_VARIABLE):
        return fetch(url, folder, recipe.source_paths[0].name, recipe, progress)
    if installed:
        return installed[0]
    if recipe.suite and apt.is_available():
        version, name = recipe.archives[0].version, recipe.source_paths[0].name
        with apt.downloaded(recipe.package, version, recipe.suite, progress) as package:
            return unpack_package(package, folder, name, recipe)
    raise BuildError(
        f"the kernel's source is missing: {recipe.source_paths[0]} does not exist",
        f"on Debian: sudo apt-get install {recipe.package}\n"
        f"elsewhere: put the address of that package, version {recipe.archives[0].version}, into\n"
        f"{PACKAGE_VARIABLE}; or get an archive of Linux {recipe.base}.x and name it with\n"
        "--source PATH",
    )


def identify(recipe: Recipe, path: Path, cache: Path) -> Archive:
    """Identify an archive: one of the recipe, or another version that the package manager has verified.

    Raises BuildError for any other file.
    """
    sha256 = archive_hash(path, cache)
    archive = recipe.archive(sha256) or packaged(recipe, path, sha256)
    if archive is None:
        known = ", ".join(archive.version for archive in recipe.archives)
        raise BuildError(
            f"{path} is not a source that this recipe knows (it knows: {known})",
            f"If you trust where it comes from, add to {recipe.folder / 'recipe.toml'}:\n\n"
            f'[[kernel."{recipe.base}".archive]]\n'
            f'version = "{recipe.base}.?"\n'
            'origin = "where it comes from"\n'
            f'sha256 = "{sha256}"\n',
        )
    return archive


def packaged(recipe: Recipe, path: Path, sha256: str) -> Archive | None:
    """Return the archive if the recipe's installed package contains it, unchanged; otherwise None.

    apt verified the package when it installed it. Debian keeps only the newest version of a package,
    so the version in the recipe disappears with the next update. The newer version gives the kernel
    another manifest hash, which every record stores.
    """
    owner = _words_of("dpkg", "--search", str(path))
    if owner is None or owner.partition(":")[0] != recipe.package:
        return None
    version = _words_of("dpkg-query", "--show", "--showformat=${Version}", recipe.package)
    if version is None or not version.startswith(f"{recipe.base}."):
        return None
    if _words_of("dpkg", "--verify", recipe.package) != "":
        return None
    origin = f"the installed package {recipe.package}, not the pinned version"
    return Archive(version=version, origin=origin, sha256=sha256)


def _words_of(*command: str) -> str | None:
    """Return the output of a command; None if it is missing or fails."""
    try:
        done = run(command, capture_output=True, text=True, check=False)
    except OSError:
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def archive_hash(path: Path, cache: Path) -> str:
    """Return the hash of an archive, computed once for an unchanged file."""
    status = path.stat()
    key = f"{path.resolve()} {status.st_size} {status.st_mtime_ns} {status.st_ino}"
    memory = _read_memory(cache / _MEMORY_FILE)
    if key not in memory:
        memory = {key: sha256_of(path)}
        with contextlib.suppress(OSError):  # without it the next call takes half a second longer
            _write_memory(cache / _MEMORY_FILE, memory)
    return memory[key]


def _read_memory(path: Path) -> dict[str, str]:
    try:
        memory = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return memory if isinstance(memory, dict) else {}


def _write_memory(path: Path, memory: dict[str, str]) -> None:
    temporary = path.with_name(f"{path.name}.{os.getpid()}")
    temporary.write_text(json.dumps(memory), encoding="utf-8")
    temporary.replace(path)


def unpack(archive: Path, folder: Path, jobs: int) -> None:
    """Unpack the part of an archive that a build needs, without the archive's top folder."""
    top = _top_folder(archive)
    with _decompressed(archive, jobs) as stream:
        command = ["tar", "--extract", "--strip-components=1", "--anchored", *_excludes(top)]
        done = run(
            command, cwd=folder, stdin=stream, stderr=subprocess.PIPE, text=True, check=False
        )
    if done.returncode != 0:
        raise BuildError(f"cannot unpack {archive}:\n{done.stderr.strip()[-2000:]}")
    if not (folder / "Makefile").is_file():
        raise BuildError(f"{archive} is not a kernel source: it has no Makefile at its top")


def _top_folder(archive: Path) -> str:
    """Return the folder that contains an archive's members."""
    try:
        with tarfile.open(archive) as members:
            first = members.next()
    except (tarfile.TarError, lzma.LZMAError, EOFError, OSError) as error:
        raise BuildError(f"{archive} is not an archive of files: {error}") from None
    if first is None:
        raise BuildError(f"{archive} is empty")
    return first.name.partition("/")[0]


def _excludes(top: str) -> Iterator[str]:
    for parent, names in _UNUSED_FOLDERS.items():
        for name, kind in itertools.product(names.split(), _UNUSED_KINDS):
            yield f"--exclude={PurePosixPath(top, parent, name, kind)}"
    for pattern in _UNUSED:
        yield f"--exclude={top}/{pattern}"


@contextlib.contextmanager
def _decompressed(archive: Path, jobs: int) -> Iterator[int]:
    """Yield the descriptor of a pipe with the unpacked archive; tar alone would run xz on one CPU."""
    decompressors = {".xz": ["xz", f"-T{jobs}"], ".gz": ["gzip"], ".bz2": ["bzip2"]}
    if archive.suffix not in decompressors:
        raise BuildError(f"{archive}: not a .tar.xz, .tar.gz or .tar.bz2 archive")
    command = [*decompressors[archive.suffix], "--decompress", "--stdout", str(archive)]
    with subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        preexec_fn=ending_with_us(),
    ) as process:
        assert process.stdout is not None
        yield process.stdout.fileno()


def apply_patches(recipe: Recipe, folder: Path, *, first: int = 0) -> None:
    """Apply the recipe's patches in order, from number `first` on.

    Raises BuildError for one that does not apply.
    """
    for number, patch in enumerate(recipe.patches[first:], first):
        done = run_patch(patch, folder)
        if done.returncode == 0:
            continue
        if patch.path.is_relative_to(recipe.folder):
            raise BuildError(
                f"{patch.file} does not apply to this source:\n{done.stdout.strip()[-2000:]}",
                "if it changes a file that is missing: _UNUSED_FOLDERS in kernelbuild/source.py",
            )
        raise _unfit(recipe, patch, done.stdout, recipe.patches[:number])


def run_patch(
    patch: Patch, folder: Path, *, is_trial: bool = False
) -> subprocess.CompletedProcess[str]:
    """Apply a patch to a source, without fuzz; return the status and output of `patch`.

    A trial changes nothing.
    """
    command = ["patch", "-p1", "--forward", "--batch", "--fuzz=0", "--no-backup-if-mismatch"]
    with patch.path.open("rb") as stream:
        return run_for_text([*command, "--dry-run"] if is_trial else command, folder, stream)


def _unfit(recipe: Recipe, patch: Patch, output: str, before: Sequence[Patch]) -> BuildError:
    """Return the error for a user's patch that does not apply, with the hunks that failed."""
    failed = list(failed_files(output))
    files = "\n".join(f"  {file}: {what}" for file, what in failed) or f"  {output.strip()[-500:]}"
    others = sorted(
        {f"{file} ({other.file})" for file, _ in failed for other in before if changes(other, file)}
    )
    beside = f"Earlier patches change these files, too: {', '.join(others)}.\n" if others else ""
    return BuildError(
        f"{patch.path} does not apply to Linux {recipe.base} as wanlab patches it:\n{files}",
        f"{beside}Is the patch for Linux {recipe.base}? If so, adapt these hunks: unpack the source "
        f"with `wanlab kernel tree FOLDER --base {recipe.base}`, apply the patch there, resolve what "
        "is rejected, and build the tree with --tree FOLDER.",
    )


def failed_files(output: str) -> Iterator[tuple[str, str]]:
    """Yield each file that `patch` could not change, according to its output, and the reason."""
    file, hunks = "", list[str]()
    for line in [*output.splitlines(), "patching file "]:
        if match := re.match(r"(?:patching|checking) file (.*)", line):
            if hunks:
                counted = "hunk" if len(hunks) == 1 else "hunks"
                yield file, f"{counted} {', '.join(hunks)} did not apply"
            file, hunks = match[1].strip("'"), []
        elif match := re.match(r"Hunk #(\d+) FAILED at (\d+)", line):
            hunks.append(f"{match[1]} (line {match[2]})")
        elif line.startswith("can't find file to patch"):
            yield "a file", "this source does not have it"
        elif "previously applied" in line:
            yield file, "it already has this change"


def named_files(patch: Patch) -> list[str]:
    """Return the paths of all files that a patch changes, adds, removes or renames, each once."""
    text = patch.path.read_text(encoding="utf-8", errors="replace")
    found: dict[str, None] = {}
    for match in _NAMED.finditer(text):
        path = (
            PurePosixPath(match[1])
            if match[1]
            else PurePosixPath(*PurePosixPath(match[2]).parts[1:])
        )
        if path.parts and not path.is_absolute() and ".." not in path.parts:
            found[path.as_posix()] = None
    return list(found)


def added_symbols(patch: Patch) -> list[str]:
    """Return the configuration options that a patch adds, without CONFIG_."""
    text = patch.path.read_text(encoding="utf-8", errors="replace")
    added = re.findall(r"^\+\s*(?:menu)?config (\w+)", text, re.MULTILINE)
    removed = re.findall(r"^-\s*(?:menu)?config (\w+)", text, re.MULTILINE)
    return [name for name in dict.fromkeys(added) if name not in removed]


def changes(patch: Patch, file: str) -> bool:
    """Return whether a patch changes a file of the kernel."""
    text = patch.path.read_text(encoding="utf-8", errors="replace")
    return f"\n+++ b/{file}\n" in text
