"""Test grading a class: submissions, which of them count, tables, pages and comparisons."""

from __future__ import annotations

import csv
import io
import json
import os
import sys
from pathlib import Path

import pytest

from wanlab.agent.messages import Kind, encode
from wanlab.errors import WanlabError
from wanlab.labs import catalog, class_run, hand_in, new_unit, similar, submissions
from wanlab.labs.class_run import ClassOptions, ClassRun, GradingJob
from wanlab.labs.feedback import StudentResult
from wanlab.session import SessionIdentity, SessionRecorder

ANNA, BEN, CY = "Anna Müller", "Ben", "Cy <b>"
SEEDS = f"""\
student,seed,Identifier,ID,SIS Login ID
{ANNA},7,Participant 41,901,anna
{BEN},8,Participant 42,902,ben
"{CY}",9,Participant 43,903,=cy()
"""
# Grades a script by its first word, which is the points or an invalid grade.
CHECKER = """\
import json, pathlib, sys, time
script, seed, log = pathlib.Path(sys.argv[1]).read_text(), int(sys.argv[2]), sys.argv[3]
with open(log, "a") as file: print(script.split()[0] if script else "-", seed, file=file)
word = script.split()[0] if script.split() else "0"
if word == "forever": time.sleep(1000)
if word == "broken": sys.exit(f"wanlab: {sys.argv[1]}: the machine's kernel panicked")
passed = word == "4"
check = {"what": "the link is used", "measured": True, "passed": passed, "points": int(word),
         "of": 4, "value": None, "value_text": "-", "band": "any", "guard": False, "counts": True,
         "hint": "" if passed else "look <here>", "reason": ""}
print(json.dumps({"unit": "slow-link", "title": "", "seed": seed, "variant": None, "points": int(word),
  "of": 4, "passed": passed, "checks": [check], "problems": ["client$ x: exit status 127"],
  "outputs": [{"output": "the secret of somebody"}],
  "changed_programs": ["/usr/local/sbin/iperf3"] if "fake" in script else []}))
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    new_unit.write("slow-link", tmp_path / "units")
    (tmp_path / "seeds.csv").write_text(SEEDS)
    (tmp_path / "checker.py").write_text(CHECKER)
    for name in (ANNA, BEN, CY):
        (tmp_path / "class" / name.replace("/", "_")).mkdir(parents=True)

    def command(job: GradingJob, script: Path, course: Path | None) -> list[str]:
        log = str(tmp_path / "log")
        seed = str(job.student.seed)
        return [sys.executable, str(tmp_path / "checker.py"), str(script), seed, log]

    monkeypatch.setattr(class_run, "check_command", command)
    return tmp_path


def hands_in(folder: Path, name: str, text: str, file: str = "slow-link.sh") -> Path:
    path = folder / "class" / name / file
    path.write_text(text)
    return path


def options(folder: Path, **more: object) -> ClassOptions:
    students = submissions.read_students(folder / "seeds.csv")
    return ClassOptions(
        folder=folder / "class",
        students=students,
        results=folder / "grades",
        course=folder / "units",
        jobs=2,
        **more,  # type: ignore[arg-type]
    )


def grade(folder: Path, **more: object) -> dict[str, StudentResult]:
    chosen = options(folder, **more)
    run = ClassRun(chosen, lambda line: None)
    results = run.run()
    class_run.write(chosen, results, class_run.alike(run.scripts, run.sessions))
    return {result["student"]: result for result in results}


def graded(folder: Path) -> list[str]:
    log = folder / "log"
    return sorted(log.read_text().splitlines()) if log.exists() else []


def rows(folder: Path, name: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO((folder / "grades" / name).read_text())))


def test_every_student_is_graded_with_their_own_seed(folder: Path) -> None:
    hands_in(folder, ANNA, "4")
    hands_in(folder, CY, "1 fake")
    results = grade(folder)
    assert graded(folder) == ["1 9", "4 7"]
    assert [results[n]["points"] for n in (ANNA, BEN, CY)] == [4, 0, 1]
    table = {row["student"]: row for row in rows(folder, "grades.csv")}
    assert table[ANNA]["points"] == "4"
    assert (table[ANNA]["of"], table[ANNA]["percent"]) == ("4", "100")
    assert table[BEN]["error"] == "nothing handed in"
    assert (table[BEN]["points"], table[BEN]["of"]) == ("0", "4")
    assert table[CY]["missed"] == "the link is used"
    assert table[CY]["notes"] == "programs changed: /usr/local/sbin/iperf3"


def test_moodle_and_canvas_get_their_columns(folder: Path) -> None:
    hands_in(folder, ANNA, "4")
    grade(folder)
    worksheet = rows(folder, "moodle-slow-link.csv")
    assert {"Identifier", "Grade", "Last modified (grade)", "Feedback comments"} <= set(
        worksheet[0]
    )
    assert worksheet[0]["Identifier"] == "Participant 41"
    assert (worksheet[0]["Full name"], worksheet[0]["Grade"]) == (ANNA, "4")
    assert worksheet[0]["Feedback comments"] == "all checks passed"
    assert worksheet[1]["Status"] == "No submission"
    book = rows(folder, "canvas.csv")
    assert list(book[0])[:5] == ["Student", "ID", "SIS User ID", "SIS Login ID", "Section"]
    assert (book[0]["Student"].strip(), book[0]["A slow link"]) == ("Points Possible", "4")
    assert (book[1]["ID"], book[1]["A slow link"]) == ("901", "4")
    assert book[3]["SIS Login ID"] == "'=cy()"


def test_units_with_the_same_title_have_separate_columns(folder: Path) -> None:
    new_unit.write("slow-link-2", folder / "units")
    hands_in(folder, ANNA, "4")
    hands_in(folder, ANNA, "1", "slow-link-2.sh")
    grade(folder)
    anna = rows(folder, "canvas.csv")[1]
    assert (anna["A slow link (slow-link)"], anna["A slow link (slow-link-2)"]) == ("4", "1")


def test_a_student_gets_hints_and_no_outputs(folder: Path) -> None:
    hands_in(folder, CY, "1")
    grade(folder)
    page = (folder / "grades" / "feedback" / f"{class_run.file_name(CY)}.html").read_text()
    assert "Cy &lt;b&gt;" in page
    assert "look &lt;here&gt;" in page
    assert "any" not in page
    assert ">-<" not in page
    assert "1 of 4 points" in page
    assert "exit status 127" in page
    assert "secret" not in page
    assert "<script" not in page


def test_an_unchanged_submission_is_not_graded_again(folder: Path) -> None:
    hands_in(folder, ANNA, "4")
    hands_in(folder, BEN, "2")
    grade(folder)
    hands_in(folder, BEN, "3")
    results = grade(folder)
    assert graded(folder) == ["2 8", "3 8", "4 7"]
    assert results[ANNA]["points"] == 4
    grade(folder, only=[ANNA])
    assert graded(folder) == ["2 8", "3 8", "4 7", "4 7"]
    with pytest.raises(WanlabError, match="there is no student Bem"):
        grade(folder, only=["Bem"])


def test_grades_from_before_an_interruption_are_kept(folder: Path) -> None:
    hands_in(folder, ANNA, "4")
    hands_in(folder, BEN, "forever")

    def interrupt(line: str) -> None:
        if line.startswith("1 of"):
            raise KeyboardInterrupt

    run = ClassRun(options(folder), interrupt)
    with pytest.raises(KeyboardInterrupt):
        run.run()
    hands_in(folder, BEN, "2")
    assert grade(folder)[ANNA]["points"] == 4
    assert graded(folder).count("4 7") == 1


def test_submissions_that_do_not_end_or_cannot_be_graded_are_reported(folder: Path) -> None:
    hands_in(folder, ANNA, "forever")
    hands_in(folder, BEN, "broken")
    (folder / "class" / CY / "slow-link.sh").write_bytes(b"\xff\xfe")
    results = grade(folder, real_minutes=0.05)
    assert results[ANNA]["error"].startswith("not finished after 0.05 minutes")
    assert results[BEN]["error"] == "not graded: slow-link.sh: the machine's kernel panicked"
    assert "not UTF-8" in results[CY]["error"]
    assert [result["points"] for result in results.values()] == [0, 0, 0]


def test_the_newest_submission_counts_and_late_ones_are_marked(folder: Path) -> None:
    old, new = hands_in(folder, ANNA, "1"), hands_in(folder, ANNA, "4", "slow-link.yaml")
    os.utime(old, (1_000_000, 1_000_000))
    os.utime(new, (1_007_200, 1_007_200))
    result = grade(folder, due_s=1_000_000.0)[ANNA]
    assert result["points"] == 4
    assert result["late"] == "2 h"
    assert result["notes"] == ["2 submissions; slow-link.yaml, the newest, counts"]


def test_a_folder_exported_by_moodle_is_read_by_student(folder: Path) -> None:
    (folder / "class" / ANNA).rename(folder / "class" / f"{ANNA}_4711_assignsubmission_file_")
    (folder / "class" / "Dora").mkdir()
    hands_in(folder, f"{ANNA}_4711_assignsubmission_file_", "4")
    assert grade(folder)[ANNA]["points"] == 4
    students = submissions.read_students(folder / "seeds.csv")
    assert submissions.strangers(folder / "class", students) == ["Dora"]


def test_a_hand_in_is_graded_and_its_seed_and_digest_are_compared(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    unit = catalog.find("slow-link", folder / "units")
    home = folder / "home"
    (home / hand_in.TRANSCRIPTS).mkdir(parents=True)
    (home / hand_in.TRANSCRIPTS / "h1").write_text("\x1b[1mh1$\x1b[0m ping\r\n")
    (home / "slow-link.sh").write_text("4")
    target = folder / "class" / ANNA / "slow-link-seed6.zip"
    script = hand_in.find_script(unit, home)
    assert script is not None
    digest = hand_in.pack(unit, 6, home, script, target)
    assert len(digest) == 64
    packed = hand_in.read(target)
    assert (packed.script, packed.seed, packed.is_intact) == ("4", 6, True)
    result = grade(folder)[ANNA]
    assert (result["points"], result["notes"]) == (4, ["made with seed 6, graded with 7"])
    target.write_bytes(b"PK")
    with pytest.raises(WanlabError, match="is not a hand-in"):
        hand_in.read(target)


def test_a_draft_has_the_typed_commands_that_changed_something(tmp_path: Path) -> None:
    (tmp_path / hand_in.TRANSCRIPTS).mkdir()
    typed = [
        "0\tclient\t    1  cd ~/NTP_Problems/Problem1/",
        "0\tclient\t    2  sudo tc -s qdisc show dev s1-eth2",
        "0\troot@h1\t    1  ping -c 3 10.0.0.2",
        "0\troot@h1\t    2  sysctl -w net.ipv4.tcp_congestion_control=bbr",
        "2\tclient\t    3  sudo tc qdisc chnge dev s1-eth2",
        "0\tclient\t    4  sudo tc qdisc change dev s1-eth2 root netem delay 5ms",
        "0\tclient\t    4  sudo tc qdisc change dev s1-eth2 root netem delay 5ms",
    ]
    (tmp_path / hand_in.TRANSCRIPTS / hand_in.COMMANDS).write_text("\n".join(typed))
    assert hand_in.draft(tmp_path).splitlines() == [
        "wanlab-node h1 sysctl -w net.ipv4.tcp_congestion_control=bbr",
        "sudo tc qdisc change dev s1-eth2 root netem delay 5ms",
    ]


def test_a_draft_has_the_commands_typed_at_the_prompt(tmp_path: Path) -> None:
    folder = tmp_path / hand_in.TRANSCRIPTS
    folder.mkdir()
    for line in ("h1 ping h2", "h1 sysctl -w a=1", "sh tc qdisc add dev s1-eth2 root sfq", "exit"):
        hand_in.note_line(folder, ["h1", "h2"], line)
    assert hand_in.draft(tmp_path).splitlines() == [
        "wanlab-node h1 sysctl -w a=1",
        "tc qdisc add dev s1-eth2 root sfq",
    ]
    assert (folder / "mininet").read_text().count("\n") == 4


SCRIPT = (
    "tc qdisc change dev s1-eth2 root netem delay 5ms\n"
    + "sysctl -w a=1\nsysctl -w b=2\nsysctl -w c=3\n"
)


@pytest.mark.parametrize(
    ("other", "text"),
    [
        (f"# mine\n\n  {SCRIPT}", "equal"),
        (SCRIPT.replace("a=1", "a=1   # why"), "equal"),
        (SCRIPT.replace("5ms", "6ms"), "99% alike"),
        ("echo 1\n", None),
        ("", None),
    ],
)
def test_submissions_that_are_alike_are_found(other: str, text: str | None) -> None:
    found = similar.pairs("prob1", {"a": SCRIPT, "b": other})
    assert [pair.text for pair in found] == ([] if text is None else [text])


def test_equal_submissions_are_named_together() -> None:
    scripts = {"d": SCRIPT, "b": SCRIPT, "a": SCRIPT, "c": SCRIPT.replace("5ms", "6ms")}
    assert similar.summary(similar.pairs("prob1", scripts)) == [
        "prob1: a, b and d are equal",
        "prob1: a and c are 99% alike",
        "prob1: b and c are 99% alike",
        "prob1: c and d are 99% alike",
    ]
    assert similar.summary([]) == []


def session_file(path: Path, typed: str) -> bytes:
    """Write a session with its own id in which a line is typed."""
    recorder = SessionRecorder(path)
    header = {"format": 1, "id": str(path), "python": "python", "files_left_out": ""}
    recorder.write({"session": header})
    recorder.sent(encode(Kind.INPUT, 1, typed.encode()))
    recorder.end()
    return path.read_bytes()


def test_equal_sessions_are_found_even_with_different_scripts(folder: Path) -> None:
    unit = catalog.find("slow-link", folder / "units")
    for name, typed in ((ANNA, "tc qdisc"), (BEN, "tc qdisc"), (CY, "ip link")):
        home = folder / "homes" / name.replace(" ", "-").strip("<>")
        (home / "transcripts").mkdir(parents=True)
        session_file(home / "transcripts" / "session-1.wanlab", typed)
        (home / "slow-link.sh").write_text(f"4 # {name}\n")
        zipped = folder / "class" / name / "slow-link-seed7.zip"
        hand_in.pack(unit, 7, home, home / "slow-link.sh", zipped)
        assert len(hand_in.read(zipped).sessions) == 1
    grade(folder)
    (pair, *others) = [row for row in rows(folder, "alike.csv") if ";" in row["likeness"]]
    assert (pair["first"], pair["second"]) == (ANNA, BEN)
    assert pair["likeness"] == "equal; the same was typed at the same instants"
    assert others == []


def test_a_copied_session_file_is_named() -> None:
    copied = SessionIdentity("1", "a")
    sessions = {"a": [SessionIdentity("2", "b"), copied], "b": [copied], "c": []}
    found = similar.with_sessions("prob1", [], sessions)
    assert [(pair.first, pair.second, pair.text) for pair in found] == [
        ("a", "b", "the same session file")
    ]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("name\nAda\n", "lacks a column"),
        ("student,seed\nAda,x\n", "line 2 (seed): 'x' is not a seed"),
        ("student,seed\nAda,1\nAda,2\n", "line 3 (student): Ada is on line 2, too"),
        ("student,seed\nAda,\n", "line 2 (seed): Ada has no seed"),
    ],
)
def test_an_invalid_list_of_students_is_reported(
    tmp_path: Path, content: str, message: str
) -> None:
    (tmp_path / "seeds.csv").write_text(content)
    with pytest.raises(WanlabError) as error:
        submissions.read_students(tmp_path / "seeds.csv")
    assert message in str(error.value)


def test_mistakes_in_a_new_unit_are_reported(tmp_path: Path) -> None:
    path = new_unit.write("slow-link", tmp_path) / "lab.yaml"
    unit = catalog.find("slow-link", tmp_path)
    assert (unit.name, len(unit.check)) == ("slow-link", 2)
    path.write_text(
        path.read_text().replace("guard: true", "gard: true").replace("hint: ", "hnt: ")
    )
    with pytest.raises(WanlabError) as error:
        catalog.find("slow-link", tmp_path)
    assert "(check[1].gard)" in str(error.value)
    assert "(check[0].hnt)" in str(error.value)
    with pytest.raises(WanlabError, match="there is no unit fast-link in"):
        catalog.find("fast-link", tmp_path)


@pytest.mark.long
@pytest.mark.machine
def test_a_new_unit_works_unchanged(tmp_path: Path) -> None:
    from wanlab.labs import check_selftest

    new_unit.write("slow-link", tmp_path)
    unit = catalog.find("slow-link", tmp_path)
    verdicts = [check_selftest.run_case(case) for case in check_selftest.cases(unit)]
    assert [verdict.reasons for verdict in verdicts] == [(), (), ()]
    assert json.dumps([verdict.points for verdict in verdicts][:2]) == "[0, 4]"
