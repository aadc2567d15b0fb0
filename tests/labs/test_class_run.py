"""Test grading a class: submissions, which of them count, tables, pages and comparisons."""

from __future__ import annotations

import csv
import errno
import io
import json
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import sample_grading
from session_text import HEADER

from wanlab.agent.messages import Kind, encode
from wanlab.errors import WanlabError
from wanlab.jobs.progress import BatchProgress
from wanlab.labs import (
    catalog,
    class_run,
    hand_in,
    hand_in_archive,
    new_unit,
    run_inputs,
    submissions,
)
from wanlab.labs.class_run import ClassOptions, ClassRun
from wanlab.labs.feedback import StudentResult
from wanlab.labs.students import file_name, read_students
from wanlab.labs.submissions import SubmittedFile, SubmittedWork
from wanlab.session import SessionRecorder
from wanlab.shared_folder import SharedFolder

ANNA, BEN, CY = "Anna Müller", "Ben", "Cy <b>"
SEEDS = f"""\
student,seed,Identifier,ID,SIS Login ID
{ANNA},7,Participant 41,901,anna
{BEN},8,Participant 42,902,ben
"{CY}",9,Participant 43,903,=cy()
"""
PARTS = {"wanlab": "code", "kernel": "6.12", "programs": "versions"}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    new_unit.write("slow-link", tmp_path / "units")
    (tmp_path / "seeds.csv").write_text(SEEDS)
    for name in (ANNA, BEN, CY):
        (tmp_path / "class" / name.replace("/", "_")).mkdir(parents=True)

    monkeypatch.setattr(class_run, "load_grading", sample_grading.load)
    monkeypatch.setenv(sample_grading.LOG, str(tmp_path / "log"))
    monkeypatch.setattr(
        run_inputs,
        "origin_of",
        lambda unit, clock, work, choice: PARTS | work | {"cpu": choice.cpu},
    )
    return tmp_path


def hands_in(folder: Path, name: str, text: str, file: str = "slow-link.sh") -> Path:
    path = folder / "class" / name / file
    path.write_text(text)
    return path


def options(folder: Path, **more: object) -> ClassOptions:
    students = read_students(folder / "seeds.csv")
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
    run = ClassRun(chosen)
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


@pytest.mark.parametrize("name", ["slow-link", "prob1"])
def test_a_grade_is_that_of_a_unit_in_the_chosen_course(folder: Path, name: str) -> None:
    course = folder / "units" if name == "slow-link" else None
    hands_in(folder, ANNA, "4", f"{name}.sh")
    results = ClassRun(replace(options(folder, only=(ANNA,)), course=course)).run()
    (report,) = [result["grade"] for result in results if result["grade"]]
    assert (report["unit"], report["title"]) == (name, catalog.find(name, course).title)


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


@pytest.mark.parametrize(
    ("maximum", "grades"),
    [("100.00", ("100", "25")), ('"10,00"', ("10", "2.5")), ("-", ("4", "1")), ("nan", ("4", "1"))],
)
def test_points_are_scaled_to_the_maximum_of_moodles_assignment(
    folder: Path, maximum: str, grades: tuple[str, str]
) -> None:
    listed = (folder / "seeds.csv").read_text().splitlines()
    with_maximum = [f"{listed[0]},Maximum Grade", *(f"{line},{maximum}" for line in listed[1:])]
    (folder / "seeds.csv").write_text("\n".join(with_maximum))
    hands_in(folder, ANNA, "4")
    hands_in(folder, CY, "1")
    grade(folder)
    worksheet = {row["Full name"]: row for row in rows(folder, "moodle-slow-link.csv")}
    assert (worksheet[ANNA]["Grade"], worksheet[CY]["Grade"]) == grades
    assert worksheet[ANNA]["Maximum Grade"] == grades[0]


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
    page = (folder / "grades" / "feedback" / f"{file_name(CY)}.html").read_text()
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


def test_a_student_with_another_seed_is_graded_again(folder: Path) -> None:
    hands_in(folder, ANNA, "4")
    grade(folder)
    (folder / "seeds.csv").write_text(SEEDS.replace(f"{ANNA},7", f"{ANNA},70"))
    grade(folder)
    assert graded(folder) == ["4 7", "4 70"]


@pytest.mark.parametrize("part", PARTS)
def test_work_is_graded_again_with_another_wanlab_kernel_or_program(
    folder: Path, monkeypatch: pytest.MonkeyPatch, part: str
) -> None:
    hands_in(folder, ANNA, "4")
    grade(folder)
    grade(folder)
    assert graded(folder) == ["4 7"]
    origin = PARTS | {part: "another"}
    monkeypatch.setattr(run_inputs, "origin_of", lambda unit, clock, work, choice: origin | work)
    grade(folder)
    assert graded(folder) == ["4 7", "4 7"]


def test_grades_from_before_an_interruption_are_kept(folder: Path) -> None:
    hands_in(folder, ANNA, "4")
    hands_in(folder, BEN, "forever")

    def interrupt(state: BatchProgress) -> None:
        if state.done == 1:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ClassRun(options(folder)).run(interrupt)
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


BROKEN: dict[str, tuple[str, Callable[[Path], object], str]] = {
    "zip": ("slow-link-seed8.zip", lambda path: path.write_bytes(b"PK"), "is not a hand-in"),
    "zip without a unit": ("my work.zip", lambda path: path.write_bytes(b"PK"), "is not a hand-in"),
    "FIFO": ("x.zip", os.mkfifo, "is a FIFO"),
    "link": ("slow-link.wanlab", lambda path: path.symlink_to("nowhere"), "is a symbolic link"),
    "deep session": ("slow-link.wanlab", lambda path: path.write_bytes(b"[" * 99_999 + b"\n"), ""),
}


@pytest.mark.parametrize("kind", BROKEN)
def test_one_submission_never_ends_the_grading_of_a_class(folder: Path, kind: str) -> None:
    name, make, reason = BROKEN[kind]
    hands_in(folder, ANNA, "4")
    make(folder / "class" / BEN / name)
    results = grade(folder)
    assert results[ANNA]["points"] == 4
    assert reason in results[BEN]["error"]
    assert class_run.was_refused(results[BEN])
    assert not class_run.was_refused(results[CY])
    assert rows(folder, "grades.csv")[1]["error"] == results[BEN]["error"]


@pytest.mark.parametrize("error", [RecursionError("deep"), MemoryError(), KeyError("python")])
def test_a_mistake_of_wanlab_with_one_submission_is_in_its_row(
    folder: Path, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    read = submissions.read

    def fail(file: SubmittedFile, unit: str, *, by_session: bool) -> SubmittedWork:
        if file.folder.path.name == BEN:
            raise error
        return read(file, unit, by_session=by_session)

    hands_in(folder, ANNA, "4")
    hands_in(folder, BEN, "4")
    monkeypatch.setattr(submissions, "read", fail)
    results = grade(folder)
    assert results[ANNA]["points"] == 4
    assert results[BEN]["error"].startswith(f"wanlab cannot read this: {type(error).__name__}")


def test_a_submission_that_changes_while_others_are_graded_is_not_graded(folder: Path) -> None:
    for name in (ANNA, BEN):
        hands_in(folder, name, "4")
    said = []

    def change(state: BatchProgress) -> None:
        if state.event:
            said.append((state.done, state.total, state.event))
        (folder / "class" / BEN / "slow-link.sh").write_text("5")

    chosen = options(folder)
    results = {result["student"]: result for result in ClassRun(chosen).run(change)}
    assert results[ANNA]["points"] == 4
    assert results[BEN]["error"].startswith("slow-link.sh was changed while the class was being")
    assert graded(folder) == ["4 7"]
    assert said[0] == (0, 2, "2 to grade, 1 unchanged or not handed in")
    assert [state[:2] for state in said[1:]] == [(1, 2), (2, 2)]
    assert f"{ANNA}, slow-link: 4 of 4" in [state[2] for state in said]


def test_a_folder_that_cannot_be_written_is_reported_before_anything_is_graded(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hands_in(folder, ANNA, "4")
    (folder / "grades").write_text("not a folder")
    with pytest.raises(WanlabError, match=r"cannot write to .*grades: File exists"):
        grade(folder)
    (folder / "grades").unlink()

    def is_full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patched:
        patched.setattr(SharedFolder, "write", is_full)
        with pytest.raises(WanlabError, match=r"cannot write to .*grades: No space left on device"):
            grade(folder)
    assert graded(folder) == []


def test_a_disk_that_becomes_full_is_reported_with_the_file(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hands_in(folder, ANNA, "4")
    (folder / "grades" / "results").mkdir(parents=True)
    (folder / "grades" / "results" / ANNA).write_text("not a folder")
    with pytest.raises(WanlabError, match=r"cannot write .*slow-link\.json: Not a directory"):
        grade(folder)

    def is_full(kind: str) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "/tmp/wanlab-class-x")

    monkeypatch.setattr(class_run, "TemporaryFolder", is_full)
    with pytest.raises(WanlabError, match=r"/tmp/wanlab-class-x: No space left on device"):
        grade(folder)


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
    students = read_students(folder / "seeds.csv")
    assert submissions.strangers(folder / "class", students) == ["Dora"]


def test_exported_folders_of_students_of_the_same_name_are_told_apart(folder: Path) -> None:
    twins = "Identifier,Full name,seed\nParticipant 41,Anna Lee,1\nParticipant 42,Anna Lee,2\n"
    (folder / "seeds.csv").write_text(twins)
    for number, points in (("41", "4"), ("42", "1")):
        name = f"Anna Lee_{number}_assignsubmission_file_"
        (folder / "class" / name).mkdir()
        hands_in(folder, name, points)
    results = grade(folder)
    assert {name: result["points"] for name, result in results.items()} == {
        "Anna Lee (41)": 4,
        "Anna Lee (42)": 1,
    }
    worksheet = rows(folder, "moodle-slow-link.csv")
    assert [(row["Full name"], row["Identifier"], row["Grade"]) for row in worksheet] == [
        ("Anna Lee", "Participant 41", "4"),
        ("Anna Lee", "Participant 42", "1"),
    ]


def test_files_that_moodle_exports_without_folders_are_named(folder: Path) -> None:
    name = f"{ANNA}_4711_assignsubmission_file_slow-link.sh".replace("/", "_")
    (folder / "class" / name).write_text("4")
    (folder / "class" / "notes.txt").write_text("")
    assert submissions.exported_files(folder / "class") == [name]


def test_a_hand_in_is_graded_and_its_seed_and_digest_are_compared(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    unit = catalog.find("slow-link", folder / "units")
    home = folder / "home"
    (home / hand_in.TRANSCRIPTS).mkdir(parents=True)
    (home / hand_in.TRANSCRIPTS / "h1").write_text("\x1b[1mh1$\x1b[0m ping\r\n")
    (home / "slow-link.sh").write_text("4")
    target = folder / "class" / ANNA / "slow-link-seed6.zip"
    script = hand_in.find_script(unit, SharedFolder(home))
    assert script is not None
    digest = hand_in.pack(unit, 6, SharedFolder(home), script, target)
    assert len(digest) == 64
    packed = hand_in_archive.read(target)
    assert (packed.script, packed.manifest.seed, packed.is_intact) == ("4", 6, True)
    result = grade(folder)[ANNA]
    assert (result["points"], result["notes"]) == (4, ["made with seed 6, graded with 7"])
    target.write_bytes(b"PK")
    with pytest.raises(WanlabError, match="is not a hand-in"):
        hand_in_archive.read(target)


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
    assert hand_in.draft(SharedFolder(tmp_path)).splitlines() == [
        "wanlab-node h1 sysctl -w net.ipv4.tcp_congestion_control=bbr",
        "sudo tc qdisc change dev s1-eth2 root netem delay 5ms",
    ]


def test_a_draft_has_the_commands_typed_at_the_prompt(tmp_path: Path) -> None:
    folder = tmp_path / hand_in.TRANSCRIPTS
    folder.mkdir()
    for line in ("h1 ping h2", "h1 sysctl -w a=1", "sh tc qdisc add dev s1-eth2 root sfq", "exit"):
        hand_in.note_line(SharedFolder(tmp_path), ["h1", "h2"], line)
    assert hand_in.draft(SharedFolder(tmp_path)).splitlines() == [
        "wanlab-node h1 sysctl -w a=1",
        "tc qdisc add dev s1-eth2 root sfq",
    ]
    assert (folder / "mininet").read_text().count("\n") == 4


def session_file(path: Path, typed: str) -> bytes:
    """Write a session with its own id in which a line is typed."""
    recorder = SessionRecorder(path)
    recorder.write({"session": {**HEADER, "id": str(path)}})
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
        hand_in.pack(unit, 7, SharedFolder(home), home / "slow-link.sh", zipped)
        assert len(hand_in_archive.read(zipped).sessions) == 1
    grade(folder)
    (pair, *others) = [row for row in rows(folder, "alike.csv") if ";" in row["likeness"]]
    assert (pair["first"], pair["second"]) == (ANNA, BEN)
    assert pair["likeness"] == "equal; the same was typed at the same instants"
    assert others == []


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
