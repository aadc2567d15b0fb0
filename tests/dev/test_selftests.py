"""`./dev selftests`: how the kernel's tests are read and judged. No test here needs a machine."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from pathlib import Path

import pytest
from selftests import expected, perform, suites
from selftests.__main__ import exit_status, line_of, report
from selftests.expected import Expectations
from selftests.outcome import Check, checks_of
from selftests.perform import Outcome
from selftests.processor_time import seconds_of
from selftests.sources import Sources

RunBy = Callable[[str, Sequence[str], float], Iterator[Outcome]]

TAP = """\
TAP version 13
1..3
ok 1 - ipv4
not ok 2 c525 - Add mq Qdisc
        Could not match regex pattern
ok 3 ipv6 # SKIP no route
INFO: nothing  [ FAIL ]
"""
WORDS = """\
TEST: ping local                                   [ OK ]
    ping of a dead address                         [FAIL]
TEST: with a tool                                  [SKIP]
PASS: a flow of 10 Mbit/s
"""


@pytest.mark.parametrize(
    ("output", "exit_status", "found"),
    [
        (TAP, 1, [("ipv4", "passed"), ("c525 - Add mq Qdisc", "failed"), ("ipv6", "skipped")]),
        (
            WORDS,
            1,
            [
                ("ping local", "passed"),
                ("ping of a dead address", "failed"),
                ("with a tool", "skipped"),
                ("a flow of 10 Mbit/s", "passed"),
            ],
        ),
        ("", 0, [("all", "passed")]),
        ("SKIP: no tool\n", 4, [("no tool", "skipped")]),
        ("no module\nno tool\n", 4, [("no tool", "skipped")]),
        ("", 4, [("all", "skipped")]),
        ("1..1\nok 1 # SKIP no TCP-AO\n", 0, [("no TCP-AO", "skipped")]),
        ("PASS: one\n", 1, [("one", "passed"), ("exit status 1", "failed")]),
        ("Segmentation fault\n", 139, [("exit status 139", "failed")]),
    ],
)
def test_checks_are_read_from_what_a_test_prints(
    output: str, exit_status: int, found: list[tuple[str, str]]
) -> None:
    assert [(check.name, check.status) for check in checks_of(output, exit_status)] == found


LIST = """
[[expected]]
cases = ["net/*.sh"]
checks = "^ipv6"
traps = ["inprocess"]
reason = "no IPv6"

[port_mbps]
"net/veth.sh" = 0
"""


@pytest.fixture
def expectations(tmp_path: Path) -> Expectations:
    file = tmp_path / "expected.toml"
    file.write_text(LIST)
    return expected.load(file)


def test_a_failure_is_expected_if_its_case_check_and_mode_are_listed(
    expectations: Expectations,
) -> None:
    failed = [Check("ipv6 ping", "failed"), Check("ipv4 ping", "passed")]
    assert expectations.unexpected("net/a.sh", "inprocess", failed) == []
    assert expectations.unexpected("net/a.sh", "ptrace", failed) == failed[:1]
    assert expectations.unexpected("af_unix/a", "inprocess", failed) == failed[:1]
    other = [Check("no ipv6", "failed")]
    assert expectations.unexpected("net/a.sh", "inprocess", other) == other
    assert expectations.stale() == []


def test_an_entry_whose_tests_pass_is_named(expectations: Expectations) -> None:
    assert expectations.stale() == []  # no test that it is about was performed
    expectations.unexpected("net/a.sh", "inprocess", [Check("ipv6 ping", "passed")])
    assert [failure.reason for failure in expectations.stale()] == ["no IPv6"]


def test_a_listed_check_that_passes_is_an_error_with_the_own_kernel_only(
    expectations: Expectations,
) -> None:
    good = [_outcome("net/a.sh", "ptrace", "1\n")]
    assert exit_status(good, expectations, "") == 0
    expectations.unexpected("net/a.sh", "inprocess", [Check("ipv6 ping", "passed")])
    assert exit_status(good, expectations, "") == 1
    assert exit_status(good, expectations, "mine") == 0
    bad = [_outcome("net/b.sh", "ptrace", "1\n", unexpected=True)]
    assert exit_status(bad, expectations, "mine") == 1


def test_each_entry_of_the_list_has_a_reason_and_a_case() -> None:
    loaded = expected.load()
    assert all(failure.reason and failure.cases for failure in loaded.failures)
    named = [*loaded.port_mbps, *loaded.real_clock]
    assert all(case.partition("/")[0] in suites.SUITES for case in named)
    cases = [case for failure in loaded.failures for case in failure.cases]
    assert {case.partition("/")[0] for case in cases} <= set(suites.SUITES)


def _outcome(case: str, mode: str, output: str, *, unexpected: bool = False) -> Outcome:
    checks = [Check("one", "passed"), Check("two", "failed")]
    return Outcome(case, mode, checks, checks[1:] if unexpected else (), output, 1.4)


def test_the_report_counts_and_compares_the_modes(expectations: Expectations) -> None:
    outcomes = [
        _outcome("net/a.sh", "ptrace", "1\n"),
        _outcome("net/a.sh", "inprocess", "1\n"),
        _outcome("net/b.sh", "ptrace", "1\n", unexpected=True),
        _outcome("net/b.sh", "inprocess", "2\n"),
    ]
    text = report(outcomes, expectations)
    assert "net          ptrace          2       2       2        0" in text
    assert "1 of 2 tests printed the same in all modes" in text
    assert "other output: net/b.sh" in text
    assert "unexpected: net/b.sh (ptrace): two" in text
    assert line_of(outcomes[2]) == "net/b.sh (ptrace): 1 passed, 1 failed; unexpected: 1 (1 s)"


def test_the_report_names_the_reasons_of_skipped_tests(expectations: Expectations) -> None:
    skipped = [Check("no tool", "skipped")]
    outcomes = [
        Outcome(case, "", checks, (), "", 1.0)
        for case, checks in [
            ("net/b.sh", skipped),
            ("net/a.sh", skipped),
            ("net/c.sh", [Check("one", "passed"), *skipped]),
        ]
    ]
    assert report(outcomes, expectations).splitlines()[3:] == [
        "skipped: net/a.sh, net/b.sh: no tool"
    ]


def test_tests_are_chosen_by_suite_and_by_name(tmp_path: Path) -> None:
    scripts = tmp_path / "net" / "packetdrill"
    scripts.mkdir(parents=True)
    for name in ("tcp_a.pkt", "tcp_ab.pkt"):
        (scripts / name).touch()
    queues = tmp_path / "tc-testing" / "tc-tests" / "qdiscs"
    queues.mkdir(parents=True)
    (queues / "tbf.json").touch()
    sources = Sources(selftests=tmp_path, packetdrill=tmp_path / "the program")

    def names(*wanted: str) -> list[str]:
        return [case.name for case in suites.cases_of(sources, wanted)]

    assert names("packetdrill") == ["packetdrill/tcp_a", "packetdrill/tcp_ab"]
    assert names("packetdrill/tcp_a") == ["packetdrill/tcp_a"]
    assert names("tc-testing/qdiscs", "packetdrill/tcp_ab") == [
        "tc-testing/qdiscs/tbf",
        "packetdrill/tcp_ab",
    ]
    (case,) = suites.cases_of(sources, ["packetdrill/tcp_a"])
    script = suites.script_of(case, 2000)
    assert f"PATH='{tmp_path}/the program/gtests/net/packetdrill':$PATH" in script
    assert "echo 2000 > /sys/module/veth/parameters/speed" in script
    assert "parameters/speed" not in suites.script_of(case, None)


# As tdc.py: a set-up that fails ends the run, and all tests from there on are "ok" and skipped.
TDC = """\
import sys
wanted = sys.argv[sys.argv.index("-e") + 1:]
print("TAP version 13")
for number, test in enumerate(wanted, start=1):
    if "bad0" in wanted[:number]:
        print(f"ok {number} {test} - x # skipped - previous setup failed 2 bad0")
    else:
        print(f"ok {number} {test} - x")
"""


def test_a_set_up_that_fails_hides_no_test_after_it(tmp_path: Path) -> None:
    (tmp_path / "tdc.py").write_text(TDC)
    (tmp_path / "file.json").write_text('[{"id": "aaaa"}, {"id": "bad0"}, {"id": "cccc"}]')
    done = subprocess.run(
        [sys.executable, suites.TC_FILE, "file.json"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert [(check.name, check.status) for check in checks_of(done.stdout, 0)] == [
        ("aaaa - x", "passed"),
        ("bad0 - its set-up failed", "failed"),
        ("cccc - x", "passed"),
    ]


def test_processor_time_counts_children_that_have_ended() -> None:
    busy = "i=0; while [ $i -lt 300000 ]; do i=$((i + 1)); done"
    command = ["sh", "-c", f"sh -c '{busy}'; echo; exec cat"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdout.readline()
        assert 0 < seconds_of(process.pid) <= seconds_of(os.getpid())
        process.stdin.close()


@pytest.fixture
def run_by(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RunBy:
    """Return a function that performs tests with a script in the place of wanlab."""

    def run(script: str, names: Sequence[str], limit_s: float) -> Iterator[Outcome]:
        program = tmp_path / "bin" / "wanlab"
        program.parent.mkdir()
        program.write_text(f"#!{sys.executable}\n{script}")
        program.chmod(0o755)
        monkeypatch.setattr(perform, "VENV", tmp_path)
        cases = [suites.Case(f"net/{name}", tmp_path, name) for name in names]
        options = perform.Options("", [""], limit_s, len(names), tmp_path)
        return perform.perform_all(cases, options, Expectations((), {}))

    return run


@pytest.mark.parametrize("reported", [["first"], []])
def test_a_test_that_computes_for_too_long_is_cut_off(run_by: RunBy, reported: list[str]) -> None:
    lines = "".join(f"print('ok 1 {name}', flush=True)\n" for name in reported)
    (outcome,) = run_by(f"{lines}while True: pass\n", ["a"], 1)
    assert [check.name for check in outcome.checks] == [*reported, "cut off after 1 s"]
    assert [check.name for check in outcome.unexpected] == ["cut off after 1 s"]


def test_tests_end_when_the_command_is_interrupted(run_by: RunBy) -> None:
    script = "import signal, sys\nif 'quick' not in sys.argv[-1]: signal.pause()\n"
    began_s = time.monotonic()
    outcomes = run_by(script, ["quick", "slow"], 30)  # the slow one would be ended after 300 s
    assert next(outcomes).case == "net/quick"
    assert isinstance(outcomes, Generator)
    outcomes.close()
    assert time.monotonic() - began_s < 200
