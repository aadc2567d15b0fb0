from pathlib import Path

import pytest
from dev import ui


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("package.json", "package-lock.json", "src/App.tsx", "src/units.test.ts"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(name)
    return tmp_path


@pytest.mark.parametrize("file", ["package.json", "package-lock.json", "src/App.tsx"])
def test_a_changed_source_requires_a_new_build(folder: Path, file: str) -> None:
    before = ui.source_stamp(folder)
    (folder / file).write_text("other")
    assert ui.source_stamp(folder) != before


def test_a_renamed_source_requires_a_new_build(folder: Path) -> None:
    before = ui.source_stamp(folder)
    (folder / "src" / "App.tsx").rename(folder / "src" / "Page.tsx")
    assert ui.source_stamp(folder) != before


@pytest.mark.parametrize("file", ["src/units.test.ts", "node_modules/vite/index.js"])
def test_changes_of_tests_and_packages_require_no_new_build(folder: Path, file: str) -> None:
    before = ui.source_stamp(folder)
    (folder / file).parent.mkdir(parents=True, exist_ok=True)
    (folder / file).write_text("other")
    assert ui.source_stamp(folder) == before


def test_packages_are_installed_again_only_when_their_list_changed(folder: Path) -> None:
    before = ui.lock_stamp(folder)
    (folder / "src" / "App.tsx").write_text("other")
    assert ui.lock_stamp(folder) == before
    (folder / "package-lock.json").write_text("other")
    assert ui.lock_stamp(folder) != before


def test_the_size_counts_texts_compressed_and_other_files_as_they_are(
    tmp_path: Path,
) -> None:
    (tmp_path / "index.js").write_text("a" * 100_000)
    (tmp_path / "picture.png").write_bytes(bytes(1000))
    (tmp_path / ui.STAMP).write_text("not sent to anybody" * 1000)
    assert 1000 < ui.compressed_bytes(tmp_path) < 2000


def test_npm_trusts_the_certificates_of_the_system(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise a registry behind a proxy with its own certificate could not be reached."""
    monkeypatch.delenv(ui.CERTIFICATES_VARIABLE, raising=False)
    monkeypatch.setattr(ui, "node", lambda: tmp_path / "bin" / "node")
    monkeypatch.setattr(ui, "CERTIFICATES", tmp_path / "none.crt")
    assert ui.CERTIFICATES_VARIABLE not in ui.npm_environment()
    monkeypatch.setattr(ui, "CERTIFICATES", Path(__file__))
    assert ui.npm_environment()[ui.CERTIFICATES_VARIABLE] == __file__
    monkeypatch.setenv(ui.CERTIFICATES_VARIABLE, "/their/own.crt")
    assert ui.npm_environment()[ui.CERTIFICATES_VARIABLE] == "/their/own.crt"
