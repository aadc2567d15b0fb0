"""A JupyterHub with its proxy for tests, below a path, whose users need no password."""

from __future__ import annotations

import contextlib
import ctypes
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Self
from urllib.parse import urlsplit

import httpx
import pytest
from dev.errors import DevError
from dev.ui import PACKAGES, node
from forks import SOURCE
from patience import PATIENCE_S
from process_tree import children, descendants
from web_client import Visitor, free_port, wait_until

from wanlab.errors import RequirementError
from wanlab.machine.embedded import find_image

PROXY = PACKAGES / "configurable-http-proxy" / "bin" / "configurable-http-proxy"
PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "jupyterhub.md"
TOKEN = "the-token-of-the-tests"
TRIES = 3
PR_SET_PDEATHSIG = 1
OVERRIDES = """
c = get_config()
load_subconfig({config!r})
c.JupyterHub.bind_url = "http://127.0.0.1:{port}{path}/"
c.JupyterHub.hub_port = {hub_port}
c.ConfigurableHTTPProxy.api_url = "http://127.0.0.1:{proxy_port}"
c.ConfigurableHTTPProxy.command = {proxy!r}
c.JupyterHub.authenticator_class = "dummy"
c.Authenticator.allow_all = True
c.JupyterHub.spawner_class = "simple"
c.SimpleLocalProcessSpawner.home_dir_template = {homes!r} + "/{{username}}"
# A busy computer is not a defect.
c.Spawner.start_timeout = c.Spawner.http_timeout = {patience}
c.LocalProcessSpawner.interrupt_timeout = {patience}
c.JupyterHub.tornado_settings = {{"slow_spawn_timeout": 0}}
c.Spawner.environment.update({environment!r})
c.JupyterHub.services.append({{"name": "tests", "api_token": {token!r}}})
scopes = ["admin:users", "admin:servers", "tokens", "proxy"]
c.JupyterHub.load_roles.append({{"name": "tests", "services": ["tests"], "scopes": scopes}})
"""


def require_hub() -> None:
    """Skip the test if there is no hub, which `./dev test` installs unless npm's registry is blocked."""
    if reason := _why_no_hub():
        is_required = "WANLAB_REQUIRE_KERNEL" in os.environ and "WANLAB_NO_PAGE" not in os.environ
        (pytest.fail if is_required else pytest.skip)(reason)


def _why_no_hub() -> str:
    try:
        node()
    except DevError as error:
        return str(error)
    if find_spec("jupyterhub") is None:
        return "jupyterhub is not installed: ./dev setup"
    return "" if PROXY.exists() else "the proxy of JupyterHub is not installed: ./dev ui"


def _end_with_parent() -> None:
    """Let the hub end, and with it all that it has started, even if the tests are killed."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)


def _kernel() -> dict[str, str]:
    """Return the variable that names our kernel: users have home folders of their own."""
    try:
        return {"WANLAB_KERNEL": str(find_image().folder)}
    except RequirementError:
        return {}


class HubUser(Visitor):
    """A browser of a user who has signed in to the hub; its requests are below `path`."""

    def __init__(self, hub: RunningHub, name: str, path: str) -> None:
        self.hub = hub
        self.name = name
        self.folder = hub.homes / name
        self.origin = hub.origin
        self.below = path
        with httpx.Client(follow_redirects=True, timeout=PATIENCE_S) as client:
            _log_in(client, f"{hub.url}/hub", name)
            self.page = client.get(f"{self.origin}{self.below}/")
            cookies = [it for it in client.cookies.jar if f"{path}/".startswith(it.path)]
        self.cookie = "; ".join(f"{it.name}={it.value}" for it in cookies)


def _log_in(client: httpx.Client, hub: str, name: str) -> None:
    form = re.search(r'name="_xsrf" value="([^"]+)"', client.get(f"{hub}/login").text)
    assert form is not None
    words = {"username": name, "password": "any", "_xsrf": form[1]}
    # Without `next`, the hub would start the user's laboratory, and wait for it.
    home = f"{urlsplit(hub).path}/home"
    answer = client.post(f"{hub}/login?next={home}", data=words)
    assert answer.is_success, answer.text


class RunningHub:
    """Runs a hub with a configuration, and adds what the tests need. Everything ends with it."""

    def __init__(self, place: Path, config: str, path: str = "") -> None:
        self.place = place
        self.path = path
        self.homes = place / "homes"
        self.homes.mkdir()
        self.log = place / "hub.log"
        (place / "config.py").write_text(config, encoding="utf-8")
        for _ in range(TRIES):  # another program may have taken a port
            self._start()
            if self._is_up():
                return
            self.end()
        raise AssertionError(self.log.read_text(encoding="utf-8"))

    def _start(self) -> None:
        port = free_port()
        self.origin = f"http://127.0.0.1:{port}"
        self.url = self.origin + self.path
        overrides = OVERRIDES.format(
            config=str(self.place / "config.py"),
            port=port,
            path=self.path,
            hub_port=free_port(),
            proxy_port=free_port(),
            proxy=[str(node()), str(PROXY)],
            homes=str(self.homes),
            patience=round(PATIENCE_S),
            token=TOKEN,
            environment=_kernel(),
        )
        (self.place / "overrides.py").write_text(overrides, encoding="utf-8")
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "jupyterhub", "-f", "overrides.py"],
                cwd=self.place,
                env={**os.environ, "PATH": path, "PYTHONPATH": str(SOURCE)},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                preexec_fn=_end_with_parent,
            )

    def _is_up(self) -> bool:
        """Wait until the hub answers through its proxy, or has ended."""
        end = time.monotonic() + PATIENCE_S
        while self.process.poll() is None and time.monotonic() < end:
            with contextlib.suppress(httpx.TransportError):
                if httpx.get(f"{self.url}/hub/health", timeout=PATIENCE_S).is_success:
                    return True
            time.sleep(0.1)
        return False

    def ask(self, method: str, path: str, **options: Any) -> httpx.Response:
        """Send a request to the hub's API, as an administrator."""
        headers = {"Authorization": f"token {TOKEN}"}
        url = f"{self.url}/hub/api{path}"
        return httpx.request(method, url, headers=headers, timeout=PATIENCE_S, **options)

    def start_laboratory(self, name: str) -> None:
        """Start the laboratory of a user, who is created if there is none."""
        self.ask("POST", f"/users/{name}")
        for _ in range(TRIES):  # another program may have taken its port
            self.ask("POST", f"/users/{name}/server")
            wait_until(lambda: not self.laboratory(name).get("pending"))
            if self.laboratory(name).get("ready"):
                return
        raise AssertionError(self.log.read_text(encoding="utf-8"))

    def laboratory(self, name: str) -> dict[str, Any]:
        """Return what the hub knows about the laboratory of a user; nothing if none runs."""
        user = self.ask("GET", f"/users/{name}").json()
        assert "servers" in user, user
        server: dict[str, Any] = user["servers"].get("", {})
        return server

    def student(self, name: str) -> HubUser:
        """Return a user with a laboratory, who has signed in and opened it."""
        self.start_laboratory(name)
        return HubUser(self, name, f"{self.path}/user/{name}")

    def end(self) -> None:
        """End the hub, its proxy and all that it has started."""
        below = descendants(self.process.pid)
        with contextlib.suppress(ProcessLookupError):
            self.process.terminate()
        self.process.wait(PATIENCE_S)
        for pid in below:  # none, unless the hub was killed
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()


class PrintedHub(RunningHub):
    """A hub with the configuration that the page about JupyterHub prints, but for folder and port."""

    def __init__(self, place: Path) -> None:
        (printed,) = re.findall(r"^```python\n(.*?)^```", PAGE.read_text("utf-8"), re.M | re.S)
        self.folder = place / "class"
        self.folder.mkdir()
        config = printed.replace("/srv/networks-2026", str(self.folder))
        super().__init__(place, config.replace("10101", str(free_port())))

    def laboratories(self) -> list[int]:
        """Return the ids of the processes of students' laboratories."""
        return [pid for pid, words in self._programs() if "--class-url " in words]

    def services(self) -> list[int]:
        """Return the ids of the processes of the class, one unless it is being restarted."""
        return [pid for pid, words in self._programs() if "--class " in words]

    def _programs(self) -> Iterable[tuple[int, str]]:
        return children(self.process.pid).items()
