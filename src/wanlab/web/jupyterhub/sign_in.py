"""Sign in by a JupyterHub: the rules of its `HubOAuth`, checked before any route.

A browser without a session is sent to the hub, which knows its user and sends it back with a code. The
server exchanges the code for a token, asks the hub whose token that is, and gives the browser a cookie.

cookie    HttpOnly, SameSite=Lax, below our path. Not Strict: the hub may ask another site who that is
state     random, in a cookie and in the URL that comes back: nobody signs another browser in
verifier  random, in the same cookie; only who has it can use the code (PKCE, RFC 7636)
scopes    the user must have one that admits to this server; asked again every CHECK_REAL_S
session   ends with the user's session at the hub, of which browsers show us the id
token     programs send one in `Authorization`, and need no cookie

Servers of one hub have the same origin, unless it gives each a host name. So Origin and Sec-Fetch-Site,
which are checked as without a hub, do not keep out a page that another user's server has made.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
import time
from collections.abc import Iterable
from dataclasses import dataclass
from html import escape
from urllib.parse import parse_qs, urlencode

from starlette.datastructures import Headers
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from ..server.auth import (
    FORBIDDEN_PAGE,
    SAFE_METHODS,
    answer,
    cookie_in,
    forbidden,
    new_token,
    policy_for,
    refuse_other_sites,
    usual_headers,
    with_headers,
)
from .environment import HubEnvironment
from .hub_api import VERSION_HEADER, HubApi, HubUnavailableError, HubUser

COOKIE, STATE_COOKIE = "wanlab-hub", "wanlab-sign-in"
HUB_SESSION_COOKIE = "jupyterhub-session-id"
CHECK_REAL_S = 300.0
SIGN_IN_REAL_S = 600
MAX_SESSIONS = 2000
HOST = re.compile(r"[a-z0-9.-]+(:[0-9]+)?|\[[0-9a-f:]+\](:[0-9]+)?")
AGAIN = 'You were not signed in: <a href="{}">try again</a>.'
NO_ACCESS = "{} has no access to this page of wanlab."


@dataclass
class Session:
    """A browser that has signed in. `hub_session` is the id of its session at the hub."""

    user: HubUser
    token: str
    hub_session: str | None
    checked_s: float


class HubSignIn:
    """ASGI middleware: pass requests of users who may use the server on to `app`.

    The scope of these requests has the user, a `HubUser`, as "hub_user".
    """

    def __init__(self, app: ASGIApp, environment: HubEnvironment, api: HubApi) -> None:
        self._app = app
        self._environment = environment
        self._api = api
        self._home = f"{environment.path}/"
        self._sessions: dict[bytes, Session] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        host = headers.get("host", "").lower()
        sockets = [(host, "http"), (host, "https")] if HOST.fullmatch(host) else []
        # The hub's proxy keeps connections, and would use one that we are about to close.
        usual = usual_headers(policy_for(sockets), closes=True)
        usual[VERSION_HEADER] = self._api.version
        sending = with_headers(send, usual)
        found = await self._find_user({**scope, "root_path": self._environment.path}, headers)
        if isinstance(found, Response):
            await answer(found, scope, receive, sending)
        else:
            inner = {**scope, "root_path": self._environment.path, "hub_user": found}
            await self._app(inner, receive, sending)

    async def _find_user(self, scope: Scope, headers: Headers) -> HubUser | Response:
        """Return the user of a request, or the response that refuses it or leads to the hub."""
        path, is_page = scope["path"], self._is_page(scope)
        if not path.startswith(self._home):
            return forbidden(f"wanlab is at {escape(self._home)}.")
        try:
            if token := _token_in(headers):
                return await self._user_of(token) or forbidden("The hub does not know this token.")
            is_callback = path == self._environment.callback_path and scope["type"] == "http"
            host = headers.get("host", "").lower()
            ours = {f"http://{host}", f"https://{host}"}
            is_linked = is_page or is_callback
            if refusal := refuse_other_sites(scope, headers, ours, is_page=is_linked):
                return refusal
            if is_callback:
                return await self._finish(scope, headers)
            if user := await self._user_of_session(headers):
                return user
        except HubUnavailableError as error:
            return HTMLResponse(FORBIDDEN_PAGE.format(escape(str(error))), 503)
        return self._begin(headers) if is_page else _signed_out()

    def _is_page(self, scope: Scope) -> bool:
        is_get = scope["type"] == "http" and scope["method"] in SAFE_METHODS
        return is_get and scope["path"] == self._home

    # -- signing in -------------------------------------------------------------------------------

    def _begin(self, headers: Headers) -> Response:
        """Lead a browser to the hub."""
        state, verifier = new_token(), new_token()
        digest = hashlib.sha256(verifier.encode()).digest()
        query = {
            "client_id": self._environment.client_id,
            "redirect_uri": self._environment.callback_url,
            "response_type": "code",
            "state": state,
            "code_challenge": base64.urlsafe_b64encode(digest).decode().rstrip("="),
            "code_challenge_method": "S256",
        }
        url = f"{self._environment.sign_in_url}?{urlencode(query)}"
        response = RedirectResponse(url, status_code=302)
        name = _state_cookie(state)
        self._set_cookie(response, headers, name, f"{state}.{verifier}", SIGN_IN_REAL_S)
        return response

    async def _finish(self, scope: Scope, headers: Headers) -> Response:
        """Give a browser that comes from the hub its cookie, and lead it to our page."""
        query = parse_qs(scope["query_string"].decode("latin-1"))
        (state, *_), (code, *_) = query.get("state", [""]), query.get("code", [""])
        name = _state_cookie(state)
        ours, _, verifier = (cookie_in(headers.getlist("cookie"), name) or "").partition(".")
        if not ours or not hmac.compare_digest(ours.encode(), state.encode()):
            return forbidden(AGAIN.format(escape(self._home)))
        token = await self._api.token_for(code, verifier)
        user = await self._api.user_of(token) if token else None
        if token is None or user is None:
            return forbidden(AGAIN.format(escape(self._home)))
        if not self._may_enter(user):
            return forbidden(NO_ACCESS.format(escape(user.name)))
        cookie = new_token()
        self._keep(cookie, Session(user, token, _hub_session_in(headers), time.monotonic()))
        response = RedirectResponse(self._home, status_code=302)
        self._set_cookie(response, headers, COOKIE, cookie, None)
        response.delete_cookie(name, path=self._home)
        return response

    def _set_cookie(
        self, response: Response, headers: Headers, name: str, value: str, max_age: int | None
    ) -> None:
        is_secure = headers.get("x-forwarded-proto", "").partition(",")[0].strip() == "https"
        response.set_cookie(
            name,
            value,
            max_age=max_age,
            path=self._home,
            httponly=True,
            samesite="lax",
            secure=is_secure,
        )

    # -- sessions ---------------------------------------------------------------------------------

    def _keep(self, cookie: str, session: Session) -> None:
        while len(self._sessions) >= MAX_SESSIONS:
            del self._sessions[next(iter(self._sessions))]
        self._sessions[_digest(cookie)] = session

    async def _user_of_session(self, headers: Headers) -> HubUser | None:
        """Return the user whose session a browser's cookie belongs to."""
        key = _digest(cookie_in(headers.getlist("cookie"), COOKIE) or "")
        session = self._sessions.get(key)
        if session is None or session.hub_session != _hub_session_in(headers):
            return None
        if time.monotonic() - session.checked_s > CHECK_REAL_S:
            session.checked_s = time.monotonic()
            # A hub that is being restarted ends no sessions.
            try:
                user = await self._user_of(session.token)
            except HubUnavailableError:
                return session.user
            if user is None:
                self._sessions.pop(key, None)
                return None
            session.user = user
        return session.user

    async def _user_of(self, token: str) -> HubUser | None:
        """Return the user of a token, if the hub lets them use this server."""
        user = await self._api.user_of(token)
        return user if user is not None and self._may_enter(user) else None

    def _may_enter(self, user: HubUser) -> bool:
        return admits(self._environment.access_scopes, user.scopes)


def _signed_out() -> Response:
    """Return the answer to a request that only the page could make after signing in again."""
    return HTMLResponse(
        FORBIDDEN_PAGE.format("You are not signed in."),
        status_code=401,
        headers={"WWW-Authenticate": "Bearer"},
    )


def admits(wanted: Iterable[str], held: Iterable[str]) -> bool:
    """Return whether a held scope is, or includes, one that is wanted.

    A scope without a filter includes those with one, and that of a user those of the user's servers:
    "access:servers!user=ada" includes "access:servers!server=ada/".
    """
    return any(including & {*held} for including in map(_scopes_including, wanted))


def _scopes_including(scope: str) -> set[str]:
    name, _, only = scope.partition("!")
    kind, _, server = only.partition("=")
    users = {f"{name}!user={server.partition('/')[0]}"} if kind == "server" else set()
    return {scope, name, *users}


def _token_in(headers: Headers) -> str:
    """Return the token of a program, or ""."""
    scheme, _, token = headers.get("authorization", "").partition(" ")
    return token.strip() if scheme.lower() in ("bearer", "token") else ""


def _state_cookie(state: str) -> str:
    """Return the name of the cookie for a sign-in: there may be one in each tab."""
    return f"{STATE_COOKIE}-{hashlib.sha256(state.encode()).hexdigest()[:8]}"


def _hub_session_in(headers: Headers) -> str | None:
    return cookie_in(headers.getlist("cookie"), HUB_SESSION_COOKIE)


def _digest(cookie: str) -> bytes:
    """Return the digest by which a session is looked up: timing then reveals nothing about cookies."""
    return hashlib.sha256(cookie.encode()).digest()
