"""Test configuration fragments: every option has a reason, and none is lost in the build."""

from pathlib import Path

import pytest
from kernelbuild.errors import BuildError
from kernelbuild.fragments import (
    Option,
    canonical_text,
    check_survived,
    known_symbols,
    load_fragments,
    parse_config,
    parse_fragment,
    vanished,
)


def option(name: str, value: str = "y") -> Option:
    return Option(name=name, value=value, reason="a reason", place="x.config:2")


def test_an_option_carries_its_value_reason_and_place() -> None:
    text = "# About sockets.\n\n# Raw frames:\n# tcpdump.\nCONFIG_PACKET=y\n"
    assert parse_fragment(text, "net.config") == [
        Option(name="PACKET", value="y", reason="Raw frames: tcpdump.", place="net.config:5")
    ]


@pytest.mark.parametrize("value", ["y", "n", "250", "0x10", '"-wanlab"'])
def test_every_kind_of_value_is_read_as_written(value: str) -> None:
    assert str(parse_fragment(f"# r\nCONFIG_A={value}\n", "a.config")[0]) == f"CONFIG_A={value}"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("CONFIG_A=y\n", "a.config:1: CONFIG_A has no reason"),
        ("# r\nCONFIG_A=y\nCONFIG_B=y\n", "a.config:3: CONFIG_B has no reason"),
        ("# topic\n\nCONFIG_A=y\n", "a.config:3: CONFIG_A has no reason"),
        ("#\nCONFIG_A=y\n", "a.config:2: CONFIG_A has no reason"),
        ("# r\nCONFIG_A=m\n", "a.config:2: CONFIG_A=m asks for a module"),
        ("# r\nCONFIG_A=yes\n", "a.config:2: 'yes' is not a value"),
        ("# r\nCONFIG_A =y\n", "a.config:2: 'CONFIG_A =y' is not an option"),
        ("# CONFIG_A is not set\n", "a.config:1: this form of an option is not used here"),
    ],
)
def test_an_error_in_a_fragment_names_its_line(text: str, message: str) -> None:
    with pytest.raises(BuildError) as raised:
        parse_fragment(text, "a.config")
    assert raised.value.what == message


def test_the_same_option_in_two_fragments_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.config").write_text("# r\nCONFIG_NET=y\n")
    (tmp_path / "b.config").write_text("# r\nCONFIG_NET=n\n")
    with pytest.raises(BuildError) as raised:
        load_fragments(tmp_path)
    assert raised.value.what == "b.config:2: CONFIG_NET is already in a.config:2"


def test_a_folder_without_fragments_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BuildError, match="contains no fragment"):
        load_fragments(tmp_path)


def test_the_canonical_text_depends_neither_on_order_nor_on_reasons() -> None:
    one = parse_fragment("# r\nCONFIG_B=y\n# s\nCONFIG_A=n\n", "a.config")
    two = parse_fragment("# t\nCONFIG_A=n\n\n# u\nCONFIG_B=y\n", "b.config")
    assert canonical_text(one) == canonical_text(two) == "CONFIG_A=n\nCONFIG_B=y\n"


def test_an_option_that_is_not_set_is_off() -> None:
    text = '# CONFIG_SMP is not set\nCONFIG_NET=y\nCONFIG_HZ=250\nCONFIG_LOCALVERSION="-x"\n'
    assert parse_config(text) == {"NET": "y", "HZ": "250", "LOCALVERSION": '"-x"'}


def test_options_that_the_build_changed_are_found_with_their_new_values() -> None:
    kept, gone, other, off = option("NET"), option("PSI"), option("HZ", "250"), option("SMP", "n")
    config = {"NET": "y", "HZ": "100"}
    assert vanished([kept, gone, other, off], config) == [(gone, "n"), (other, "100")]


def test_an_option_that_is_on_although_it_should_be_off_is_found() -> None:
    assert vanished([option("SWAP", "n")], {"SWAP": "y"}) == [(option("SWAP", "n"), "y")]


def test_the_error_names_every_option_that_vanished_and_its_reason() -> None:
    options = [option("NET"), option("PSI"), option("TYPO", "n")]
    with pytest.raises(BuildError) as raised:
        check_survived(options, {"NET": "y"}, {"NET", "PSI"})
    assert raised.value.what.splitlines() == [
        "the kernel did not accept these options:",
        "  CONFIG_PSI=y became n   (x.config:2: a reason)",
        "  CONFIG_TYPO=n: this kernel has no such option   (x.config:2: a reason)",
    ]


def test_known_symbols_are_those_that_kconfig_files_define(tmp_path: Path) -> None:
    (tmp_path / "net").mkdir()
    (tmp_path / "Kconfig").write_text("config A\n\tbool\n\tdepends on config_no\nmenuconfig B\n")
    (tmp_path / "net" / "Kconfig.more").write_text("if A\n\tconfig C\nendif\n")
    assert known_symbols(tmp_path) == {"A", "B", "C"}
