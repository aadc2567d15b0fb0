"""A JupyterHub with its proxy for tests, below a path, whose users need no password."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Self

import httpx
from dev.errors import DevError
from dev.ui import PACKAGES, node
from forks import SOURCE
from patience import PATIENCE_S
from process_tree import descendants
from web_client import Visitor, free_port, wait_until

from wanlab.errors import RequirementError
from wanlab.machine.embedded import find_image

PROXY = PACKAGES / "configurable-http-proxy" / "bin" / "configurable-http-proxy"
PATH = "/some/path"
TOKEN = "the-token-of-the-tests"
TRIES = 3
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
c.JupyterHub.tornado_settings = {{"slow_spawn_timeout": 0}}
c.Spawner.environment.update({environment!r})
c.JupyterHub.services.append({{"name": "tests", "api_token": {token!r}}})
scopes = ["admin:users", "admin:servers", "tokens", "proxy"]
c.JupyterHub.load_roles.append({{"name": "tests", "services": ["tests"], "scopes": scopes}})
"""


def why_no_hub() -> str:
    """Return what is missing for a hub; "" if nothing is."""
    try:
        node()
    except DevError as error:
        return str(error)
    if find_spec("jupyterhub") is None:
        return "jupyterhub is not installed: ./dev setup"
    return "" if PROXY.exists() else "the proxy of JupyterHub is not installed: ./dev ui"


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
    # After signing in, the hub would start the user's laboratory, and wait for it.
    answer = client.post(f"{hub}/login?next={PATH}/hub/home", data=words)
    assert answer.is_success, answer.text


class RunningHub:
    """Runs a hub with a configuration, and adds what the tests need. Everything ends with it."""

    def __init__(self, place: Path, config: str) -> None:
        self.place = place
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
        self.url = self.origin + PATH
        overrides = OVERRIDES.format(
            config=str(self.place / "config.py"),
            port=port,
            path=PATH,
            hub_port=free_port(),
            proxy_port=free_port(),
            proxy=[str(node()), str(PROXY)],
            homes=str(self.homes),
            patience=PATIENCE_S,
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
        return HubUser(self, name, f"{PATH}/user/{name}")

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
