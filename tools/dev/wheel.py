"""The wheel: wanlab with its kernel and its browser page, to be installed without building anything.

It consists of three files in dist/: the wheel, the sdist, and the source of the kernel in the wheel,
which the kernel's licence, GPL-2.0, requires. This source is the name and hash of the Linux archive,
our patches, the configuration and the program that builds the kernel.
"""

from __future__ import annotations

import io
import json
import sys
import tarfile
import tempfile
from pathlib import Path

from . import kernel as kernels
from .errors import DevError
from .places import KERNEL, ROOT, STATIC, VENV
from .progress import run

DIST = ROOT / "dist"
KERNEL_VARIABLE = "WANLAB_WHEEL_KERNEL"
SOURCE_README = """\
Source of the kernel in {wheel}

The kernel is Linux under the GNU General Public License, version 2. It was built from:

  {package} {version}
  archive sha256: {sha256}

with the patches in kernel/patches, the options in kernel/config (the complete configuration is in
`config`) and the tools named in manifest.json. To build it again:

  python3 kernel/build.py build --source ARCHIVE
"""


def build() -> list[Path]:
    """Build wheel, sdist and kernel source into dist/; return their paths."""
    image = kernels.folder()
    if image is None or not (STATIC / "index.html").exists():
        raise DevError("the kernel or the browser page has not been built", "run: ./dev setup")
    DIST.mkdir(exist_ok=True)
    for old in (*DIST.glob("wanlab-*.whl"), *DIST.glob("wanlab-*.tar.gz")):
        old.unlink()
    python = str(VENV / "bin" / "python")
    # `build` removes its temporary files only if it is not interrupted.
    with tempfile.TemporaryDirectory(prefix="wanlab-wheel-") as temporary:
        run(
            "building the wheel and the sdist",
            [python, "-m", "build", "--no-isolation", "--outdir", str(DIST), str(ROOT)],
            folder=ROOT,
            environment={KERNEL_VARIABLE: str(image), "TMPDIR": temporary},
        )
    (wheel,) = DIST.glob("wanlab-*.whl")
    (sdist,) = DIST.glob("wanlab-*.tar.gz")
    source = DIST / sdist.name.replace("wanlab-", "wanlab-kernel-source-")
    _write_kernel_source(source, image, wheel.name)
    return [wheel, sdist, source]


def _write_kernel_source(path: Path, image: Path, wheel: str) -> None:
    manifest = json.loads((image / "manifest.json").read_text(encoding="utf-8"))
    readme = SOURCE_README.format(wheel=wheel, **manifest["inputs"]["source"])
    top = path.name.removesuffix(".tar.gz")
    with tarfile.open(path, "w:gz") as archive:
        _add_text(archive, f"{top}/README", readme)
        archive.add(image / "manifest.json", f"{top}/manifest.json")
        archive.add(image / "config", f"{top}/config")
        archive.add(KERNEL, f"{top}/kernel", filter=_without_caches)


def _add_text(archive: tarfile.TarFile, name: str, text: str) -> None:
    data = text.encode()
    entry = tarfile.TarInfo(name)
    entry.size = len(data)
    archive.addfile(entry, io.BytesIO(data))


def _without_caches(entry: tarfile.TarInfo) -> tarfile.TarInfo | None:
    return None if "__pycache__" in entry.name or entry.name.endswith(".log") else entry


def report(paths: list[Path]) -> None:
    """Print each file with its size."""
    for path in paths:
        print(f"{path.relative_to(ROOT)}  {path.stat().st_size / 1e6:.1f} MB", file=sys.stdout)
