import shlex

import pytest
from dev import packages
from kernelbuild.requirements import PROGRAMS

DPKG = "bc\tii \niproute2\tii \nkmod\tun \nflex\trc \niperf3\thi \nbison\tiU \n"

POLICY = """\
kmod:
  Installed: (none)
  Candidate: 30+20221128-1
  Version table:
     30+20221128-1 500
pure-virtual:
  Installed: (none)
  Candidate: (none)
  Version table:
"""

MADISON = """\
linux-source-6.12 | 6.12.118-1~deb12u1 | http://archive.example bookworm-security/main amd64 Packages
linux-source-6.12 | 6.12.117-1~deb12u1 | http://archive.example bookworm-security/main amd64 Packages
"""

SOURCE = packages.KERNEL_SOURCE


def test_packages_that_dpkg_does_not_show_as_installed_are_missing() -> None:
    names = ["bc", "iproute2", "kmod", "flex", "iperf3", "bison", "gcc"]
    assert packages.names_missing(names, DPKG) == ["kmod", "flex", "bison", "gcc"]


def test_nothing_is_missing_when_all_packages_are_installed() -> None:
    assert packages.names_missing(["bc", "iperf3"], DPKG) == []


def test_without_dpkg_packages_are_recognised_by_their_programs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("shutil.which", lambda name, path=None: "/x" if name == "sh" else None)
    there = packages.Package("dash", "sh")
    wanted = [there, packages.Package("nowhere", "wanlab-nowhere"), packages.Package("f", "/no/x")]
    assert packages.missing(wanted) == ["nowhere", "f"]
    libraries = [packages.Package("libc6", "libc.so.6"), packages.Package("a", "libno.so.1")]
    assert packages.missing(libraries) == ["a"]


def test_checks_of_the_page_install_node_and_the_demo_does_not() -> None:
    def names(**scope: bool) -> list[str]:
        return [package.name for package in packages.wanted(**scope)]

    assert "libatomic1" in names(kernel=False, build=False, tests=True)
    assert "libatomic1" not in names(kernel=True, build=False, tests=False)


def test_tests_have_a_compiler_but_no_source_where_the_kernel_is_built_already() -> None:
    wanted = packages.wanted(kernel=True, build=False, tests=True)
    names = {package.name for package in wanted}
    assert {"gcc", "libc6-dev", "flex", "patch"} <= names
    assert SOURCE not in names
    built = packages.wanted(kernel=True, build=True, tests=True)
    assert len(set(built)) == len(built)


def test_packages_that_apt_cannot_install_are_unknown() -> None:
    names = ["kmod", "pure-virtual", "never-heard-of"]
    assert packages.unknown(names, POLICY) == ["pure-virtual", "never-heard-of"]


@pytest.mark.parametrize(
    ("versions", "chosen"),
    [
        (["6.12.117-1~deb12u1"], f"{SOURCE}=6.12.117-1~deb12u1"),
        (["6.12.200-1", "6.12.118-1~deb12u1"], f"{SOURCE}=6.12.118-1~deb12u1"),
        (["6.12.1-1"], SOURCE),
        ([], SOURCE),
    ],
)
def test_the_source_is_installed_in_a_version_that_the_recipe_knows(
    versions: list[str], chosen: str
) -> None:
    assert packages.choose_version(SOURCE, versions, MADISON) == chosen


def test_the_demo_with_an_existing_kernel_needs_no_compiler() -> None:
    names = {package.name for package in packages.wanted(kernel=True, build=False, tests=False)}
    assert "iproute2" in names
    assert names & {"gcc", "flex", SOURCE} == set()


@pytest.mark.parametrize("system", ["debian", "ubuntu"])
def test_packages_that_only_debian_has_are_installed_on_debian_only(
    monkeypatch: pytest.MonkeyPatch, system: str
) -> None:
    monkeypatch.setattr("platform.freedesktop_os_release", lambda: {"ID": system})
    names = {package.name for package in packages.wanted(kernel=True, build=True, tests=True)}
    assert "gcc" in names
    debian_only = {SOURCE, "chromium", "firefox-esr"}
    assert names & debian_only == (debian_only if system == "debian" else set())


def test_checks_of_style_need_neither_kernel_nor_its_tools() -> None:
    names = {package.name for package in packages.wanted(kernel=False, build=True, tests=True)}
    assert names <= {"python3-venv", "libatomic1"}


def test_all_packages_that_the_kernels_build_needs_are_installed() -> None:
    # Every Debian has these packages ("essential" or "required").
    always_there = {"tar", "gzip", "mawk"}
    wanted = {package.name for package in packages.TO_BUILD}
    assert set(PROGRAMS.values()) - always_there - wanted == set()


@pytest.mark.parametrize(
    ("number", "text"), [(0, "0 packages"), (1, "1 package"), (2, "2 packages")]
)
def test_packages_are_counted(number: int, text: str) -> None:
    assert packages.count(range(number)) == text


def test_users_without_root_get_one_line_for_their_administrator() -> None:
    line = packages.install_command(["kmod", "flex"])
    assert "\n" not in line
    update, install = line.split(" && ")
    assert shlex.split(update) == ["apt-get", "update"]
    assert shlex.split(install)[-2:] == ["kmod", "flex"]
    assert "DEBIAN_FRONTEND=noninteractive" in shlex.split(install)
