"""Run a class of ten students in a real JupyterHub, with the configuration that the page prints."""

from __future__ import annotations

import csv
import json
import os
import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from class_client import TWO_HOSTS
from jupyter_hub import HubUser, PrintedHub, require_hub
from web_client import RefusedCommandError, WebClient, wait_until
from websockets.exceptions import InvalidStatus

from wanlab.labs import hand_in_archive
from wanlab.web.jupyterhub.class_link import ClassLink

SERVICE = "/services/networks"
NAMES = tuple(f"student{number}" for number in range(10))
pytestmark = [pytest.mark.costs(30)]


def row(teacher: HubUser, name: str) -> dict[str, Any]:
    """Return a student's row on the teacher's page; empty if there is none."""
    students = teacher.get("/api/class").json()["students"]
    return next((row for row in students if row["name"] == name), {})


@pytest.fixture(scope="module")
def school(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PrintedHub]:
    require_hub()
    with PrintedHub(tmp_path_factory.mktemp("hub")) as school:
        yield school


@pytest.fixture(scope="module")
def students(school: PrintedHub) -> list[HubUser]:
    """Ten users who have started and opened their laboratories, all at once."""
    with ThreadPoolExecutor(len(NAMES)) as threads:
        return list(threads.map(school.student, NAMES))


@pytest.fixture(scope="module")
def teacher(school: PrintedHub) -> HubUser:
    return HubUser(school, "grace", SERVICE)


def started(student: HubUser, client: WebClient) -> None:
    """Start Exercise 3, whose first steps are done then, and write its script."""
    client.do("lesson", unit="ex3", action="start", discard=True)
    script = student.folder / "exercise3" / "ex3.sh"
    script.write_text(f"echo {student.name}\n")


def test_ten_students_work_and_hand_in_and_the_teacher_follows(
    school: PrintedHub, students: list[HubUser], teacher: HubUser
) -> None:
    def work(student: HubUser) -> None:
        with student.connect_client() as client:
            started(student, client)
            wait_until(lambda: row(teacher, student.name).get("is_online", False))
            client.do("lesson", unit="ex3", action="hand_in")

    with ThreadPoolExecutor(len(NAMES)) as threads:
        list(threads.map(work, students))
    seeds = set()
    for name in NAMES:
        wait_until(lambda name=name: not row(teacher, name)["is_online"])  # type: ignore[misc]
        found = row(teacher, name)
        assert [it["unit"] for it in found["hand_ins"]] == ["ex3"]
        assert found["open_unit"] == "ex3"
        assert found["units"][0]["done"] == 2
        (handed_in,) = (school.folder / "hand-ins" / name).iterdir()
        packed = hand_in_archive.read(handed_in)
        assert packed.script == f"echo {name}\n"
        assert packed.manifest.seed == found["seed"]
        seeds.add(found["seed"])
    assert len(seeds) == len(NAMES)
    with (school.folder / "students.csv").open(encoding="utf-8", newline="") as file:
        assert sorted(row["student"] for row in csv.DictReader(file)) == sorted(NAMES)
    state = teacher.get("/api/class").json()
    assert not state["has_links"]
    assert teacher.get("/api/class.csv").text.count("ex3") >= len(NAMES)


def test_a_student_sees_nothing_of_the_class(school: PrintedHub, students: list[HubUser]) -> None:
    curious = HubUser(school, students[0].name, SERVICE)
    assert curious.page.status_code == 403
    assert "/hub/home" in curious.page.text
    for path in (
        "/api/class",
        "/api/class.csv",
        "/api/class/links",
        "/look/1/",
        "/look/1/api/state",
    ):
        assert curious.get(path).status_code == 403
    assert curious.ask("POST", "/api/class/stop/student1").status_code == 403
    assert curious.ask("POST", "/api/class/grade").status_code == 403
    with pytest.raises(InvalidStatus), curious.socket("/look/1/api/live"):
        pass


def test_nobody_gets_to_the_class_without_its_scope(
    school: PrintedHub, students: list[HubUser]
) -> None:
    path = "/api/laboratory/hand-ins/ex3"
    outside = students[0]
    asking = {"origin": outside.origin, "cookie": ""}
    url = HubUser(school, outside.name, SERVICE)
    token = school.ask("POST", f"/users/{outside.name}/tokens", json={"scopes": []})
    narrow = f"token {token.json()['token']}"
    for authorization in ("token wrong", narrow):
        answer = url.ask("POST", path, b"x", **asking, authorization=authorization)
        assert answer.status_code == 403
    assert len(list((school.folder / "hand-ins" / outside.name).iterdir())) == 1


def test_a_hand_in_that_is_not_kept_is_refused(school: PrintedHub, students: list[HubUser]) -> None:
    me = HubUser(school, students[0].name, SERVICE)
    for unit in ("no-such-unit", "..%2fx"):
        assert me.ask("POST", f"/api/laboratory/hand-ins/{unit}", b"x").status_code in (400, 404)
    before = sorted((school.folder / "hand-ins").rglob("*.zip"))
    with students[1].connect_client() as client:
        started(students[1], client)
        folder = school.folder / "hand-ins" / students[1].name
        folder.rename(folder.with_suffix(".away"))
        folder.write_text("")
        with pytest.raises(RefusedCommandError, match="your work was not handed in"):
            client.do("lesson", unit="ex3", action="hand_in")
        folder.unlink()
        folder.with_suffix(".away").rename(folder)
    assert sorted((school.folder / "hand-ins").rglob("*.zip")) == before


def test_a_raised_hand_reaches_the_teacher(
    school: PrintedHub, students: list[HubUser], teacher: HubUser
) -> None:
    with students[2].connect_client() as client:
        started(students[2], client)
        client.do("lesson", unit="ex3", action="raise_hand")
        wait_until(lambda: row(teacher, students[2].name)["hand_raised_s"] is not None)
        client.do("lesson", unit="ex3", action="lower_hand")
        wait_until(lambda: row(teacher, students[2].name)["hand_raised_s"] is None)


@pytest.mark.machine
def test_the_teacher_looks_at_a_network_and_stops_it(
    school: PrintedHub, students: list[HubUser], teacher: HubUser
) -> None:
    student = students[3]
    (student.folder / "two.yaml").write_text(TWO_HOSTS)
    with student.connect_client() as client:
        client.do("open", path="two.yaml", discard=True)
        client.run()
        wait_until(lambda: row(teacher, student.name)["nodes"] == 3)
        number = row(teacher, student.name)["number"]
        below, teacher.below = teacher.below, f"{SERVICE}/look/{number}"
        try:
            assert "data-looks" in teacher.get("/").text
            assert teacher.get("/api/files/two.yaml").text == TWO_HOSTS
            with teacher.connect_client() as looking, client.terminal("h1") as hers:
                client.until(lambda: client.state["lessons"]["is_looked_at"])
                assert looking.document == client.document
                hers.until("# ")
                with teacher.socket(f"/api/terminals/{hers.name}") as view:
                    hers.command("echo se''en", "seen\r\n")
                    shown = b""
                    while b"seen\r\n" not in shown:
                        data = view.recv()
                        shown += data if isinstance(data, bytes) else b""
                with pytest.raises(RefusedCommandError, match="you can only view"):
                    looking.do("stop")
            client.until(lambda: not client.state["lessons"]["is_looked_at"])
        finally:
            teacher.below = below
        assert teacher.ask("POST", f"/api/class/stop/{student.name}").status_code == 204
        client.until(lambda: client.state["run"]["phase"] == "stopped")
        assert "the teacher has stopped" in json.dumps(client.pushes)


@pytest.mark.long
@pytest.mark.machine
def test_the_teacher_grades_what_was_handed_in(
    school: PrintedHub, students: list[HubUser], teacher: HubUser
) -> None:
    student = students[5]
    with student.connect_client() as client:
        started(student, client)
        client.do("lesson", unit="ex3", action="hand_in")
    assert teacher.ask("POST", "/api/class/grade").status_code == 204
    wait_until(lambda: bool(teacher.get("/api/class").json()["grading_result"]))
    result = teacher.get("/api/class").json()["grading_result"]
    assert "handed in, 0 not graded" in result
    (grade,) = row(teacher, student.name)["grades"]
    assert (grade["unit"], grade["points"]) == ("ex3", 0)


@pytest.mark.long  # the hub notices after half a minute that a service has ended
def test_laboratories_come_back_when_the_class_is_restarted(
    school: PrintedHub, students: list[HubUser], teacher: HubUser
) -> None:
    student = students[4]
    with student.connect_client() as client:
        started(student, client)
        wait_until(lambda: row(teacher, student.name).get("is_online", False))
        (service,) = school.services()
        os.kill(service, signal.SIGKILL)
        wait_until(lambda: service not in school.services() and bool(school.services()))
        again = HubUser(school, "grace", SERVICE)
        while again.get("/api/class").status_code != 200:  # it is still starting
            again = HubUser(school, "grace", SERVICE)
        wait_until(lambda: row(again, student.name).get("is_online", False))
        client.do("lesson", unit="ex3", action="hand_in")
    assert len(again.get("/api/class").json()["students"]) == len(NAMES)


@pytest.mark.parametrize("url", ["", "127.0.0.1:1", "ftp://x/", "http://", "http://x/?y"])
def test_a_wrong_address_of_the_class_is_named(url: str) -> None:
    with pytest.raises(Exception, match="is not the address of a class"):
        ClassLink(url, "token")
