"""The command line: build, tree, list, verify, patches, info, config."""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .build import build_image, configure, find_image, unpack_tree
from .cache import Image, cache_folder, newest_named
from .errors import BuildError
from .fragments import Option, parse_requests
from .progress import Progress
from .recipe import Recipe, kernel_names
from .trees import tree_patch
from .trial import trial_text, try_patches
from .variants import define_variant, load_base, load_kernel, variant_names
from .verify import verify_image

RECIPE_FOLDER = Path(__file__).resolve().parent.parent
TREE_PATCH = "tree.patch"
NAME_HELP = "name of the kernel, see: list (default: 6.12)"


def main(
    arguments: Sequence[str] | None = None, *, program: str = "python3 kernel/build.py"
) -> int:
    """Run one command; return 0 if it succeeded. `program` is this program's name in the help."""
    options = _parser(program).parse_args(arguments)
    try:
        if options.command == "list":
            return _list(as_json=options.json)
        if options.command == "tree":
            return _tree(options)
        recipe = _chosen(options)
        if options.command == "build":
            return _build(recipe, options)
        if options.command == "verify":
            return _verify(recipe, options)
        if options.command == "patches":
            return _try_patches(recipe, options)
        if options.command == "config":
            sys.stdout.write(configure(recipe, source=options.source))
            return 0
        return _info(recipe, as_json=options.json)
    except BuildError as error:
        print(f"kernel: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print(f"kernel: interrupted; {_left_behind(options)}", file=sys.stderr)
        return 130


def _parser(program: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog=program, description="wanlab's own kernel")
    commands = parser.add_subparsers(dest="command", required=True)
    build = commands.add_parser(
        "build",
        help="build it, unless it is in the cache",
        description="Build a kernel, or a variant with changes of your own, unless it is in the "
        "cache. Its source is the computer's or is downloaded from its Debian mirror.",
    )
    build.add_argument("--again", action="store_true", help="build it even if it is in the cache")
    variant = build.add_argument_group("a variant, with changes of your own")
    variant.add_argument("--name", help="name of the variant, as for --kernel")
    variant.add_argument("--base", default="", help="name of the kernel that the patches change")
    variant.add_argument(
        "--patch",
        dest="patches",
        type=Path,
        nargs="+",
        action="extend",
        metavar="FILE",
        help="patches, in the order in which they are applied (patch -p1)",
    )
    variant.add_argument(
        "--tree",
        type=Path,
        metavar="FOLDER",
        help="an edited source tree from `tree`; only what differs from the previous build is compiled",
    )
    variant.add_argument(
        "--config",
        dest="requests",
        nargs="+",
        action="extend",
        metavar="CONFIG_X=y|FILE",
        help="options of the kernel, or files of them; an option that does not take effect is an error",
    )
    tree = commands.add_parser(
        "tree",
        help="unpack the patched source for you to edit",
        description="Unpack a kernel's source, with wanlab's patches, into a new folder for you to "
        "edit. If git is installed, the folder is a repository whose first commit, with the tag "
        "`base`, is the unchanged source. Build it with: build --tree FOLDER --name NAME",
    )
    tree.add_argument("folder", type=Path, help="folder to make")
    tree.add_argument("--base", default="", help=NAME_HELP)
    config = commands.add_parser(
        "config",
        help="print the full configuration, checked; build nothing",
        description="Print a kernel's full configuration, after checking that it has every option "
        "that was asked for. Nothing is built.",
    )
    verify = commands.add_parser(
        "verify",
        help="compare an image with the recipe; the kernel is built again for that",
        description="Tell whether an image equals what wanlab's recipe builds. The kernel is built "
        "again in a temporary folder (below TMPDIR), which takes as long as a build, and every file "
        "is compared byte by byte. The compiler, linker and C library must be those that built the "
        "image. "
        "The exit status is 0 if all files are equal, 1 if not.",
    )
    verify.add_argument(
        "folder",
        type=Path,
        nargs="?",
        help="folder of the image, not a kernel's name (default: the one that was built)",
    )
    verify.add_argument(
        "--quick",
        action="store_true",
        help="build nothing: check the image for damage, and compare its "
        "source, patches and options with the recipe's",
    )
    patches = commands.add_parser(
        "patches",
        help="tell which patches apply to another release",
        description="Try a kernel's patches, in order, on the source of another release of Linux, and "
        "print which ones apply: as they are (ok), at other lines (moved), or not, with the files and "
        "hunks that do not fit. Nothing is built, so any archive is accepted. The exit status is 0 if "
        "all apply and checkpatch does not complain, 1 if not.",
    )
    patches.add_argument("--source", type=Path, required=True, help="archive of the other release")
    patches.add_argument(
        "--style", action="store_true", help="also run the release's checkpatch on each patch"
    )
    for command in (build, tree, patches, verify):
        command.add_argument(
            "--jobs",
            type=_positive,
            help="parallel compilers (default: usable CPUs)",
        )
    for command in (build, tree, config, verify):
        command.add_argument(
            "--source",
            type=Path,
            help="use this source archive, such as linux-6.12.9.tar.xz (default: find or download it)",
        )
    listing = commands.add_parser(
        "list",
        help="list the kernels and variants, and which are built",
        description="List the kernels and variants, and the folders of those that are built.",
    )
    listing.add_argument("--json", action="store_true", help="print JSON")
    info = commands.add_parser(
        "info",
        help="show its sources, patches and options, and where it is",
        description="Show the source, patches and options of a kernel, and where its image is.",
    )
    info.add_argument("--json", action="store_true", help="print JSON")
    for command in (build, config, patches, info):
        command.add_argument("kernel", nargs="?", default="", help=NAME_HELP)
    verify.add_argument("--kernel", default="", help=NAME_HELP)
    return parser


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of jobs")
    return int(text)


def _left_behind(options: argparse.Namespace) -> str:
    is_kept = options.command == "build" and options.tree is not None
    return "the next build continues from here" if is_kept else "nothing is left behind"


def _chosen(options: argparse.Namespace) -> Recipe:
    """Return the recipe of the kernel on the command line, which may define a new variant."""
    cache = cache_folder()
    if options.command != "build" or not (
        options.name or options.base or options.patches or options.tree or options.requests
    ):
        return load_kernel(RECIPE_FOLDER, options.kernel, cache)
    if options.kernel or not options.name:
        hint = "wanlab kernel build --name bbr3 --base 6.12 --patch FILE..."
        raise BuildError("a variant needs a name, and no other kernel beside it", hint)
    requests = parse_requests(options.requests or [])
    if options.tree is not None:
        return define_from_tree(options, requests, cache)
    return define_variant(
        RECIPE_FOLDER, options.name, options.base, options.patches or [], cache, requests
    )


def define_from_tree(
    options: argparse.Namespace,
    requests: Sequence[Option],
    cache: Path,
    folder: Path = RECIPE_FOLDER,
) -> Recipe:
    """Store a variant with the changes of an edited tree as its patch, and return its recipe."""
    if options.patches:
        raise BuildError(
            "--tree and --patch exclude each other",
            f"apply the patch to the tree: patch -p1 -d {options.tree} < {options.patches[0]}",
        )
    progress = Progress(sys.stderr, 1)
    progress.phase(f"comparing {options.tree} with its source")
    try:
        base, patch = tree_patch(options.tree, cache)
    finally:
        progress.clear()
    if options.base not in ("", base):
        raise BuildError(
            f"{options.tree} is a tree of {base}, not of {options.base}",
            f"unpack another: wanlab kernel tree FOLDER --base {options.base}",
        )
    if not patch and not requests:
        raise BuildError(
            f"nothing is changed in {options.tree}, so {options.name} would be equal to {base}",
            f"edit a file, or use the kernel {base}. For a control that differs in nothing but its "
            "name, change a comment.",
        )
    with tempfile.TemporaryDirectory(prefix="wanlab-kernel-") as temporary:
        path = Path(temporary) / TREE_PATCH
        path.write_bytes(patch)
        patches = [path] if patch else []
        return define_variant(folder, options.name, base, patches, cache, requests)


def _tree(options: argparse.Namespace) -> int:
    base = load_base(RECIPE_FOLDER, options.base)
    unpack_tree(base, options.folder, source=options.source, jobs=options.jobs)
    print(options.folder)
    return 0


def _list(*, as_json: bool) -> int:
    kernels = listed(RECIPE_FOLDER, cache_folder())
    if as_json:
        print(json.dumps(kernels, indent=2))
        return 0
    rows = [("NAME", "BASE", "STATE", "WHERE")]
    rows += [(k["name"], k["base"], k["state"], k["where"]) for k in kernels]
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    for row in rows:
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=False))
        print("  ".join([*cells, row[3]]).rstrip())
    return 0


def listed(folder: Path, cache: Path) -> list[dict[str, str]]:
    """Return the data that `list` prints about each kernel: name, base, state, folder, manifest hash.

    The state is "built", "not built", or "outdated": built before the recipe or the patches changed.
    """
    return [
        _state(load_kernel(folder, name, cache), cache)
        for name in (*kernel_names(folder), *variant_names(cache))
    ]


def _state(recipe: Recipe, cache: Path) -> dict[str, str]:
    image = find_image(recipe, cache=cache)
    state = "built" if image else "not built"
    if image is None:
        image = newest_named(recipe.name, cache)
        state = "outdated" if image else "not built"
    return {
        "name": recipe.name,
        "base": recipe.base,
        "state": state,
        "where": str(image.folder) if image else "",
        "manifest": image.manifest_hash if image else "",
    }


def _build(recipe: Recipe, options: argparse.Namespace) -> int:
    image = build_image(
        recipe,
        source=options.source,
        jobs=options.jobs,
        again=options.again,
        keep=options.tree is not None,
    )
    print(image.path)
    return 0


def _verify(recipe: Recipe, options: argparse.Namespace) -> int:
    image = find_image(recipe)
    folder = options.folder or (image.folder if image else None)
    if folder is None:
        raise BuildError("no kernel has been built for this recipe", "name the folder of an image")
    problems = verify_image(
        recipe, folder, rebuild=not options.quick, source=options.source, jobs=options.jobs
    )
    for problem in problems:
        print(f"{folder}: {problem}")
    if not problems:
        compared = "its inputs are the recipe's" if options.quick else "built again, byte by byte"
        print(f"{folder}: this is the recipe's kernel ({compared})")
    return 1 if problems else 0


def _try_patches(recipe: Recipe, options: argparse.Namespace) -> int:
    trials = try_patches(
        recipe,
        options.source,
        jobs=options.jobs,
        checks_style=options.style,
        stream=sys.stderr,
    )
    print(trial_text(trials))
    return 0 if all(trial.applies and not trial.complaints for trial in trials) else 1


def _info(recipe: Recipe, *, as_json: bool) -> int:
    image = find_image(recipe)
    if as_json:
        print(json.dumps(describe(recipe, image), indent=2, sort_keys=True))
    else:
        print(info_text(recipe, image))
    return 0


def describe(recipe: Recipe, image: Image | None) -> dict[str, Any]:
    """Return the data that `info --json` prints."""
    return {
        "name": recipe.name,
        "base": recipe.base,
        "built": image is not None,
        "path": str(image.path) if image else None,
        "manifest": image.manifest if image else None,
        "options": [
            {
                "name": option.name,
                "value": option.value,
                "reason": option.reason,
                "place": option.place,
            }
            for option in recipe.options
        ],
        "patches": [
            {"file": patch.file, "subject": patch.subject, "message": patch.message}
            for patch in recipe.patches
        ],
    }


def info_text(recipe: Recipe, image: Image | None) -> str:
    """Return the text that `info` prints."""
    lines = [f"{'name':10}{recipe.name}"]
    lines += [f"{name:10}{value}" for name, value in _facts(image)]
    lines += ["", f"patches ({len(recipe.patches)})"]
    lines += [f"  {patch.file}\n      {patch.subject}" for patch in recipe.patches]
    lines += ["", f"options ({len(recipe.options)})"]
    lines += [f"  {option}\n      {option.reason}" for option in recipe.options]
    return "\n".join(lines)


def _facts(image: Image | None) -> list[tuple[str, str]]:
    if image is None:
        return [
            ("kernel", "not built yet for this recipe and compiler"),
            ("cache", str(cache_folder())),
        ]
    inputs = image.manifest["inputs"]
    return [
        ("release", image.release),
        ("manifest", image.manifest_hash),
        ("path", str(image.path)),
        ("size", f"{image.size_bytes / 1e6:.1f} MB"),
        ("source", f"{inputs['source']['package']} {inputs['source']['version']}"),
        ("compiler", ", ".join(inputs["tools"].values())),
        ("config", str(image.config_path)),
    ]
