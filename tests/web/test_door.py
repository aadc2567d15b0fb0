"""Attacks on the server, each as it was tried: docs/web.md lists them."""

import json
import stat
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest
from visitor import PATIENCE_S, Server, Visitor
from websockets.exceptions import InvalidStatus

OUTSIDE = "the secret of another folder"
PATHS = ("/", "/api/state", "/api/files", "/api/files/two.yaml", "/api/export/mn", "/api/lessons")


def is_refused(server: Server, path: str, **headers: str | None) -> bool:
    try:
        with server.socket(path, **headers):
            return False
    except InvalidStatus as error:
        return error.response.status_code == 403


# -- who has no cookie ------------------------------------------------------------------------------


@pytest.mark.parametrize("path", PATHS)
def test_without_the_cookie_nothing_is_told(door: Server, path: str) -> None:
    assert door.get(path, cookie="").status_code == 403
    assert door.get(path).status_code in (200, 503)  # 503: the page has not been built


@pytest.mark.parametrize("token", ["", "0" * 48, "' or 1=1", "%00", "é"])
def test_a_wrong_token_buys_no_cookie(door: Server, token: str) -> None:
    answer = door.get(f"/?token={token}", cookie="")
    assert answer.status_code == 403
    assert "set-cookie" not in answer.headers


def test_two_tokens_are_none(door: Server) -> None:
    assert door.get(f"/?token={door.token}&token=x", cookie="").status_code == 403


def test_the_token_is_no_cookie(door: Server) -> None:
    name = door.cookie.partition("=")[0]
    assert door.get("/api/state", cookie=f"{name}={door.token}").status_code == 403


def test_a_second_cookie_of_that_name_does_not_help(door: Server) -> None:
    name = door.cookie.partition("=")[0]
    assert door.get("/api/state", cookie=f"{name}=x; {name}=y").status_code == 403


def test_the_cookie_stays_in_the_browser_and_on_this_site(door: Server) -> None:
    answer = door.get(f"/?token={door.token}", cookie="")
    cookie = answer.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    assert str(urlsplit(door.origin).port) in cookie.partition("=")[0]
    assert answer.headers["referrer-policy"] == "no-referrer"


def test_sockets_need_the_cookie_too(door: Server) -> None:
    assert is_refused(door, "/api/live", cookie=None)
    assert is_refused(door, "/api/terminals/t1", cookie=None)
    assert not is_refused(door, "/api/live")


def test_every_start_has_its_own_secrets(door: Server, server: Server) -> None:
    assert len(door.token) >= 32
    assert door.token != server.token
    cookie = f"{server.cookie.partition('=')[0]}={door.cookie.partition('=')[2]}"
    assert server.get("/api/state", cookie=cookie).status_code == 403


# -- other pages ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", ["evil.example", "evil.example:{port}", "127.0.0.1", "0.0.0.0:{port}"]
)
def test_another_name_for_this_computer_is_refused(door: Server, name: str) -> None:
    host = name.format(port=urlsplit(door.origin).port)
    assert door.get("/api/state", host=host).status_code == 403
    assert door.get(f"/?token={door.token}", host=host).status_code == 403
    assert is_refused(door, "/api/live", host=host, origin=f"http://{host}")


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", "https://127.0.0.1:{port}", "http://127.0.0.1:1"]
)
def test_a_page_of_another_origin_is_refused(door: Server, origin: str) -> None:
    origin = origin.format(port=urlsplit(door.origin).port)
    assert is_refused(door, "/api/live", origin=origin)
    assert is_refused(door, "/api/terminals/t1", origin=origin)
    assert door.get("/api/state", origin=origin).status_code == 403
    assert door.ask("PUT", "/api/files/x.txt", b"x", origin=origin).status_code == 403
    assert not (door.folder / "x.txt").exists()


def test_who_does_not_say_where_he_comes_from_changes_nothing(door: Server) -> None:
    assert is_refused(door, "/api/live", origin=None)
    answer = httpx.put(
        f"{door.origin}/api/files/x.txt", content=b"x", headers={"cookie": door.cookie}
    )
    assert answer.status_code == 403
    assert not (door.folder / "x.txt").exists()


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_a_picture_or_script_in_another_page_is_not_sent(door: Server, site: str) -> None:
    """Pages of other programs of this computer are the same site, so they bring the cookie."""
    for mode, purpose in (("no-cors", "image"), ("no-cors", "script"), ("navigate", "iframe")):
        headers = {"sec_fetch_site": site, "sec_fetch_mode": mode, "sec_fetch_dest": purpose}
        for path in PATHS:
            assert door.get(path, **headers).status_code == 403


def test_a_link_from_another_page_may_lead_here(door: Server) -> None:
    headers = {
        "sec_fetch_site": "cross-site",
        "sec_fetch_mode": "navigate",
        "sec_fetch_dest": "document",
    }
    answer = door.get(f"/?token={door.token}", cookie="", **headers)
    assert answer.status_code == 200
    assert 'url=/"' in answer.text  # a strict cookie comes along only from a page of ours
    assert "set-cookie" in answer.headers
    assert door.get("/api/state", **headers).status_code == 403


def test_no_other_origin_is_let_in_by_headers(door: Server) -> None:
    for path in PATHS:
        answer = door.get(path)
        assert "access-control-allow-origin" not in answer.headers
        assert answer.headers["cross-origin-resource-policy"] == "same-origin"
        assert answer.headers["x-content-type-options"] == "nosniff"
    preflight = door.ask("OPTIONS", "/api/files/x.txt", origin="http://evil.example")
    assert preflight.status_code == 403


def test_the_page_runs_no_script_but_its_own(door: Server) -> None:
    policy = door.get("/").headers["content-security-policy"]
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    assert rules["default-src"] == "'none'"
    assert rules["script-src"] == "'self'"
    assert rules["frame-ancestors"] == "'self'"
    assert rules["base-uri"] == "'none'"


# -- paths ------------------------------------------------------------------------------------------


@pytest.fixture
def secret(door: Server) -> Path:
    path = door.folder.parent / "secret.txt"
    path.write_text(OUTSIDE)
    return path


@pytest.mark.parametrize(
    "path",
    [
        "../secret.txt",
        "..%2fsecret.txt",
        "%2e%2e/secret.txt",
        "%2e%2e%2fsecret.txt",
        "..%252fsecret.txt",
        "....//secret.txt",
        "x/../../secret.txt",
        "..\\secret.txt",
        "..%5csecret.txt",
        "//etc/passwd",
        "%2fetc%2fpasswd",
        "/etc/passwd",
        "two.yaml%00.png",
        "%c0%ae%c0%ae/secret.txt",
        "~/.bashrc",
        ".wanlab/address",
        "%2ewanlab/address",
        "./.wanlab/draft.json",
    ],
)
def test_no_path_leads_out_of_the_folder(door: Server, secret: Path, path: str) -> None:
    assert secret.exists()
    assert door.raw(f"/api/files/{path}") in (400, 404)
    assert door.ask("PUT", f"/api/files/{path}", b"changed").status_code in (400, 404)
    assert secret.read_text() == OUTSIDE


@pytest.mark.parametrize("under", ["..", "/", "/etc", "%2e%2e", ".wanlab", "../lab/../.."])
def test_no_folder_is_listed_but_those_inside(door: Server, under: str) -> None:
    answer = door.get(f"/api/files?under={under}")
    names = {it["name"] for it in answer.json().get("files", ())}
    assert answer.status_code in (400, 404) or names == {"two.yaml"}


def test_a_link_does_not_lead_out_either(door: Server, secret: Path) -> None:
    (door.folder / "link.txt").symlink_to(secret)
    (door.folder / "up").symlink_to(secret.parent)
    (door.folder / "notes").symlink_to(door.folder / ".wanlab")
    (door.folder / "round").symlink_to("round")
    try:
        for path in ("link.txt", "up/secret.txt", "notes/address", "round"):
            assert door.get(f"/api/files/{path}").status_code == 404
            assert door.ask("PUT", f"/api/files/{path}", b"changed").status_code == 404
        listed = {it["name"] for it in door.get("/api/files").json()["files"]}
        assert listed == {"two.yaml"}
        assert secret.read_text() == OUTSIDE
    finally:
        for name in ("link.txt", "up", "notes", "round"):
            (door.folder / name).unlink()


@pytest.mark.parametrize(
    "path", ["../stolen.mn", "/tmp/stolen.mn", ".wanlab/draft.json", "a/../../b.mn"]
)
def test_nothing_is_opened_or_saved_outside(door: Server, path: str) -> None:
    with door.visit() as visitor:
        for what in ("save", "open"):
            with pytest.raises(Exception, match="not a path in the working folder"):
                visitor.do(what, path=path)
    assert not (door.folder.parent / "stolen.mn").exists()


# -- too much, and nonsense -------------------------------------------------------------------------


def test_an_upload_has_a_limit(door: Server) -> None:
    answer = door.ask("PUT", "/api/files/large.bin", b"x" * (17 << 20))
    assert answer.status_code == 400
    assert "larger" in answer.json()["what"]
    assert not (door.folder / "large.bin").exists()
    assert door.ask("PUT", "/api/files/small.bin", b"x" * (1 << 20)).status_code == 200
    (door.folder / "small.bin").unlink()


def test_a_page_among_the_files_runs_nothing(door: Server) -> None:
    (door.folder / "evil.html").write_text("<script>fetch('/api/state')</script>")
    (door.folder / "evil.svg").write_text("<svg xmlns='http://www.w3.org/2000/svg'><script/></svg>")
    (door.folder / "evil.js").write_text("alert(1)")
    try:
        for name in ("evil.html", "evil.svg"):
            policy = door.get(f"/api/files/{name}").headers["content-security-policy"]
            assert policy.startswith("sandbox; default-src 'none'")
        answer = door.get("/api/files/evil.js")
        assert answer.headers["content-disposition"].startswith("attachment")
    finally:
        for name in ("evil.html", "evil.svg", "evil.js"):
            (door.folder / name).unlink()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "null",
        "[]",
        '{"id": 1}',
        '{"id": 1, "do": "rm"}',
        '{"id": "x", "do": "undo"}',
        '{"id": 1, "do": "edit", "more": 1}',
        '{"id": 1, "do": "edit", "put": {"nodes": [{"id": "x", "kind": "host", "name": 7}]}}',
        "{" * 5000,
    ],
)
def test_nonsense_is_answered_and_changes_nothing(door: Server, text: str) -> None:
    with door.socket("/api/live") as socket:
        before = json.loads(socket.recv(PATIENCE_S))["document"]
        socket.send(text)
        answer = json.loads(socket.recv(PATIENCE_S))
        while "reply" not in answer:
            answer = json.loads(socket.recv(PATIENCE_S))
        assert "not a command" in answer["error"]["what"]
    with door.visit() as visitor:
        assert visitor.state["document"]["revision"] == before["revision"]


def test_names_and_labels_are_text_everywhere(door: Server) -> None:
    evil = "<script>alert(1)</script>"
    with door.visit() as visitor:
        label = {"id": "t1", "text": evil, "x": 1, "y": 1}
        visitor.do("edit", put={"labels": [label]}, label="Write")
        picture = door.get("/api/export/svg")
        assert "<script>" not in picture.text
        assert "&lt;script&gt;" in picture.text
        visitor.do("undo")


def test_only_this_computer_is_listened_to(door: Server) -> None:
    port = urlsplit(door.origin).port
    hexadecimal = f"0100007F:{port:04X}"
    listening = [
        line.split()[1]
        for line in Path("/proc/net/tcp").read_text().splitlines()[1:]
        if line.split()[3] == "0A" and line.split()[1].endswith(f":{port:04X}")
    ]
    assert listening == [hexadecimal]


def test_the_address_is_kept_from_other_users(door: Server) -> None:
    mode = (door.folder / ".wanlab" / "address").stat().st_mode
    assert stat.S_IMODE(mode) == 0o600
    assert door.token not in Path(f"/proc/{door.process.pid}/cmdline").read_text()


def test_a_page_cannot_show_files_outside_by_a_terminal(running: Visitor) -> None:
    (running.server.folder.parent / "secret.pdf").write_text(OUTSIDE)
    with running.terminal("h1") as terminal:
        terminal.until("# ")
        terminal.command("cp /etc/passwd /tmp/x.pdf; xdg-open /tmp/x.pdf; echo do''ne", "done\r\n")
        assert "show" not in running.state
        terminal.command("echo 1 > mine.pdf; xdg-open mine.pdf; echo do''ne", "done\r\n")
        running.until(lambda: "show" in running.state)
        assert running.state["show"]["path"] == "mine.pdf"
