"""Run laboratories in a real JupyterHub, behind its own proxy, and try to get at those of others."""

from __future__ import annotations

import time
from collections.abc import Iterator
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest
from class_client import TWO_HOSTS
from jupyter_hub import HubUser, RunningHub, require_hub
from patience import PATIENCE_S
from process_tree import descendants
from web_client import wait_until
from websockets.exceptions import InvalidStatus

from wanlab.web.jupyterhub.environment import HubEnvironment
from wanlab.web.jupyterhub.sign_in import admits

PATH = "/some/path"
CONFIG = """
c.Spawner.cmd = ["wanlab", "web", "--jupyterhub"]
c.Spawner.environment = {"JUPYTERHUB_ACTIVITY_INTERVAL": "1"}
"""
pytestmark = pytest.mark.costs(15)


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningHub]:
    require_hub()
    with RunningHub(tmp_path_factory.mktemp("hub"), CONFIG, PATH) as hub:
        yield hub


@pytest.fixture(scope="module")
def ada(hub: RunningHub) -> HubUser:
    return hub.student("ada")


@pytest.fixture(scope="module")
def bob(hub: RunningHub) -> HubUser:
    return hub.student("bob")


def status_of_socket(who: HubUser, **headers: str | None) -> int:
    try:
        with who.socket("/api/live", **headers):
            return 101
    except InvalidStatus as error:
        return error.response.status_code


def test_a_user_signs_in_and_uses_the_laboratory_below_its_path(ada: HubUser) -> None:
    assert str(ada.page.url) == f"{ada.origin}{PATH}/user/ada/"
    assert ada.page.status_code in (200, 503)  # 503: the page has not been built
    assert ada.get("/api/state").json()["folder"] == str(ada.folder)
    assert ada.ask("PUT", "/api/files/two.yaml", TWO_HOSTS.encode()).status_code == 200
    with ada.connect_client() as client:
        client.do("open", path="two.yaml")
        assert len(client.document["nodes"]) == 3
    assert ada.get("/documentation").headers.get("location", f"{PATH}/").startswith(f"{PATH}/")


@pytest.mark.machine
def test_networks_run_and_have_no_token_of_the_hub(ada: HubUser) -> None:
    (ada.folder / "two.yaml").write_text(TWO_HOSTS)
    with ada.connect_client() as client:
        client.do("open", path="two.yaml", discard=True)
        client.run()
        with client.terminal("h1") as terminal:
            shown = terminal.command("env; ping -c 1 10.0.0.2; echo do''ne", "done\r\n")
            assert " 0% packet loss" in shown
            assert "PATH=" in shown
            assert "TOKEN" not in shown
        client.stop()


def test_nobody_else_may_enter(hub: RunningHub, ada: HubUser, bob: HubUser) -> None:
    theirs = HubUser(hub, "bob", ada.below)  # the hub refuses to send him back with a code
    assert theirs.page.status_code == 403
    for cookie in ("", bob.cookie, theirs.cookie, "wanlab-hub=" + "0" * 48):
        for path in ("/api/state", "/api/files/two.yaml"):
            assert ada.get(path, cookie=cookie).status_code == 401
        page = ada.get("/", cookie=cookie)
        assert page.status_code == 302
        assert urlsplit(page.headers["location"]).path == f"{PATH}/hub/api/oauth2/authorize"
        assert status_of_socket(ada, cookie=cookie) == 403
    assert ada.get("/api/state", authorization="token wrong", cookie="").status_code == 403


def test_a_program_with_a_token_of_its_user_needs_no_cookie(
    hub: RunningHub, ada: HubUser, bob: HubUser
) -> None:
    tokens = {
        name: hub.ask("POST", f"/users/{name}/tokens", json={}).json()["token"]
        for name in ("ada", "bob")
    }
    words = {name: f"token {token}" for name, token in tokens.items()}
    assert ada.get("/api/state", cookie="", authorization=words["ada"]).status_code == 200
    assert ada.get("/api/state", cookie="", authorization=words["bob"]).status_code == 403


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://127.0.0.1:1"])
def test_a_page_of_another_origin_is_refused(ada: HubUser, origin: str) -> None:
    assert ada.ask("PUT", "/api/files/x.txt", b"x", origin=origin).status_code == 403
    assert status_of_socket(ada, origin=origin) == 403
    assert status_of_socket(ada, origin=None) == 403
    assert status_of_socket(ada) == 101
    embedded = {"sec_fetch_site": "cross-site", "sec_fetch_mode": "no-cors"}
    assert ada.get("/api/state", **embedded).status_code == 403


def test_a_code_works_only_in_the_browser_that_began(ada: HubUser) -> None:
    begun = ada.get("/", cookie="")
    (state,) = parse_qs(urlsplit(begun.headers["location"]).query)["state"]
    mine = begun.headers["set-cookie"].partition(";")[0]
    assert "HttpOnly" in begun.headers["set-cookie"]
    for cookie, query in (
        ("", f"state={state}&code=x"),
        (mine, "state=x&code=x"),
        (mine, "code=x"),
        (mine, f"state={state}&code=x"),  # the hub does not know this code
        (mine, f"state={state}"),
    ):
        answer = ada.get(f"/oauth_callback?{query}", cookie=cookie)
        assert answer.status_code == 403
        assert "set-cookie" not in answer.headers


def test_the_session_ends_with_that_of_the_hub(hub: RunningHub, ada: HubUser) -> None:
    other = "; ".join(
        "jupyterhub-session-id=x" if it.startswith("jupyterhub-session-id") else it
        for it in ada.cookie.split("; ")
    )
    assert other != ada.cookie
    assert ada.get("/api/state", cookie=other).status_code == 401
    assert ada.get("/api/state").status_code == 200


def test_behind_tls_cookies_are_secure(ada: HubUser) -> None:
    answer = ada.get("/", cookie="", x_forwarded_proto="https")
    assert "Secure" in answer.headers["set-cookie"]
    assert "Secure" not in ada.get("/", cookie="").headers["set-cookie"]


def test_paths_that_are_not_below_ours_are_refused(hub: RunningHub, ada: HubUser) -> None:
    where = hub.ask("GET", "/proxy").json()[f"{PATH}/user/ada/"]["data"]
    assert where["user"] == "ada"
    target = hub.ask("GET", "/proxy").json()[f"{PATH}/user/ada/"]["target"]
    for path in ("/api/state", "/", f"{PATH}/user/adam/", f"{PATH}/user/ada"):
        answer = httpx.get(target + path, headers={"cookie": ada.cookie}, timeout=PATIENCE_S)
        assert answer.status_code == 403


def test_the_hub_learns_when_a_page_was_last_open(hub: RunningHub, ada: HubUser) -> None:
    began = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime())
    with ada.connect_client():
        wait_until(lambda: hub.laboratory("ada")["last_activity"] >= began)


def test_the_hub_ends_a_laboratory_and_it_leaves_nothing(hub: RunningHub, bob: HubUser) -> None:
    bob.ask("PUT", "/api/files/two.yaml", TWO_HOSTS.encode())
    with bob.connect_client() as client:
        client.do("open", path="two.yaml")
    before = descendants(hub.process.pid)
    hub.ask("DELETE", "/users/bob/server")
    wait_until(lambda: not hub.laboratory("bob"))
    assert len(descendants(hub.process.pid)) < len(before)
    assert (bob.folder / ".wanlab" / "address").read_text() == ""
    again = hub.student("bob")
    with again.connect_client() as client:
        assert client.state["file"]["path"] == "two.yaml"


def test_only_a_hub_can_start_this_command() -> None:
    with pytest.raises(Exception, match="needs the variable JUPYTERHUB_SERVICE_URL"):
        HubEnvironment.read({})
    with pytest.raises(Exception, match="internal_ssl"):
        HubEnvironment.read({"JUPYTERHUB_SSL_CERTFILE": "x"})


@pytest.mark.parametrize(
    ("held", "is_admitted"),
    [
        ("access:servers", True),
        ("access:servers!user=ada", True),
        ("access:servers!server=ada/", True),
        ("access:servers!server=bob/", False),
        ("access:servers!user=adam", False),
        ("access:services", False),
        ("", False),
    ],
)
def test_a_scope_includes_narrower_ones(held: str, is_admitted: bool) -> None:
    assert admits(["access:servers!server=ada/"], [held]) == is_admitted
    assert not admits([], [held])
