"""Test whole builds, with a Makefile of ten lines in place of the kernel's source."""

import hashlib
import io
import json
import os
import shutil
import signal
import subprocess
import sys
import tarfile
import threading
from dataclasses import replace
from pathlib import Path

import pytest
from kernelbuild import build, cache, command
from kernelbuild.build import build_image, configure, find_image
from kernelbuild.errors import BuildError
from kernelbuild.recipe import Archive, Recipe, load_recipe

KCONFIG = "config NET\n\tbool\nconfig PSI\n\tbool\n"
MAKEFILE = """
allnoconfig:
	@grep NET $(KCONFIG_ALLCONFIG) > .config
linux:
	@echo built >> {counter}
	@echo '  CC      a.o'; echo '  LD      linux'
	@cp /bin/true linux
	@mkdir -p include/config; echo 6.12.1-wanlab > include/config/kernel.release
	@echo kernel/net/ipv4/tcp_bic.ko > modules.builtin
"""
BROKEN = MAKEFILE + "\t@echo 'a.c:1:1: error: this is no C'; exit 1\n"


class BuildBench:
    """A recipe, its source, and a cache, all in one temporary folder."""

    def __init__(self, folder: Path, recipe_folder: Path) -> None:
        self.folder = folder
        self.recipe_folder = recipe_folder
        self.cache = folder / "cache"
        self.counter = folder / "counter"
        (recipe_folder / "patches" / "series").write_text("")
        (recipe_folder / "patches" / "0001-a.patch").unlink()
        path = recipe_folder / "recipe.toml"
        path.write_text(path.read_text().partition("[[patch]]")[0])

    def recipe(self, makefile: str = MAKEFILE) -> Recipe:
        """Return the recipe with an archive that contains this Makefile."""
        source = self.folder / "linux-6.12.1.tar.xz"
        with tarfile.open(source, "w:xz") as members:
            text = makefile.replace("{counter}", str(self.counter))
            for name, content in (("Makefile", text.encode()), ("Kconfig", KCONFIG.encode())):
                member = tarfile.TarInfo(f"linux-6.12.1/{name}")
                member.size = len(content)
                members.addfile(member, io.BytesIO(content))
        sha256 = hashlib.sha256(source.read_bytes()).hexdigest()
        known = Archive(version="6.12.1", origin="a test", sha256=sha256)
        recipe = load_recipe(self.recipe_folder)
        return replace(recipe, archives=(known,), source_paths=(source,))

    def build(self, recipe: Recipe) -> cache.Image:
        return build_image(recipe, cache=self.cache, jobs=1, stream=io.StringIO())

    def builds(self) -> int:
        """Return how many times the source was compiled."""
        return self.counter.read_text().count("built")

    def cache_content(self) -> set[str]:
        """Return the cache's content except its lock and its list of known sources."""
        return {path.name for path in self.cache.iterdir()} - {"lock", "sources.json"}


@pytest.fixture
def place(tmp_path: Path, recipe_folder: Path) -> BuildBench:
    return BuildBench(tmp_path, recipe_folder)


def test_a_build_writes_a_kernel_and_its_manifest_and_nothing_else(place: BuildBench) -> None:
    image = place.build(place.recipe())
    assert place.cache_content() == {image.manifest_hash[:16]}
    assert {path.name for path in image.folder.iterdir()} == {
        "linux",
        "config",
        "manifest.json",
        "modules.builtin",
    }
    assert (image.release, image.manifest["steps"]) == ("6.12.1-wanlab", 2)
    assert image.manifest["options"] == {"NET": "y"}
    assert json.loads((image.folder / "manifest.json").read_text()) == image.manifest


def test_the_second_time_nothing_is_compiled(place: BuildBench) -> None:
    recipe = place.recipe()
    first = place.build(recipe)
    assert place.build(recipe) == first
    assert place.builds() == 1


def test_a_finished_kernel_is_found_without_its_source(place: BuildBench) -> None:
    recipe = place.recipe()
    image = place.build(recipe)
    (place.folder / "linux-6.12.1.tar.xz").unlink()
    assert find_image(recipe, cache=place.cache) == image
    assert place.build(recipe) == image


def test_a_finished_kernel_is_found_when_the_compiler_is_gone(
    place: BuildBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    recipe = place.recipe()
    image = place.build(recipe)
    (place.cache / "damaged").mkdir()
    (place.cache / "damaged" / "manifest.json").write_text("[]")
    monkeypatch.setenv("PATH", "/nowhere")
    assert find_image(recipe, cache=place.cache) == image
    assert find_image(replace(recipe, timestamp="another"), cache=place.cache) is None


def test_the_kernel_in_a_wheel_is_that_of_the_recipe_beside_it(
    place: BuildBench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    image = place.build(place.recipe())
    shutil.copytree(place.recipe_folder, tmp_path / "wheel" / "recipe")
    shutil.copytree(image.folder, tmp_path / "wheel" / "kernel")
    recipe = replace(place.recipe(), folder=tmp_path / "wheel" / "recipe")
    monkeypatch.setattr(build, "tool_versions", lambda _: {"gcc": "the user's"})
    found = find_image(recipe, cache=tmp_path / "empty")
    assert found is not None
    assert found.folder == tmp_path / "wheel" / "kernel"
    assert find_image(replace(recipe, timestamp="another"), cache=tmp_path / "empty") is None
    (tmp_path / "wheel" / "kernel" / "linux").write_text("damaged")
    assert find_image(recipe, cache=tmp_path / "empty") is None


def test_another_compiler_makes_another_kernel(
    place: BuildBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    recipe = place.recipe()
    first = place.build(recipe)
    monkeypatch.setattr(build, "tool_versions", lambda _: {"gcc": "gcc 99"})
    assert find_image(recipe, cache=place.cache) is None
    assert place.build(recipe).manifest_hash != first.manifest_hash


def test_a_truncated_kernel_is_rebuilt_with_a_message(place: BuildBench) -> None:
    recipe = place.recipe()
    image = place.build(recipe)
    whole = image.path.read_bytes()
    image.path.write_bytes(whole[:1000])
    assert find_image(recipe, cache=place.cache) is None
    stream = io.StringIO()
    build_image(recipe, cache=place.cache, jobs=1, stream=stream)
    assert f"is damaged: linux has 1000 bytes instead of {len(whole)}" in stream.getvalue()
    assert image.path.read_bytes() == whole
    assert place.builds() == 2


def test_two_builds_at_once_compile_once(place: BuildBench) -> None:
    recipe = place.recipe()
    images: list[cache.Image] = []
    threads = [
        threading.Thread(target=lambda: images.append(place.build(recipe))) for _ in range(2)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert images[0] == images[1]
    assert place.builds() == 1


def test_a_failed_build_keeps_its_log_and_reports_its_path(place: BuildBench) -> None:
    with pytest.raises(BuildError) as raised:
        place.build(place.recipe(BROKEN))
    assert "a.c:1:1: error: this is no C" in raised.value.what
    (log,) = place.cache_content()
    assert log.startswith("failed-")
    assert raised.value.hint == f"the whole log: {place.cache / log}"


def test_a_build_stops_before_compiling_if_an_option_has_vanished(place: BuildBench) -> None:
    (place.recipe_folder / "config" / "x.config").write_text("# Pressure.\nCONFIG_PSI=y\n")
    with pytest.raises(BuildError, match=r"CONFIG_PSI=y became n   \(x.config:2: Pressure.\)"):
        place.build(place.recipe())
    assert not place.counter.exists()


def test_an_interrupted_build_leaves_nothing(
    place: BuildBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(build, "_collect", interrupt)
    with pytest.raises(KeyboardInterrupt):
        place.build(place.recipe())
    assert place.cache_content() == set()


BUILDER = """
import sys
from dataclasses import replace
from pathlib import Path
kernel, recipe, source, version, sha256 = sys.argv[1:]
sys.path.insert(0, kernel)
from kernelbuild import command
from kernelbuild.recipe import Archive, load_recipe
made = replace(
    load_recipe(Path(recipe)),
    archives=(Archive(version=version, origin="a test", sha256=sha256),),
    source_paths=(Path(source),),
)
command._chosen = lambda options: made
sys.exit(command.main(["build"]))
"""


def test_ctrl_c_in_a_real_build_leaves_nothing(place: BuildBench) -> None:
    """A terminal sends SIGINT to the group, `./dev` sends SIGTERM, and a user may press Ctrl-C again."""
    recipe = place.recipe(MAKEFILE.replace("@cp /bin/true linux", "@sleep 60"))
    (archive,) = recipe.archives
    words = (place.recipe_folder, recipe.source_paths[0], archive.version, archive.sha256)
    builder = subprocess.Popen(
        [sys.executable, "-c", BUILDER, Path(build.__file__).parents[1], *words],
        env={**os.environ, "XDG_CACHE_HOME": str(place.folder)},
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert builder.stderr is not None
    said: list[str] = []
    for line in builder.stderr:
        said.append(line)
        if "compiling" in line:
            break
    assert "compiling" in said[-1], "".join(said)
    os.killpg(builder.pid, signal.SIGINT)
    builder.terminate()
    builder.send_signal(signal.SIGINT)
    stderr = builder.communicate()[1]
    place.cache = place.folder / "wanlab" / "kernels"
    assert (builder.returncode, place.cache_content()) == (130, set())
    assert stderr.endswith("kernel: interrupted; nothing is left behind\n")


def test_a_full_disk_is_reported_before_anything_is_unpacked(place: BuildBench) -> None:
    with pytest.raises(BuildError, match="a build needs"):
        place.build(replace(place.recipe(), disk_bytes=1 << 62))
    assert place.cache_content() == set()


def test_the_configuration_is_checked_without_compiling(place: BuildBench) -> None:
    recipe = place.recipe()
    text = configure(recipe, cache=place.cache, stream=io.StringIO())
    assert text == "CONFIG_NET=y\n"
    assert place.cache_content() == set()


def test_info_lists_every_option_with_its_reason(place: BuildBench) -> None:
    recipe = place.recipe()
    image = place.build(recipe)
    lines = command.info_text(recipe, image).splitlines()
    assert lines[0] == "name      6.12"
    assert lines[1:3] == ["release   6.12.1-wanlab", f"manifest  {image.manifest_hash}"]
    assert lines[-2:] == ["  CONFIG_NET=y", "      Sockets."]
    described = command.describe(recipe, image)
    assert described["path"] == str(image.path)
    assert [option["reason"] for option in described["options"]] == ["Sockets."]


def test_info_says_when_there_is_no_kernel_yet(place: BuildBench) -> None:
    text = command.info_text(place.recipe(), None)
    assert "kernel    not built yet" in text


def test_an_error_of_the_command_line_is_one_message_and_a_status(
    place: BuildBench, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(command, "RECIPE_FOLDER", place.folder / "nowhere")
    assert command.main(["info"]) == 1
    assert capsys.readouterr().err.startswith("kernel: there is no recipe at")
