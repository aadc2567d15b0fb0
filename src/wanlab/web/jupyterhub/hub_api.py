"""Questions to a JupyterHub, over its REST API."""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlencode

import msgspec

from wanlab.errors import WanlabError
from wanlab.json_text import decode_json

from .environment import HubEnvironment

TIMEOUT_REAL_S = 20.0
THREADS = 4
MAX_REPLY_BYTES = 1 << 20
VERSION_HEADER = "X-JupyterHub-Version"
FORM = "application/x-www-form-urlencoded"
JSON = "application/json"


class HubUser(msgspec.Struct, frozen=True):
    """A user of the hub, with the scopes of the token that identified them."""

    name: str
    kind: str = "user"
    groups: tuple[str, ...] = ()
    scopes: tuple[str, ...] = ()


class _IssuedToken(msgspec.Struct):
    access_token: str


USER = msgspec.json.Decoder(HubUser)
ISSUED_TOKEN = msgspec.json.Decoder(_IssuedToken)


class HubUnavailableError(WanlabError):
    """The hub does not answer."""

    def __init__(self, reason: object) -> None:
        super().__init__(f"the JupyterHub does not answer: {reason}", "try again in a minute")


class _RefusedError(Exception):
    """The hub has refused a request."""


class HubApi:
    """Asks the hub with the token of our server. HubUnavailableError if there is no answer."""

    def __init__(self, environment: HubEnvironment) -> None:
        self._environment = environment
        self._opener = direct_opener()
        self._threads = ThreadPoolExecutor(THREADS, "jupyterhub")
        self.version = ""
        """Of the hub, known after `check`."""

    async def check(self) -> None:
        """Find the version of the hub."""
        _, self.version = await self._ask(self._environment.api_url)

    async def user_of(self, token: str) -> HubUser | None:
        """Return the user of a token; None if the hub does not know it."""
        url, headers = f"{self._environment.api_url}/user", authorized(token)
        try:
            reply, _ = await self._ask(url, headers=headers)
        except _RefusedError:
            return None
        return decode_json(reply, USER)

    async def token_for(self, code: str, verifier: str) -> str | None:
        """Return the token for the code that a browser has brought back from the hub, or None."""
        form = {
            "client_id": self._environment.client_id,
            "client_secret": self._environment.token,
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": self._environment.callback_url,
            "code_verifier": verifier,
        }
        url = f"{self._environment.api_url}/oauth2/token"
        try:
            reply, _ = await self._ask(url, urlencode(form).encode(), {"Content-Type": FORM})
        except _RefusedError:
            return None
        return decode_json(reply, ISSUED_TOKEN).access_token

    async def note_activity(self, at_s: float) -> None:
        """Report when the server was last in use, in seconds since the epoch."""
        at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(at_s))
        name = self._environment.server_name
        body = {"servers": {name: {"last_activity": at}}, "last_activity": at}
        headers = {"Content-Type": JSON, **authorized(self._environment.token)}
        with contextlib.suppress(_RefusedError):
            await self._ask(self._environment.activity_url, msgspec.json.encode(body), headers)

    async def _ask(
        self, url: str, body: bytes | None = None, headers: Mapping[str, str] | None = None
    ) -> tuple[bytes, str]:
        """Return the hub's reply, and its version."""
        request = urllib.request.Request(url, body, dict(headers or {}))
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._threads, self._fetch, request)

    def _fetch(self, request: urllib.request.Request) -> tuple[bytes, str]:
        try:
            with self._opener.open(request, timeout=TIMEOUT_REAL_S) as reply:
                return reply.read(MAX_REPLY_BYTES), reply.headers.get(VERSION_HEADER, "")
        except urllib.error.HTTPError as error:
            error.close()
            if error.code < 500:
                raise _RefusedError(error.code) from None
            raise HubUnavailableError(f"status {error.code}") from None
        except (OSError, http.client.HTTPException) as error:
            raise HubUnavailableError(error) from None

    def close(self) -> None:
        """Ask nothing more."""
        self._threads.shutdown(wait=False, cancel_futures=True)


def authorized(token: str) -> dict[str, str]:
    """Return the header that carries a token."""
    return {"Authorization": f"Bearer {token}"}


def direct_opener() -> urllib.request.OpenerDirector:
    """Return an opener for the hub and its services.

    They are on this computer, or on the same inner network, where a web proxy has no part.
    """
    return urllib.request.build_opener(urllib.request.ProxyHandler({}))
