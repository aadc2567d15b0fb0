"""Attack the server; all attacks, which docs/evidence/attacks.md lists, must fail."""

import contextlib
import json
import socket
import stat
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest
from patience import PATIENCE_S
from web_client import Server, WebClient, wait_until
from websockets.exceptions import InvalidStatus

OUTSIDE = "the secret of another folder"
PATHS = ("/", "/api/state", "/api/files", "/api/files/two.yaml", "/api/export/mn", "/api/lessons")


def is_refused(server: Server, path: str, **headers: str | None) -> bool:
    try:
        with server.socket(path, **headers):
            return False
    except InvalidStatus as error:
        return error.response.status_code == 403


# -- without the cookie -----------------------------------------------------------------------------


@pytest.mark.parametrize("path", PATHS)
def test_without_the_cookie_nothing_is_served(shared_server: Server, path: str) -> None:
    assert shared_server.get(path, cookie="").status_code == 403
    assert shared_server.get(path).status_code in (200, 503)  # 503: the page has not been built


@pytest.mark.parametrize("token", ["", "0" * 48, "' or 1=1", "%00", "é"])
def test_a_wrong_token_is_refused(shared_server: Server, token: str) -> None:
    answer = shared_server.get(f"/?token={token}", cookie="")
    assert answer.status_code == 403
    assert "set-cookie" not in answer.headers


def test_two_tokens_are_refused(shared_server: Server) -> None:
    assert shared_server.get(f"/?token={shared_server.token}&token=x", cookie="").status_code == 403


def test_the_token_does_not_work_as_a_cookie(shared_server: Server) -> None:
    name = shared_server.cookie.partition("=")[0]
    assert (
        shared_server.get("/api/state", cookie=f"{name}={shared_server.token}").status_code == 403
    )


def test_a_second_cookie_of_that_name_does_not_help(shared_server: Server) -> None:
    name = shared_server.cookie.partition("=")[0]
    assert shared_server.get("/api/state", cookie=f"{name}=x; {name}=y").status_code == 403


def test_the_cookie_stays_in_the_browser_and_on_this_site(shared_server: Server) -> None:
    answer = shared_server.get(f"/?token={shared_server.token}", cookie="")
    cookie = answer.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    assert str(urlsplit(shared_server.origin).port) in cookie.partition("=")[0]
    assert answer.headers["referrer-policy"] == "no-referrer"


def test_websockets_need_the_cookie(shared_server: Server) -> None:
    assert is_refused(shared_server, "/api/live", cookie=None)
    assert is_refused(shared_server, "/api/terminals/t1", cookie=None)
    assert not is_refused(shared_server, "/api/live")


def test_every_server_has_its_own_token_and_cookie(shared_server: Server, server: Server) -> None:
    assert len(shared_server.token) >= 32
    assert shared_server.token != server.token
    cookie = f"{server.cookie.partition('=')[0]}={shared_server.cookie.partition('=')[2]}"
    assert server.get("/api/state", cookie=cookie).status_code == 403


# -- other pages ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", ["evil.example", "evil.example:{port}", "127.0.0.1", "0.0.0.0:{port}"]
)
def test_another_name_for_this_computer_is_refused(shared_server: Server, name: str) -> None:
    host = name.format(port=urlsplit(shared_server.origin).port)
    assert shared_server.get("/api/state", host=host).status_code == 403
    assert shared_server.get(f"/?token={shared_server.token}", host=host).status_code == 403
    assert is_refused(shared_server, "/api/live", host=host, origin=f"http://{host}")


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", "https://127.0.0.1:{port}", "http://127.0.0.1:1"]
)
def test_a_page_of_another_origin_is_refused(shared_server: Server, origin: str) -> None:
    origin = origin.format(port=urlsplit(shared_server.origin).port)
    assert is_refused(shared_server, "/api/live", origin=origin)
    assert is_refused(shared_server, "/api/terminals/t1", origin=origin)
    assert shared_server.get("/api/state", origin=origin).status_code == 403
    assert shared_server.ask("PUT", "/api/files/x.txt", b"x", origin=origin).status_code == 403
    assert not (shared_server.folder / "x.txt").exists()


def test_a_request_without_an_origin_changes_nothing(shared_server: Server) -> None:
    assert is_refused(shared_server, "/api/live", origin=None)
    answer = httpx.put(
        f"{shared_server.origin}/api/files/x.txt",
        content=b"x",
        headers={"cookie": shared_server.cookie},
    )
    assert answer.status_code == 403
    assert not (shared_server.folder / "x.txt").exists()


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_another_page_cannot_embed_pictures_or_scripts(shared_server: Server, site: str) -> None:
    """Other servers on this computer are the same site, so their pages' requests carry the cookie."""
    for mode, purpose in (("no-cors", "image"), ("no-cors", "script"), ("navigate", "iframe")):
        headers = {"sec_fetch_site": site, "sec_fetch_mode": mode, "sec_fetch_dest": purpose}
        for path in PATHS:
            assert shared_server.get(path, **headers).status_code == 403


def test_a_link_on_another_page_opens_the_page(shared_server: Server) -> None:
    headers = {
        "sec_fetch_site": "cross-site",
        "sec_fetch_mode": "navigate",
        "sec_fetch_dest": "document",
    }
    answer = shared_server.get(f"/?token={shared_server.token}", cookie="", **headers)
    assert answer.status_code == 200
    # Browsers send a strict cookie only with requests of our own pages.
    assert 'url=/"' in answer.text
    assert "set-cookie" in answer.headers
    assert shared_server.get("/api/state", **headers).status_code == 403


def test_headers_admit_no_other_origin(shared_server: Server) -> None:
    for path in PATHS:
        answer = shared_server.get(path)
        assert "access-control-allow-origin" not in answer.headers
        assert answer.headers["cross-origin-resource-policy"] == "same-origin"
        assert answer.headers["x-content-type-options"] == "nosniff"
    preflight = shared_server.ask("OPTIONS", "/api/files/x.txt", origin="http://evil.example")
    assert preflight.status_code == 403


def test_the_page_runs_only_its_own_scripts(shared_server: Server) -> None:
    policy = shared_server.get("/").headers["content-security-policy"]
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    assert rules["default-src"] == "'none'"
    assert rules["script-src"] == "'self'"
    assert rules["frame-ancestors"] == "'self'"
    assert rules["base-uri"] == "'none'"


# -- paths ------------------------------------------------------------------------------------------


@pytest.fixture
def secret(shared_server: Server) -> Path:
    path = shared_server.folder.parent / "secret.txt"
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
def test_no_path_leads_outside_the_folder(shared_server: Server, secret: Path, path: str) -> None:
    assert secret.exists()
    assert shared_server.raw(f"/api/files/{path}") in (400, 404)
    assert shared_server.ask("PUT", f"/api/files/{path}", b"changed").status_code in (400, 404)
    assert secret.read_text() == OUTSIDE


@pytest.mark.parametrize("under", ["..", "/", "/etc", "%2e%2e", ".wanlab", "../lab/../.."])
def test_only_folders_inside_are_listed(shared_server: Server, under: str) -> None:
    answer = shared_server.get(f"/api/files?under={under}")
    names = {it["name"] for it in answer.json().get("files", ())}
    assert answer.status_code in (400, 404) or names == {"two.yaml"}


def test_a_symbolic_link_does_not_lead_outside(shared_server: Server, secret: Path) -> None:
    (shared_server.folder / "link.txt").symlink_to(secret)
    (shared_server.folder / "up").symlink_to(secret.parent)
    (shared_server.folder / "notes").symlink_to(shared_server.folder / ".wanlab")
    (shared_server.folder / "round").symlink_to("round")
    try:
        for path in ("link.txt", "up/secret.txt", "notes/address", "round"):
            assert shared_server.get(f"/api/files/{path}").status_code == 404
            assert shared_server.ask("PUT", f"/api/files/{path}", b"changed").status_code == 404
        listed = {it["name"] for it in shared_server.get("/api/files").json()["files"]}
        assert listed == {"two.yaml"}
        assert secret.read_text() == OUTSIDE
    finally:
        for name in ("link.txt", "up", "notes", "round"):
            (shared_server.folder / name).unlink()


@pytest.mark.parametrize(
    "path", ["../stolen.mn", "/tmp/stolen.mn", ".wanlab/draft.json", "a/../../b.mn"]
)
def test_nothing_outside_is_opened_or_saved(shared_server: Server, path: str) -> None:
    with shared_server.connect_client() as client:
        for what in ("save", "open"):
            with pytest.raises(Exception, match="not a path in the working folder"):
                client.do(what, path=path)
    assert not (shared_server.folder.parent / "stolen.mn").exists()


# -- too much, and nonsense -------------------------------------------------------------------------


def test_an_upload_has_a_limit(shared_server: Server) -> None:
    answer = shared_server.ask("PUT", "/api/files/large.bin", b"x" * (17 << 20))
    assert answer.status_code == 400
    assert "larger" in answer.json()["what"]
    assert not (shared_server.folder / "large.bin").exists()
    assert shared_server.ask("PUT", "/api/files/small.bin", b"x" * (1 << 20)).status_code == 200
    (shared_server.folder / "small.bin").unlink()


@contextlib.contextmanager
def stalled_uploads(server: Server, count: int, sent: bytes) -> Iterator[list[socket.socket]]:
    """Begin uploads of one byte more than is sent."""
    address = urlsplit(server.origin)
    request = (
        f"PUT /api/files/slow.bin HTTP/1.1\r\nHost: {address.netloc}\r\n"
        f"Cookie: {server.cookie}\r\nOrigin: {server.origin}\r\n"
        f"Content-Length: {len(sent) + 1}\r\nConnection: close\r\n\r\n"
    ).encode()
    with contextlib.ExitStack() as connections:
        uploads = []
        for _ in range(count):
            upload = socket.create_connection((address.hostname, address.port or 80), PATIENCE_S)
            connections.enter_context(upload)
            upload.sendall(request + sent)
            assert server.get("/api/state").status_code == 200  # it has begun
            uploads.append(upload)
        yield uploads


def test_uploads_that_stall_do_not_block_others(shared_server: Server) -> None:
    with stalled_uploads(shared_server, 10, b"x") as uploads:
        assert shared_server.ask("PUT", "/api/files/fast.bin", b"x" * 1000).status_code == 200
        uploads[0].sendall(b"y")
        assert uploads[0].recv(100).startswith(b"HTTP/1.1 200")
    for name in ("fast.bin", "slow.bin"):
        (shared_server.folder / name).unlink()


def test_uploads_use_a_limited_amount_of_memory(shared_server: Server) -> None:
    with stalled_uploads(shared_server, 4, b"x" * (15 << 20)):

        def upload() -> httpx.Response:
            return shared_server.ask("PUT", "/api/files/fifth.bin", b"x" * (5 << 20))

        # On a busy computer, the server may not have received what was sent before.
        wait_until(lambda: (answer := upload()).status_code == 400 and "too many" in answer.text)
        assert shared_server.ask("PUT", "/api/files/fast.bin", b"x" * 1000).status_code == 200
    (shared_server.folder / "fast.bin").unlink()
    (shared_server.folder / "fifth.bin").unlink(missing_ok=True)
    wait_until(lambda: shared_server.ask("PUT", "/api/files/x.bin", bytes(15 << 20)).is_success)
    (shared_server.folder / "x.bin").unlink()


def test_a_html_file_of_the_folder_runs_no_scripts(shared_server: Server) -> None:
    (shared_server.folder / "evil.html").write_text("<script>fetch('/api/state')</script>")
    (shared_server.folder / "evil.svg").write_text(
        "<svg xmlns='http://www.w3.org/2000/svg'><script/></svg>"
    )
    (shared_server.folder / "evil.js").write_text("alert(1)")
    try:
        for name in ("evil.html", "evil.svg"):
            policy = shared_server.get(f"/api/files/{name}").headers["content-security-policy"]
            assert policy.startswith("sandbox; default-src 'none'")
        answer = shared_server.get("/api/files/evil.js")
        assert answer.headers["content-disposition"].startswith("attachment")
    finally:
        for name in ("evil.html", "evil.svg", "evil.js"):
            (shared_server.folder / name).unlink()


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
def test_an_invalid_command_is_refused_and_changes_nothing(
    shared_server: Server, text: str
) -> None:
    with shared_server.socket("/api/live") as socket:
        before = json.loads(socket.recv(PATIENCE_S))["document"]
        socket.send(text)
        answer = json.loads(socket.recv(PATIENCE_S))
        while "reply" not in answer:
            answer = json.loads(socket.recv(PATIENCE_S))
        assert "not a command" in answer["error"]["what"]
    with shared_server.connect_client() as client:
        assert client.state["document"]["revision"] == before["revision"]


def test_names_and_labels_are_text_everywhere(shared_server: Server) -> None:
    evil = "<script>alert(1)</script>"
    with shared_server.connect_client() as client:
        label = {"id": "t1", "text": evil, "x": 1, "y": 1}
        client.do("edit", put={"labels": [label]}, label="Write")
        picture = shared_server.get("/api/export/svg")
        assert "<script>" not in picture.text
        assert "&lt;script&gt;" in picture.text
        client.do("undo")


def test_the_server_listens_on_the_loopback_address_only(shared_server: Server) -> None:
    port = urlsplit(shared_server.origin).port
    hexadecimal = f"0100007F:{port:04X}"
    listening = [
        line.split()[1]
        for line in Path("/proc/net/tcp").read_text().splitlines()[1:]
        if line.split()[3] == "0A" and line.split()[1].endswith(f":{port:04X}")
    ]
    assert listening == [hexadecimal]


def test_other_users_cannot_read_the_address(shared_server: Server) -> None:
    mode = (shared_server.folder / ".wanlab" / "address").stat().st_mode
    assert stat.S_IMODE(mode) == 0o600
    assert shared_server.token not in Path(f"/proc/{shared_server.process.pid}/cmdline").read_text()


def test_a_terminal_cannot_show_files_outside(running: WebClient) -> None:
    (running.server.folder.parent / "secret.pdf").write_text(OUTSIDE)
    with running.terminal("h1") as terminal:
        terminal.until("# ")
        terminal.command("cp /etc/passwd /tmp/x.pdf; xdg-open /tmp/x.pdf; echo do''ne", "done\r\n")
        assert "show" not in running.state
        terminal.command("echo 1 > mine.pdf; xdg-open mine.pdf; echo do''ne", "done\r\n")
        running.until(lambda: "show" in running.state)
        assert running.state["show"]["path"] == "mine.pdf"
