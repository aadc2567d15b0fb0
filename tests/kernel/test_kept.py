"""Test builds of edited trees, with a Makefile of ten lines in place of the kernel's source."""

import argparse
import hashlib
import io
import os
import tarfile
from pathlib import Path

import pytest
from kernelbuild import cache, command, trees
from kernelbuild.build import build_image, compiled_text, unpack_tree
from kernelbuild.errors import BuildError
from kernelbuild.fragments import parse_requests
from kernelbuild.kept import KeptBuild
from kernelbuild.manifest import inputs, manifest_hash
from kernelbuild.recipe import Archive, Recipe, load_recipe
from kernelbuild.variants import load_kernel

# Each .c file is "compiled" to a copy; the kernel's map consists of all copies and the configuration.
MAKEFILE = """
OBJECTS := $(patsubst %.c,%.o,$(sort $(wildcard net/*.c)))
allnoconfig:
	@echo '  GEN     .config'
	@sed -n 's/^config \\(.*\\)/^CONFIG_\\1=y/p' Kconfig >names
	@grep -f names $(KCONFIG_ALLCONFIG) >.config
linux: $(OBJECTS) .config
	@echo '  LD      linux'; cp /bin/true linux; cat $^ > System.map
	@mkdir -p include/config; echo 6.12.1-wanlab > include/config/kernel.release
%.o: %.c
	@! grep -n error $<
	@echo '  CC      $@'; cp $< $@
"""
FILES = {
    "Makefile": MAKEFILE,
    "Kconfig": "config NET\n\tbool\nconfig PSI\n\tbool\n",
    "net/cubic.c": "cubic\n",
    "net/reno.c": "reno\n",
}


class TreeBench:
    """A recipe, its source, a cache, and an edited tree, all in one temporary folder."""

    def __init__(self, folder: Path, recipe_folder: Path) -> None:
        self.cache = folder / "cache"
        self.recipe_folder = recipe_folder
        self.tree = folder / "linux"
        self.output = io.StringIO()
        (recipe_folder / "patches" / "series").write_text("")
        (recipe_folder / "patches" / "0001-a.patch").unlink()
        source = folder / "linux-6.12.1.tar.xz"
        with tarfile.open(source, "w:xz") as members:
            for name, content in FILES.items():
                member = tarfile.TarInfo(f"linux-6.12.1/{name}")
                member.size = len(content)
                members.addfile(member, io.BytesIO(content.encode()))
        sha256 = hashlib.sha256(source.read_bytes()).hexdigest()
        self.archive = Archive(version="6.12.1", origin="a test", sha256=sha256)
        path = recipe_folder / "recipe.toml"
        text = path.read_text().replace("/nowhere/linux-source-6.12.tar.xz", str(source))
        path.write_text(text.replace('"ab"', f'"{sha256}"'))
        unpack_tree(load_recipe(recipe_folder), self.tree, cache=self.cache, stream=self.output)

    def define(self, name: str = "mine", *requests: str) -> Recipe:
        """Define a variant of the tree, as `build --tree` does."""
        options = argparse.Namespace(name=name, base="", patches=None, tree=self.tree)
        return command.define_from_tree(
            options, parse_requests(requests), self.cache, self.recipe_folder
        )

    def build(self, recipe: Recipe, *, again: bool = False) -> tuple[cache.Image, list[str]]:
        """Build a variant; return its kernel and the lines of the output."""
        self.output = io.StringIO()
        image = build_image(
            recipe, cache=self.cache, jobs=1, keep=True, again=again, stream=self.output
        )
        return image, self.output.getvalue().splitlines()

    def built_clean(self, recipe: Recipe, folder: Path) -> cache.Image:
        return build_image(recipe, cache=folder, jobs=1, stream=io.StringIO())


@pytest.fixture
def bench(tmp_path: Path, recipe_folder: Path) -> TreeBench:
    return TreeBench(tmp_path, recipe_folder)


def compiled(lines: list[str]) -> str:
    (line,) = (line for line in lines if "compiled" in line)
    return line


def test_only_the_files_that_differ_from_the_build_before_are_compiled(bench: TreeBench) -> None:
    (bench.tree / "net/cubic.c").write_text("cubic, faster\n")
    first, lines = bench.build(bench.define())
    assert "kernel: compiling everything, once, with 1 job" in lines
    (bench.tree / "net/cubic.c").write_text("cubic, slower\n")
    second, lines = bench.build(bench.define())
    assert compiled(lines) == "kernel: compiled 1 file: net/cubic.c"
    assert (second.folder / "System.map").read_text().startswith("cubic, slower\nreno\n")
    assert first.manifest_hash != second.manifest_hash
    assert first.folder.exists()


def test_an_incremental_build_gives_the_files_of_a_build_from_nothing(
    bench: TreeBench, tmp_path: Path
) -> None:
    (bench.tree / "net/reno.c").write_text("something else\n")
    (bench.tree / "net/extra.c").write_text("for one build\n")
    bench.build(bench.define("one"))
    (bench.tree / "net/extra.c").unlink()
    (bench.tree / "net/reno.c").write_text(FILES["net/reno.c"])
    (bench.tree / "net/cubic.c").write_text("cubic, faster\n")
    recipe = bench.define("two")
    image, _ = bench.build(recipe)
    clean = bench.built_clean(recipe, tmp_path / "other")
    assert clean.manifest["files"] == image.manifest["files"]
    assert clean.manifest_hash == image.manifest_hash


def test_a_tree_that_is_built_again_without_an_edit_compiles_nothing(bench: TreeBench) -> None:
    (bench.tree / "net/cubic.c").write_text("cubic, faster\n")
    first, _ = bench.build(bench.define())
    again, lines = bench.build(bench.define())
    assert (again, lines) == (first, [])


def test_an_unedited_tree_is_its_base(bench: TreeBench) -> None:
    with pytest.raises(BuildError, match=r"so mine would be equal to 6\.12") as raised:
        bench.define()
    assert "use the kernel 6.12" in raised.value.hint
    with pytest.raises(BuildError, match=r"mine would be equal to 6\.12"):
        bench.define("mine", "CONFIG_NET=y")


def test_the_key_depends_on_name_edit_and_options_and_not_on_the_trees_place(
    bench: TreeBench, tmp_path: Path
) -> None:
    def key(recipe: Recipe) -> str:
        return manifest_hash(inputs(recipe, bench.archive, {}, "x86_64"))

    (bench.tree / "net/cubic.c").write_text("cubic, faster\n")
    keys = [key(bench.define()), key(bench.define("other"))]
    keys.append(key(bench.define("mine", "CONFIG_PSI=y")))
    bench.tree = bench.tree.rename(tmp_path / "moved")
    assert key(bench.define()) == keys[0]
    (bench.tree / "net/cubic.c").write_text("cubic, slower\n")
    keys.append(key(bench.define()))
    assert len(set(keys)) == 4


def test_a_variant_of_a_tree_can_be_built_again_without_the_tree(
    bench: TreeBench, tmp_path: Path
) -> None:
    (bench.tree / "net/cubic.c").write_text("cubic, faster\n")
    recipe = bench.define("mine", "CONFIG_PSI=y")
    bench.tree.rename(tmp_path / "gone")
    assert load_kernel(bench.recipe_folder, "mine", bench.cache) == recipe
    assert bench.build(recipe)[0].manifest["options"] == {"NET": "y", "PSI": "y"}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"patches": [Path("x.patch")]}, "--tree and --patch exclude each other"),
        ({"base": "7.3"}, "is a tree of 6.12, not of 7.3"),
        ({"name": "6.12"}, "6.12 is a kernel of the recipe"),
    ],
)
def test_contradicting_options_are_refused(
    bench: TreeBench, change: dict[str, object], message: str
) -> None:
    (bench.tree / "net/cubic.c").write_text("cubic, faster\n")
    options = argparse.Namespace(
        **({"name": "mine", "base": "", "patches": None, "tree": bench.tree} | change)
    )
    with pytest.raises(BuildError) as raised:
        command.define_from_tree(options, (), bench.cache, bench.recipe_folder)
    assert message in raised.value.what


# -- options ----------------------------------------------------------------------------------------


def test_an_option_without_effect_is_an_error_before_anything_is_compiled(bench: TreeBench) -> None:
    (bench.tree / "net/cubic.c").write_text("cubic, faster\n")
    with pytest.raises(BuildError) as raised:
        bench.build(bench.define("mine", "CONFIG_TCP_CONG_FOO=y"))
    assert "CONFIG_TCP_CONG_FOO=y: this kernel has no such option   (--config" in raised.value.what
    image, _ = bench.build(bench.define("mine", "CONFIG_PSI=y"))
    assert "CONFIG_PSI=y" in (image.folder / "System.map").read_text()


def test_options_are_configured_again_only_if_they_or_a_kconfig_file_change(
    bench: TreeBench,
) -> None:
    def is_configured(*requests: str) -> bool:
        return any("configuring" in line for line in bench.build(bench.define("a", *requests))[1])

    (bench.tree / "net/cubic.c").write_text("cubic 1\n")
    assert is_configured()
    (bench.tree / "net/cubic.c").write_text("cubic 2\n")
    assert not is_configured()
    assert is_configured("CONFIG_PSI=y")
    (bench.tree / "Kconfig").write_text(FILES["Kconfig"] + "config FOO\n\tbool\n")
    assert is_configured("CONFIG_PSI=y", "CONFIG_FOO=y")


def test_a_new_option_that_is_off_and_a_file_that_is_not_compiled_are_mentioned(
    bench: TreeBench,
) -> None:
    (bench.tree / "Kconfig").write_text(FILES["Kconfig"] + "config FOO\n\tbool\n")
    (bench.tree / "lib").mkdir()
    (bench.tree / "lib/foo.c").write_text("foo\n")
    _, lines = bench.build(bench.define())
    assert (
        "kernel: CONFIG_FOO, which your changes add, is off; switch it on with: --config CONFIG_FOO=y"
    ) in lines
    assert (
        "kernel: lib/foo.c was not compiled: is it in the Makefile of its folder, and is its option on?"
    ) in lines
    _, lines = bench.build(bench.define("mine", "CONFIG_FOO=y"))
    assert not any("is off" in line for line in lines)


# -- interruptions ----------------------------------------------------------------------------------


def test_after_an_error_of_the_compiler_only_the_rest_is_compiled(bench: TreeBench) -> None:
    (bench.tree / "net/reno.c").write_text("an error\n")
    with pytest.raises(BuildError, match="the kernel does not compile"):
        bench.build(bench.define())
    (bench.tree / "net/reno.c").write_text("reno, correct\n")
    image, _ = bench.build(bench.define())
    (folder,) = (bench.cache / "trees").iterdir()
    assert KeptBuild(folder, image.manifest["inputs"]["tools"]).is_complete
    assert (image.folder / "System.map").read_text().startswith("cubic\nreno, correct\n")


def test_files_that_a_killed_make_may_not_have_finished_are_compiled_again(
    bench: TreeBench,
) -> None:
    (bench.tree / "net/cubic.c").write_text("cubic 1\n")
    bench.build(bench.define())
    (folder,) = (bench.cache / "trees").iterdir()
    (folder / "build/net/reno.o").write_text("half a fi")
    (folder / "compiling").touch()
    os.utime(folder / "compiling", ns=(1, 1))
    (bench.tree / "net/cubic.c").write_text("cubic 2\n")
    image, _ = bench.build(bench.define())
    assert (image.folder / "System.map").read_text().startswith("cubic 2\nreno\n")
    assert not (folder / "compiling").exists()


def test_an_interrupted_make_is_trusted_except_for_its_last_files(bench: TreeBench) -> None:
    (bench.tree / "net/cubic.c").write_text("cubic 1\n")
    image, _ = bench.build(bench.define())
    (folder,) = (bench.cache / "trees").iterdir()
    kept = KeptBuild(folder, image.manifest["inputs"]["tools"])
    os.utime(folder / "build/net/reno.o", (1, 1))
    with pytest.raises(KeyboardInterrupt), kept.compiling():
        (folder / "build/net/cubic.o").write_text("half a fi")
        raise KeyboardInterrupt
    kept.prepare()
    assert (folder / "build/net/reno.o").exists()
    assert not (folder / "build/net/cubic.o").exists()


def test_after_an_error_make_has_removed_what_it_had_not_finished(bench: TreeBench) -> None:
    (bench.tree / "net/cubic.c").write_text("cubic 1\n")
    image, _ = bench.build(bench.define())
    (folder,) = (bench.cache / "trees").iterdir()
    kept = KeptBuild(folder, image.manifest["inputs"]["tools"])
    with pytest.raises(BuildError), kept.compiling():
        raise BuildError("the kernel does not compile")
    kept.prepare()
    assert (folder / "build/net/cubic.o").exists()


def test_a_file_that_was_being_written_when_the_build_was_killed_is_written_again(
    bench: TreeBench,
) -> None:
    (bench.tree / "net/cubic.c").write_text("cubic 1\n")
    image, _ = bench.build(bench.define())
    (folder,) = (bench.cache / "trees").iterdir()
    kept = KeptBuild(folder, image.manifest["inputs"]["tools"])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(KeptBuild, "_write", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            kept.update({"net/cubic.c": b"cubic 2\n"})
    assert KeptBuild(folder, image.manifest["inputs"]["tools"]).update(
        {"net/cubic.c": b"cubic 1\n"}
    ) == ["net/cubic.c"]


def test_other_tools_and_again_start_from_nothing(bench: TreeBench) -> None:
    (bench.tree / "net/cubic.c").write_text("cubic 1\n")
    image, _ = bench.build(bench.define())
    (folder,) = (bench.cache / "trees").iterdir()
    assert not KeptBuild(folder, image.manifest["inputs"]["tools"]).is_new
    assert KeptBuild(folder, {"gcc": "another"}).is_new
    again, lines = bench.build(bench.define(), again=True)
    assert "kernel: compiling everything, once, with 1 job" in lines
    assert again.manifest["files"] == image.manifest["files"]


def test_the_source_stays_as_it_was_unpacked(bench: TreeBench) -> None:
    (bench.tree / "net/cubic.c").write_text("cubic 1\n")
    bench.build(bench.define())
    (folder,) = (bench.cache / "trees").iterdir()
    found = {
        path.relative_to(folder / "source").as_posix(): path.read_text()
        for path in (folder / "source").rglob("*")
        if path.is_file()
    }
    assert found == FILES


def test_an_interrupted_unpacking_leaves_no_folder(
    bench: TreeBench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(trees, "_checked", interrupt)  # copies the files
    with pytest.raises(KeyboardInterrupt):
        unpack_tree(
            load_recipe(bench.recipe_folder),
            tmp_path / "new",
            cache=bench.cache,
            stream=bench.output,
        )
    assert not (tmp_path / "new").exists()


def test_the_output_names_what_was_compiled() -> None:
    assert compiled_text("  LD      linux\n") == "no file had to be compiled"
    log = "".join(f"  CC      net/{name}.o\n" for name in "abcdefg")
    assert compiled_text(log) == (
        "compiled 7 files: net/a.c, net/b.c, net/c.c, net/d.c, net/e.c and 2 more"
    )
