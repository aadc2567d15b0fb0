"""Test the server of a class: the separation of students, and the teacher's view."""

from __future__ import annotations

import contextlib
import json
import os
import pwd
import re
import shutil
import signal
import socket
import stat
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import forks
import pytest
from class_client import TWO_HOSTS, ClassServer, class_folder
from patience import PATIENCE_S
from process_tree import descendants
from web_client import RefusedCommandError, Terminal, Visitor, WebClient, free_port, wait_until
from websockets.exceptions import ConnectionClosed, InvalidStatus

from wanlab.errors import RequirementError
from wanlab.machine.embedded import find_image, landlock_version
from wanlab.temporary import FolderNote, folder_notes
from wanlab.web.classroom.sandbox import check_readable, needed_folders

pytestmark = pytest.mark.skipif(not landlock_version(), reason="no Landlock here")
SECRET = "only for Bob"


@pytest.fixture(scope="module")
def school() -> Iterator[ClassServer]:
    # Not below /tmp, because machines always have their own /tmp.
    with tempfile.TemporaryDirectory(dir="/var/tmp") as place:
        folder = class_folder(Path(place), "Ada", "Bob", "Eve")
        with ClassServer(folder, "--networks", "1", "--disk", "2MB") as server:
            yield server


@pytest.fixture(scope="module")
def ada(school: ClassServer) -> Visitor:
    student = school.student("Ada")
    (student.folder / "two.yaml").write_text(TWO_HOSTS)
    return student


@pytest.fixture(scope="module")
def bob(school: ClassServer) -> Visitor:
    student = school.student("Bob")
    (student.folder / "secret.txt").write_text(SECRET)
    return student


def status_of_socket(who: Visitor, path: str, **headers: str | None) -> int:
    """Return the status of a WebSocket's handshake, or the code that it was closed with."""
    try:
        with who.socket(path, **headers) as opened:
            opened.recv(PATIENCE_S)
            return 101
    except InvalidStatus as error:
        return error.response.status_code
    except ConnectionClosed as error:
        return error.rcvd.code if error.rcvd is not None else 0


# -- students and the teacher -----------------------------------------------------------------------


def test_the_teacher_alone_can_read_all_links(school: ClassServer, ada: Visitor) -> None:
    given = {it["name"]: it["link"] for it in school.get("/api/class/links").json()}
    assert given == {name: link for name, link in school.links().items() if name}
    assert ada.get("/api/class/links").status_code == 404
    assert ada.get("/api/class/links", cookie="").status_code == 403


def test_each_link_opens_the_students_folder(
    school: ClassServer, ada: Visitor, bob: Visitor
) -> None:
    for student in (ada, bob):
        assert student.get("/api/state").json()["folder"] == student.folder.name
    assert school.get("/api/class").json()["folder"] == str(school.folder)


def test_a_students_files_are_invisible_to_others(ada: Visitor, bob: Visitor) -> None:
    assert ada.ask("PUT", "/api/files/essay.txt", b"Ada's").status_code == 200
    assert ada.get("/api/files/essay.txt").text == "Ada's"
    assert bob.get("/api/files/essay.txt").status_code == 404
    assert (ada.folder / "essay.txt").exists()
    assert not (bob.folder / "essay.txt").exists()


def test_pushes_go_to_the_browsers_of_one_student(ada: Visitor, bob: Visitor) -> None:
    with ada.connect_client() as hers, bob.connect_client() as his:
        before = his.document["nodes"]
        node = {"id": "n1", "kind": "host", "name": "h7", "x": 1, "y": 1}
        hers.do("edit", put={"nodes": [node]}, label="Draw")
        hers.until(lambda: bool(hers.document["nodes"]))
        his.stands_still()
        assert his.document["nodes"] == before
        hers.do("undo")


def test_a_raised_hand_and_the_time_since_the_last_step_reach_the_teacher(
    school: ClassServer, ada: Visitor
) -> None:
    with ada.connect_client() as browser:
        assert school.row("Ada")["idle_since_s"] is None
        browser.do("lesson", unit="3", action="start", discard=True)
        browser.do("lesson", unit="3", action="raise_hand")
        browser.until(lambda: browser.state["lessons"]["hand_raised_s"] is not None)
        raised_s = browser.state["lessons"]["hand_raised_s"]
        school.until("Ada", hand_raised_s=raised_s, open_unit="3")
        assert school.row("Ada")["idle_since_s"] <= raised_s
        browser.do("lesson", unit="3", action="lower_hand")
        school.until("Ada", hand_raised_s=None)
        browser.do("lesson", unit="3", action="close")
        school.until("Ada", idle_since_s=None)


def test_the_tokens_are_in_a_file_that_only_the_teacher_can_read(school: ClassServer) -> None:
    assert stat.S_IMODE((school.folder / "tokens.csv").stat().st_mode) == 0o600
    tokens = [link.partition("token=")[2] for link in school.links().values()]
    for pid in (school.process.pid, *descendants(school.process.pid)):
        for name in ("cmdline", "environ"):
            with contextlib.suppress(OSError):  # it has ended
                text = Path(f"/proc/{pid}/{name}").read_text(errors="replace")
                assert not any(token in text for token in tokens)
    assert tokens[1] not in "".join(school.said)


# -- attacks ----------------------------------------------------------------------------------------

API = (
    "/",
    "/api/state",
    "/api/files",
    "/api/files/secret.txt",
    "/api/export/mn",
    "/api/lessons",
    "/api/class",
    "/api/class.csv",
)


@pytest.mark.parametrize("path", API)
def test_without_a_cookie_nothing_is_served(school: ClassServer, path: str) -> None:
    answer = school.get(path, cookie="")
    assert answer.status_code == 403
    assert "open the link that your teacher gave you" in answer.text


@pytest.mark.parametrize("token", ["", "0" * 48, "' or 1=1", "%00", "Bob", "teacher"])
def test_no_guessed_token_is_exchanged(school: ClassServer, token: str) -> None:
    answer = school.get(f"/?token={token}", cookie="")
    assert answer.status_code == 403
    assert "set-cookie" not in answer.headers


def test_a_token_is_not_a_cookie_and_names_are_not_either(
    school: ClassServer, ada: Visitor, bob: Visitor
) -> None:
    name = ada.cookie.partition("=")[0]
    for value in (bob.token, "Bob", "", bob.cookie.partition("=")[2][:-1] + "x"):
        assert school.get("/api/state", cookie=f"{name}={value}").status_code == 403
    both = f"{ada.cookie}; {bob.cookie}"
    assert school.get("/api/state", cookie=both).status_code == 403


def test_a_cookie_opens_one_laboratory_whatever_the_address_says(
    ada: Visitor, bob: Visitor
) -> None:
    for path in ("/api/state?student=Bob", "/api/state?token=Bob", "/api/state?user=Bob#Bob"):
        assert ada.get(path).json()["folder"] == ada.folder.name
    for path in ("/user/Bob/api/state", "/students/Bob/secret.txt", "/Bob", "/api/students/Bob"):
        assert ada.get(path).status_code == 404


def test_a_student_does_not_reach_the_teachers_page(ada: Visitor) -> None:
    assert ada.get("/api/class").status_code == 404
    assert ada.get("/api/class.csv").status_code == 404
    assert ada.ask("POST", "/api/class/stop/Bob").status_code in (404, 405)
    assert "class" not in ada.get("/").text.partition("<body")[2]


def test_the_teachers_cookie_opens_no_laboratory(school: ClassServer) -> None:
    for path in ("/api/state", "/api/files", "/api/files/students/Bob/secret.txt"):
        assert school.get(path).status_code == 404
    assert status_of_socket(school, "/api/live") in (403, 404)


def test_websockets_need_the_cookie_and_an_origin(school: ClassServer, ada: Visitor) -> None:
    for path in ("/api/live", "/api/terminals/t1"):
        assert status_of_socket(ada, path, cookie=None) == 403
        assert status_of_socket(ada, path, origin=None) == 403
        for origin in ("http://evil.example", "null", "http://127.0.0.1:1"):
            assert status_of_socket(ada, path, origin=origin) == 403
    assert status_of_socket(ada, "/api/live") == 101


def test_pages_of_other_origins_change_nothing(school: ClassServer, ada: Visitor) -> None:
    for who, method, path in (
        (ada, "PUT", "/api/files/x.txt"),
        (school, "POST", "/api/class/stop/Ada"),
    ):
        for headers in (
            {"origin": "http://evil.example"},
            {"origin": "null"},
            {"sec_fetch_site": "cross-site"},
            {"sec_fetch_site": "same-site"},
        ):
            assert who.ask(method, path, b"x", **headers).status_code == 403
        for name in ("evil.example", f"evil.example:{urlsplit(who.origin).port}", "127.0.0.1"):
            assert who.ask(method, path, b"x", host=name).status_code == 403
    assert not (ada.folder / "x.txt").exists()


@pytest.mark.parametrize(
    "path",
    [
        "../Bob/secret.txt",
        "..%2fBob%2fsecret.txt",
        "%2e%2e/Bob/secret.txt",
        "..%252fBob/secret.txt",
        "x/../../Bob/secret.txt",
        "..\\Bob\\secret.txt",
        "../../tokens.csv",
        "%2e%2e/%2e%2e/tokens.csv",
        "../../.wanlab/address",
        "../../hand-ins/Bob",
        "/proc/self/environ",
        "{class}/students/Bob/secret.txt",
        "{class}/tokens.csv",
    ],
)
def test_no_path_leads_to_another_folder(
    school: ClassServer, ada: Visitor, bob: Visitor, path: str
) -> None:
    path = path.replace("{class}", str(school.folder))
    assert ada.raw(f"/api/files/{path}") in (400, 404)
    assert ada.ask("PUT", f"/api/files/{path}", b"changed").status_code in (400, 404)
    assert (bob.folder / "secret.txt").read_text() == SECRET


def test_links_in_a_folder_lead_nowhere_else(
    school: ClassServer, ada: Visitor, bob: Visitor
) -> None:
    targets = {
        "a.txt": bob.folder / "secret.txt",
        "b": bob.folder,
        "c.csv": school.folder / "tokens.csv",
        "d": school.folder / "hand-ins",
        "e": Path("/proc/self/environ"),
        "f": Path(f"/proc/{school.process.pid}/root"),
    }
    for name, target in targets.items():
        (ada.folder / name).symlink_to(target)
    try:
        for path in ("a.txt", "b/secret.txt", "c.csv", "d/Bob", "e", "f/etc/passwd"):
            assert ada.get(f"/api/files/{path}").status_code == 404
            assert ada.ask("PUT", f"/api/files/{path}", b"changed").status_code == 404
        listed = {it["name"] for it in ada.get("/api/files").json()["files"]}
        assert not listed & {*targets}
        with ada.connect_client() as client:
            for path in ("a.txt", "b/secret.txt", "c.csv"):
                with pytest.raises(RefusedCommandError, match="not a path"):
                    client.do("open", path=path)
    finally:
        for name in targets:
            (ada.folder / name).unlink()
    assert (bob.folder / "secret.txt").read_text() == SECRET


def test_a_topology_cannot_read_files_of_other_students(ada: Visitor, bob: Visitor) -> None:
    """Files that a topology names are read with the rights of the student's process."""
    (ada.folder / "steal.yaml").write_text(
        f"nodes:\n  - {{router: r1, frr_file: '{bob.folder}/secret.txt', x: 1, y: 1}}\n"
    )
    with ada.connect_client() as client:
        try:
            client.do("open", path="steal.yaml")
            client.do("run")
            client.until(lambda: client.state["run"]["phase"] in ("failed", "running"))
            text = json.dumps(client.state)
        except RefusedCommandError as error:
            text = str(error)
        finally:
            if client.state["run"]["phase"] not in ("stopped", "failed"):
                client.stop()
            client.do("new", discard=True)
    assert SECRET not in text


def test_a_second_request_on_a_connection_needs_its_own_cookie(
    school: ClassServer, ada: Visitor, bob: Visitor
) -> None:
    """Both requests reach the first student's process, which answers one request of that student."""
    where = urlsplit(school.origin)
    requests = [
        f"GET /api/state HTTP/1.1\r\nHost: {where.netloc}\r\nCookie: {it.cookie}\r\n\r\n"
        for it in (ada, bob)
    ]
    with socket.create_connection((where.hostname, where.port or 80), PATIENCE_S) as connection:
        connection.sendall("".join(requests).encode())
        with connection.makefile("rb") as answer:
            text = answer.read().decode(errors="replace")
    assert text.count("HTTP/1.1") == 1
    assert "connection: close" in text.lower()
    assert str(bob.folder) not in text


@pytest.mark.parametrize("sent", [b"\x16\x03\x01\x02\x00", b"GET / HTTP/9.9\r\n\r\n", b"\r\n" * 9])
def test_data_that_is_not_http_reaches_no_student(school: ClassServer, sent: bytes) -> None:
    where = urlsplit(school.origin)
    with socket.create_connection((where.hostname, where.port or 80), PATIENCE_S) as connection:
        connection.sendall(sent)
        connection.shutdown(socket.SHUT_WR)
        with connection.makefile("rb") as answer:
            assert b"200" not in answer.readline()
    assert school.get("/api/class").status_code == 200


def test_an_endless_header_is_refused(school: ClassServer, ada: Visitor) -> None:
    where = urlsplit(school.origin)
    with (
        socket.create_connection((where.hostname, where.port or 80), PATIENCE_S) as connection,
        pytest.raises(OSError),  # noqa: PT011  (reset, or a broken pipe)
    ):
        for _ in range(100):
            connection.sendall(b"GET / HTTP/1.1\r\n" + b"X: y\r\n" * 1000)
        connection.recv(1)
        raise OSError
    assert ada.get("/api/state").status_code == 200


def test_an_upload_beyond_the_limit_of_the_folder_is_refused(ada: Visitor) -> None:
    answer = ada.ask("PUT", "/api/files/large.bin", b"x" * (3 << 20))
    assert answer.status_code == 400
    assert "and the limit is" in answer.json()["what"]
    assert not (ada.folder / "large.bin").exists()


# -- machines ---------------------------------------------------------------------------------------


@pytest.mark.machine
def test_a_hand_in_counts_only_if_it_was_kept(school: ClassServer) -> None:
    kept = school.folder / "hand-ins" / "Eve"
    eve = school.student("Eve")
    with eve.connect_client() as client:
        client.do("lesson", unit="ex3", action="start")
        (eve.folder / "exercise3" / "ex3.sh").write_text("echo mine\n")
        kept.rmdir()
        kept.write_text("not a folder")
        with pytest.raises(RefusedCommandError, match=r"not handed in: the server .* cannot write"):
            client.do("lesson", unit="ex3", action="hand_in")
        kept.unlink()
        kept.mkdir()
        client.do("lesson", unit="ex3", action="hand_in")
        assert [path.suffix for path in kept.iterdir()] == [".zip"]


def test_a_node_reads_no_other_students_files(
    school: ClassServer, ada: Visitor, bob: Visitor
) -> None:
    """Nodes are root in the machine. Only one network may run, so Bob's is refused meanwhile."""
    hub = school.process.pid
    with ada.connect_client() as client:
        client.do("open", path="two.yaml", discard=True)
        client.run()
        school.until("Ada", phase="running", is_online=True, nodes=3)
        with ada_terminal(client) as terminal:
            assert "mine" in terminal.command("echo m'ine' > own; cat own", "mine\r\n")
            shown = terminal.command("grep MemTotal /proc/meminfo; echo do''ne", "done\r\n")
        memory = re.search(r"MemTotal: +(\d+) kB", shown)
        assert memory is not None
        assert int(memory[1]) < 512 << 10
        for command in (
            f"cat {bob.folder}/secret.txt",
            f"ls {bob.folder}",
            f"ls {school.folder}",
            f"cat {school.folder}/tokens.csv",
            f"echo x > {bob.folder}/new && cat {bob.folder}/secret.txt",
            f"ln -s {bob.folder}/secret.txt s; cat s",
            "cat ~root/.bashrc /root/.bashrc",
            f"mkdir -p /mnt/h && mount -t hostfs none /mnt/h -o {bob.folder}",
            f"umount -l /proc; cat /proc/{hub}/environ",
            f"cat /proc/{hub}/root{bob.folder}/secret.txt",
            f"nsenter -t 1 -m cat {bob.folder}/secret.txt",
            f"unshare -m mount --bind {bob.folder} /mnt && cat /mnt/secret.txt",
        ):
            with ada_terminal(client) as terminal:
                line = f"({command}) && echo ste'al'ing || echo re'fus'ed; echo en''d"
                shown = terminal.command(line, "end\r\n")
                assert "refused" in shown, command
                assert SECRET not in shown
        assert (ada.folder / "own").read_text() == "mine\n"
        assert sorted(path.name for path in bob.folder.iterdir() if path.name[0] != ".") == [
            "secret.txt"
        ]
        check_the_limit_of_networks(bob)
        check_terminals_are_apart(client_terminals(client), bob)
        stop_by_the_teacher(school, client)


def ada_terminal(client: WebClient) -> Terminal:
    terminal = client.terminal("h1")
    terminal.until("# ")
    return terminal


def client_terminals(client: WebClient) -> list[str]:
    return [it["id"] for it in client.state["terminals"]["terminals"]]


def check_the_limit_of_networks(bob: Visitor) -> None:
    (bob.folder / "two.yaml").write_text(TWO_HOSTS)
    with bob.connect_client() as client:
        client.do("open", path="two.yaml", discard=True)
        with pytest.raises(RefusedCommandError, match=r"its limit of running networks \(1\)"):
            client.do("run")


def check_terminals_are_apart(terminals: list[str], bob: Visitor) -> None:
    """Check that terminal ids, which students have in common, refer to each student's terminals."""
    assert "t1" in terminals
    for name in terminals:
        assert status_of_socket(bob, f"/api/terminals/{name}") == 4404


def stop_by_the_teacher(school: ClassServer, client: WebClient) -> None:
    assert school.ask("POST", "/api/class/stop/Bob").status_code == 400
    assert school.ask("POST", "/api/class/stop/Nobody").status_code == 400
    assert school.ask("POST", "/api/class/stop/Ada").status_code == 204
    client.until(lambda: client.state["run"]["phase"] == "stopped")
    assert "the teacher has stopped" in json.dumps(client.pushes)
    school.until("Ada", phase="stopped")


@pytest.mark.machine
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_nothing_outlives_the_server(tmp_path: Path, number: signal.Signals) -> None:
    folder = class_folder(tmp_path, "Ada", "Bob")
    with ClassServer(folder) as server:
        (temporary,) = (note.folder for note in temporary_folders(server.process.pid))
        assert temporary.is_relative_to("/dev/shm")
        ada, bob = server.student("Ada"), server.student("Bob")
        (ada.folder / "two.yaml").write_text(TWO_HOSTS)
        bob.get("/api/state")
        with ada.connect_client() as client:
            client.do("open", path="two.yaml")
            client.run()
            server.until("Ada", phase="running")
            below = descendants(server.process.pid)
            assert len(below) >= 6  # the fork server, two students, a network
            if number == signal.SIGINT:
                server.process.send_signal(number)
                assert server.process.stdout is not None
                assert "networks are running (1)" in server.process.stdout.readline()
            server.end(number)
        wait_until(lambda: not any(Path(f"/proc/{pid}/exe").exists() for pid in below))
    for note in temporary_folders(server.process.pid):
        assert (number, note.is_stale) == (signal.SIGKILL, True)
        note.clean()  # as `wanlab clean` does
    assert not temporary.exists()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_server_that_is_ended_while_it_starts_leaves_no_folder_in_memory(
    tmp_path: Path, number: signal.Signals
) -> None:
    words = ["web", "--no-browser", "--class", str(class_folder(tmp_path, "Ada"))]
    process = forks.start(*words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wait_until(lambda: any(note.has_folder for note in temporary_folders(process.pid)))
    (note,) = temporary_folders(process.pid)
    process.send_signal(number)
    assert process.wait(PATIENCE_S) == 128 + number
    assert not note.has_folder
    assert not note.file.exists()


def temporary_folders(server: int) -> list[FolderNote]:
    return [note for note in folder_notes() if note.owner.pid == server]


@pytest.mark.skipif(os.getuid() != 0, reason="only root can start processes of other users")
def test_a_user_who_cannot_read_wanlab_is_named(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    (tmp_path / "private").mkdir(mode=0o700)
    with pytest.raises(RequirementError, match=r"nobody cannot read .*/private"):
        check_readable("nobody", [Path("/usr"), tmp_path / "private"])


@pytest.mark.long
@pytest.mark.skipif(os.getuid() != 0, reason="only root can start processes of other users")
def test_a_student_can_have_a_separate_user(monkeypatch: pytest.MonkeyPatch) -> None:
    with tempfile.TemporaryDirectory(dir="/var/tmp") as place:
        Path(place).chmod(0o755)
        # Root's own kernel is in root's home folder, which others cannot read.
        shutil.copytree(find_image().folder, Path(place, "kernel"))
        monkeypatch.setenv("WANLAB_KERNEL", str(Path(place, "kernel")))
        try:
            check_readable("nobody", needed_folders())
        except RequirementError as error:
            pytest.skip(str(error))
        folder = class_folder(Path(place), "Ada,nobody", "Bob,", column="student,user")
        nobody = pwd.getpwnam("nobody")
        with ClassServer(folder) as server:
            for name, user in (("Ada", nobody.pw_uid), ("Bob", 0)):
                student = server.student(name)
                assert student.ask("PUT", "/api/files/x.txt", b"x").status_code == 200
                assert (student.folder / "x.txt").stat().st_uid == user
            owners = {Path(f"/proc/{it}").stat().st_uid for it in descendants(server.process.pid)}
            assert owners == {0, nobody.pw_uid}


@pytest.mark.skipif(os.getuid() != 0, reason="only root can start processes of other users")
def test_students_whose_networks_run_as_root_are_named(tmp_path: Path) -> None:
    folder = class_folder(tmp_path, "Ada,root", "Bob,root", "Eve,", column="student,user")
    with ClassServer(folder) as server:
        assert "the networks of all students run as root" in "".join(server.said)


def test_an_empty_list_of_students_is_named(tmp_path: Path) -> None:
    folder = class_folder(tmp_path)
    with pytest.raises(AssertionError, match=r"students\.csv names no students"):
        ClassServer(folder)
    assert not (folder / "seeds.csv").exists()


def test_a_user_who_does_not_exist_is_named(tmp_path: Path) -> None:
    folder = class_folder(tmp_path, "Ada,no-such-user", column="student,user")
    with pytest.raises(AssertionError, match="there is no user no-such-user"):
        ClassServer(folder)


# -- restarts, and what is kept ---------------------------------------------------------------------


@pytest.mark.long
def test_links_and_cookies_survive_a_restart_unless_the_student_has_left(tmp_path: Path) -> None:
    folder = class_folder(tmp_path, "Ada", "Bob")
    port = str(free_port())
    with ClassServer(folder, "--port", port) as server:
        ada, bob = server.student("Ada"), server.student("Bob")
        (ada.folder / "two.yaml").write_text(TWO_HOSTS)
        with ada.connect_client() as client:
            client.do("open", path="two.yaml")
    (folder / "students.csv").write_text("student\nAda\n")
    with ClassServer(folder, "--port", port):
        assert ada.get("/api/state").json()["file"]["path"] == "two.yaml"
        assert ada.get("/api/state").json()["folder"] == ada.folder.name
        assert bob.get("/api/state").status_code == 403
        assert bob.get(f"/?token={bob.token}", cookie="").status_code == 403
