import fcntl
import os
import re
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from dev import command, kernel, mininet_package, packages, setup, ui, venv
from dev.errors import DevError
from dev.places import ROOT
from dev.setup import Missing


@pytest.fixture
def done(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[str]:
    """Replace the steps of setup by entries in a list, which is returned."""
    steps: list[str] = []
    monkeypatch.setattr(setup, "ROOT", tmp_path)  # no other process locks this folder
    monkeypatch.setattr(packages, "install", lambda names, versions: steps.append(f"apt {names}"))
    monkeypatch.setattr(venv, "install", lambda *, development: steps.append("venv"))
    monkeypatch.setattr(kernel, "build", lambda: steps.append("kernel"))
    monkeypatch.setattr(kernel, "source_versions", list)
    monkeypatch.setattr(mininet_package, "fetch", lambda: steps.append("mininet"))
    monkeypatch.setattr(ui, "build", lambda: steps.append("ui"))
    return steps


def on_a_computer(
    monkeypatch: pytest.MonkeyPatch,
    *,
    lacks: list[str],
    venv_is_made: bool,
    image: str | None,
    ui_is_built: bool = True,
    has_mininet: bool = True,
) -> None:
    monkeypatch.setattr(
        packages, "missing", lambda wanted: [p.name for p in wanted if p.name in lacks]
    )
    monkeypatch.setattr(venv, "is_up_to_date", lambda *, development: venv_is_made)
    monkeypatch.setattr(kernel, "found", lambda: image)
    monkeypatch.setattr(ui, "is_up_to_date", lambda: ui_is_built)
    monkeypatch.setattr(mininet_package, "is_up_to_date", lambda: has_mininet)


def test_a_fresh_computer_gets_everything_in_order(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], done: list[str]
) -> None:
    on_a_computer(
        monkeypatch,
        lacks=["kmod", "flex"],
        venv_is_made=False,
        image=None,
        ui_is_built=False,
        has_mininet=False,
    )
    setup.set_up()
    assert done == ["apt ('kmod', 'flex')", "venv", "kernel", "mininet", "ui"]
    said = capsys.readouterr().err
    assert "install 2 packages, as root" in said
    assert said.index("kmod flex") < said.index(".venv") < said.index("build the kernel")
    assert said.index("build the kernel") < said.index("browser front end")


def test_setup_goes_on_if_mininet_cannot_be_fetched(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], done: list[str]
) -> None:
    def fail() -> None:
        raise DevError("apt-get download mininet failed (exit status 100)", "  no network")

    on_a_computer(
        monkeypatch,
        lacks=[],
        venv_is_made=True,
        image="kernel",
        ui_is_built=False,
        has_mininet=False,
    )
    monkeypatch.setattr(mininet_package, "fetch", fail)
    assert setup.set_up() is None
    assert done == ["ui"]
    said = capsys.readouterr().err
    assert "  apt-get download mininet; dpkg -x  (nothing of it is installed)\n" in said
    assert "setup: a test will not compare with Mininet: apt-get download mininet failed" in said


DEB_TOOLS = {
    "apt-get": 'echo "$@" > ../asked; : > mininet_2.3.0-1_amd64.deb',
    "dpkg": """parts=$3/usr/lib/python3/dist-packages/mininet; mkdir -p $parts $3/usr/bin
echo version > $parts/net.py; echo program > $3/usr/bin/mnexec; echo other > $3/usr/bin/mn""",
}


def test_two_parts_of_mininets_package_are_kept_in_the_cache(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    tools = tmp_path / "bin"
    tools.mkdir()
    for name, lines in DEB_TOOLS.items():
        (tools / name).write_text(f"#!/bin/sh\n{lines}\n")
        (tools / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tools}:/usr/bin:/bin")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    for _ in range(2):  # the second replaces the first
        mininet_package.fetch()
    cache = tmp_path / "cache" / "wanlab"
    kept = sorted(str(path.relative_to(cache)) for path in cache.rglob("*") if path.is_file())
    assert kept == ["asked", "mininet/mininet/net.py", "mininet/mnexec"]
    assert (cache / "asked").read_text().endswith("download mininet\n")
    assert mininet_package.is_up_to_date()


def test_a_second_setup_does_nothing_and_says_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], done: list[str]
) -> None:
    on_a_computer(monkeypatch, lacks=[], venv_is_made=True, image="kernel 6.12.1 (abc)")
    setup.set_up()
    assert done == []
    assert capsys.readouterr().err.startswith("setup: nothing to do (")


def test_the_demo_does_not_install_build_tools_if_there_is_a_kernel(
    monkeypatch: pytest.MonkeyPatch, done: list[str]
) -> None:
    on_a_computer(monkeypatch, lacks=["gcc"], venv_is_made=True, image="kernel 6.12.1 (abc)")
    setup.set_up(setup.DEMO)
    assert done == []


def test_checks_of_style_do_not_wait_for_a_kernel(
    monkeypatch: pytest.MonkeyPatch, done: list[str]
) -> None:
    on_a_computer(monkeypatch, lacks=["gcc", "iperf3"], venv_is_made=False, image=None)
    setup.set_up(setup.CHECKS)
    assert done == ["venv"]


def test_checks_of_style_do_not_build_the_page(
    monkeypatch: pytest.MonkeyPatch, done: list[str]
) -> None:
    on_a_computer(monkeypatch, lacks=[], venv_is_made=True, image=None, ui_is_built=False)
    setup.set_up(setup.CHECKS)
    assert done == []
    setup.set_up(setup.PAGE)
    assert done == ["ui"]


def test_the_demo_needs_neither_the_page_nor_the_programs_of_the_tests(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], done: list[str]
) -> None:
    lacks = ["iperf3", "chromium", "openvswitch-switch", "tmux"]
    on_a_computer(monkeypatch, lacks=lacks, venv_is_made=False, image=None, ui_is_built=False)
    setup.set_up(setup.DEMO)
    assert done == ["apt ('iperf3',)", "venv", "kernel"]
    assert "pip install -e . " in capsys.readouterr().err


@pytest.fixture
def failing_page(monkeypatch: pytest.MonkeyPatch, done: list[str]) -> list[str]:
    """Simulate a computer where only the page is missing and npm's registry is out of reach."""

    def fail() -> None:
        raise DevError("npm ci failed (exit status 1): node npm-cli.js ci", "  ECONNREFUSED")

    on_a_computer(monkeypatch, lacks=[], venv_is_made=False, image="kernel", ui_is_built=False)
    monkeypatch.setattr(ui, "build", fail)
    return done


def test_a_page_that_cannot_be_built_is_named_and_the_rest_is_done(
    failing_page: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert command.main(["setup"]) == 1
    assert failing_page == ["venv"]
    said = capsys.readouterr().err
    assert "setup: the browser page is missing: npm ci failed (exit status 1)" in said
    assert "ECONNREFUSED" in said
    assert said.endswith("setup: everything else is done; for the page: ./dev ui\n")


def test_tests_run_without_the_page_and_say_why_some_are_skipped(
    failing_page: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    class StartedError(Exception):
        """Raised instead of starting pytest."""

    def become(words: list[str]) -> None:
        raise StartedError(*words)

    monkeypatch.setattr(command, "_become", become)
    monkeypatch.setenv("WANLAB_NO_PAGE", "")
    monkeypatch.setenv("WANLAB_REQUIRE_KERNEL", "1")
    monkeypatch.setattr("os.chdir", lambda folder: None)
    monkeypatch.setattr("signal.signal", lambda number, handler: None)
    with pytest.raises(StartedError):
        command.main(["test"])
    assert os.environ["WANLAB_NO_PAGE"] == "npm ci failed (exit status 1): node npm-cli.js ci"


@pytest.mark.parametrize("name", ["ui", "wheel"])
def test_commands_that_need_the_page_fail_without_it(
    name: str, failing_page: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr("dev.wheel.build")
    assert command.main([name]) == 1


@pytest.mark.long
def test_the_tests_of_a_missing_page_are_skipped_with_the_reason() -> None:
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/ui/test_pages.py"],
        cwd=ROOT,
        env={**os.environ, "WANLAB_NO_PAGE": "npm ci failed"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0
    assert "there is no browser page: npm ci failed" in ran.stdout
    assert re.search(r"^\d+ skipped in", ran.stdout, re.MULTILINE)  # and none passed


def test_the_announcement_contains_the_exact_command() -> None:
    lines = Missing(packages=("kmod", "flex")).describe()
    assert lines[1].strip() == "apt-get install --no-install-recommends -y kmod flex"


def test_nothing_is_announced_if_nothing_is_missing() -> None:
    assert not Missing()
    assert Missing().describe() == []


def test_a_second_setup_waits_for_the_first(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    done: list[str],
    tmp_path: Path,
) -> None:
    on_a_computer(monkeypatch, lacks=[], venv_is_made=False, image="kernel 6.12.1 (abc)")
    locks = threading.Event()
    take_lock = fcntl.flock

    def note_and_lock(descriptor: int, operation: int) -> None:
        if operation == fcntl.LOCK_EX:
            locks.set()
        take_lock(descriptor, operation)

    monkeypatch.setattr(fcntl, "flock", note_and_lock)
    first = os.open(tmp_path, os.O_RDONLY)
    take_lock(first, fcntl.LOCK_EX)
    second = threading.Thread(target=setup.set_up)
    second.start()
    assert locks.wait(60)
    assert done == []
    os.close(first)
    second.join()
    assert done == ["venv"]
    assert "waiting for another ./dev" in capsys.readouterr().err
