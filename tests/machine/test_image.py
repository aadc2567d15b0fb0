import hashlib
import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from wanlab.errors import RequirementError
from wanlab.machine.embedded import image
from wanlab.machine.embedded.image import Image, find_image, load_image

FILES = {"linux": b"\x7fELF" + bytes(1000), "config": b"CONFIG_HZ=250\n"}


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache, and nothing else that would name a kernel."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("WANLAB_KERNEL", raising=False)
    monkeypatch.setattr(image, "shipped_folder", lambda: tmp_path / "no wheel")
    return tmp_path / "wanlab" / "kernels"


def make(folder: Path, name: str = "0123abcd", age_s: int = 0) -> Path:
    folder.mkdir(parents=True)
    for file, content in FILES.items():
        (folder / file).write_bytes(content)
    files = {
        file: {"size_bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
        for file, content in FILES.items()
    }
    manifest = folder / "manifest.json"
    manifest.write_text(json.dumps({"hash": name, "release": "6.12.1-wanlab", "files": files}))
    os.utime(manifest, (1_700_000_000 - age_s, 1_700_000_000 - age_s))
    return folder


def refusal(folder: Path) -> str:
    with pytest.raises(RequirementError) as caught:
        load_image(folder)
    assert caught.value.hint == "build it with: wanlab kernel build"
    return caught.value.what


def test_a_complete_image_is_found_in_the_cache(cache: Path) -> None:
    folder = make(cache / "0123abcd")
    found = find_image()
    assert found == Image(folder, "0123abcd", "6.12.1-wanlab")
    assert (found.program, found.config) == (folder / "linux", folder / "config")


def test_the_kernel_built_last_is_taken(cache: Path) -> None:
    make(cache / "aa", "aa", age_s=10)
    make(cache / "00", "00", age_s=5)
    make(cache / "ff", "ff", age_s=20)
    assert find_image().manifest_hash == "00"


def test_a_build_that_is_not_finished_is_not_taken(cache: Path) -> None:
    make(cache / ".building-aa", "aa")
    (cache / "bb").mkdir()
    with pytest.raises(RequirementError):
        find_image()


def test_without_a_kernel_the_error_says_how_to_get_one(cache: Path) -> None:
    with pytest.raises(RequirementError) as caught:
        find_image()
    assert str(caught.value) == (
        f"no kernel has been built in {cache} (build it with: wanlab kernel build)"
    )


def test_a_kernel_that_is_named_goes_first(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(cache / "aa", "aa")
    monkeypatch.setenv("WANLAB_KERNEL", str(make(tmp_path / "mine", "mine")))
    assert find_image().manifest_hash == "mine"


def test_a_kernel_that_is_named_and_missing_is_not_replaced_by_another(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(cache / "aa", "aa")
    monkeypatch.setenv("WANLAB_KERNEL", str(tmp_path / "mine"))
    with pytest.raises(RequirementError, match=r"mine/manifest.json: No such file or directory"):
        find_image()


def test_the_wheels_kernel_goes_before_the_cache(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(cache / "aa", "aa")
    wheel = make(tmp_path / "wheel", "wheel")
    monkeypatch.setattr(image, "shipped_folder", lambda: wheel)
    assert find_image().manifest_hash == "wheel"


def cut_short(folder: Path) -> str:
    (folder / "linux").write_bytes(FILES["linux"][:100])
    return f"{folder}/linux is damaged: it has 100 of {len(FILES['linux'])} bytes"


def damaged(folder: Path) -> str:
    (folder / "linux").write_bytes(FILES["linux"][:-1] + b"!")
    return f"{folder}/linux is damaged: its SHA-256 is not the manifest's"


def without_a_file(folder: Path) -> str:
    (folder / "config").unlink()
    return f"cannot read {folder}/config: No such file or directory"


def without_a_manifest(folder: Path) -> str:
    (folder / "manifest.json").unlink()
    return f"cannot read {folder}/manifest.json: No such file or directory"


def with_a_list_for_a_manifest(folder: Path) -> str:
    (folder / "manifest.json").write_text("[]")
    return f"{folder}/manifest.json is damaged: not a JSON object"


def with_a_manifest_cut_short(folder: Path) -> str:
    (folder / "manifest.json").write_text('{"hash": ')
    said = "Expecting value: line 1 column 10 (char 9)"
    return f"{folder}/manifest.json is damaged: {said}"


def with_a_manifest_that_lacks_the_release(folder: Path) -> str:
    (folder / "manifest.json").write_text('{"hash": "aa", "files": {}}')
    return f"{folder}/manifest.json lacks 'release'"


def with_a_file_that_has_no_hash(folder: Path) -> str:
    files = {"linux": {"size_bytes": len(FILES["linux"])}}
    manifest = {"hash": "aa", "release": "6", "files": files}
    (folder / "manifest.json").write_text(json.dumps(manifest))
    return f"{folder}/manifest.json lacks 'sha256'"


def with_a_file_that_is_described_by_a_number(folder: Path) -> str:
    (folder / "manifest.json").write_text('{"hash": "aa", "release": "6", "files": {"linux": 3}}')
    return f"{folder}/manifest.json is damaged: 'int' object is not subscriptable"


@pytest.mark.parametrize(
    "break_it",
    [
        cut_short,
        damaged,
        without_a_file,
        without_a_manifest,
        with_a_list_for_a_manifest,
        with_a_manifest_cut_short,
        with_a_manifest_that_lacks_the_release,
        with_a_file_that_has_no_hash,
        with_a_file_that_is_described_by_a_number,
    ],
    ids=lambda function: function.__name__,
)
def test_a_damaged_image_is_refused(tmp_path: Path, break_it: Callable[[Path], str]) -> None:
    folder = make(tmp_path / "image")
    assert break_it(folder) == refusal(folder)


def test_modules_are_known_by_the_names_that_modprobe_takes(tmp_path: Path) -> None:
    folder = make(tmp_path / "image")
    assert load_image(folder).built_in() == []
    (folder / "modules.builtin").write_text(
        "kernel/net/sched/sch_fq.ko\nkernel/net/ipv4/tcp_bic.ko\nkernel/drivers/net/open-v.ko\n"
    )
    assert load_image(folder).built_in() == ["open_v", "sch_fq", "tcp_bic"]


def test_another_processor_is_named_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("platform.machine", lambda: "aarch64")
    with pytest.raises(
        RequirementError, match="x86-64 processor; this computer is aarch64"
    ) as raised:
        find_image()
    assert "--machine native" in str(raised.value)
