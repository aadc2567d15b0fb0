"""Who may come in: the rules of Jupyter's, before any route.

token     random, in the URL that the program prints; it buys the cookie, once the address is right
cookie    HttpOnly, SameSite=Strict; its name has the port, for cookies do not tell ports apart
Host      must be ours: a name that somebody else's DNS has led here is another one (DNS rebinding)
Origin    of WebSockets and of all that changes something must be ours; where else there is one, too
Sec-Fetch-Site   other programs' pages on this computer are the same "site" to a browser, and their
          requests bring our cookie: refused, but for following a link to the page itself

Answers carry a policy that lets nothing of another origin in, no page around ours, and no type be
guessed. Files of the working folder are data: what a page among them would run is switched off.
"""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Iterable
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qs

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

NAMES = ("127.0.0.1", "localhost")
SAFE_METHODS = ("GET", "HEAD")
COMMON_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "SAMEORIGIN",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
NOBODY = "<!doctype html><meta charset=utf-8><title>wanlab</title><p>{}</p>"
ONWARD = '<!doctype html><meta http-equiv="refresh" content="0; url=/"><title>wanlab</title>'
NO_COOKIE = (
    "This laboratory opens with the address that <code>wanlab web</code> printed, "
    "with its <code>token=</code>."
)


class AuthMiddleware:
    """An application around the one that does the work. `close_code` of a refused WebSocket: 403."""

    def __init__(self, app: ASGIApp, *, port: int, token: str = "") -> None:
        self._app = app
        self.token = token or secrets.token_hex(24)
        self._cookie_name = f"wanlab-{port}"
        self._secret = secrets.token_hex(24)
        self.port = port
        self._hosts = {f"{name}:{port}" for name in NAMES}
        if port == 80:
            self._hosts |= set(NAMES)
        self._policy = _policy(self._hosts)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/?token={self.token}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        answer = self._refusal(scope, headers)
        if answer is None and scope["type"] == "http":
            answer = self._entrance(scope, headers)
        if answer is None and not self._has_cookie(headers):
            answer = _nobody(NO_COOKIE)
        if answer is None:
            await self._app(scope, receive, self._with_headers(send))
        elif scope["type"] == "websocket":
            await receive()
            await send({"type": "websocket.close", "code": 1008, "reason": "refused"})
        else:
            await answer(scope, receive, self._with_headers(send))

    def _refusal(self, scope: Scope, headers: Headers) -> Response | None:
        """Whom we do not even ask for a token."""
        hosts = headers.getlist("host")
        if len(hosts) != 1 or hosts[0].lower() not in self._hosts:
            return _nobody("This is no name of this laboratory.")
        is_safe = scope["type"] == "http" and scope["method"] in SAFE_METHODS
        origins = headers.getlist("origin")
        if any(origin.lower() != f"http://{hosts[0].lower()}" for origin in origins):
            return _nobody("Another page has asked for this.")
        if not is_safe and len(origins) != 1:
            return _nobody("Nobody says which page asks for this.")
        site = headers.get("sec-fetch-site", "none")
        is_visit = (
            is_safe
            and scope["path"] == "/"
            and headers.get("sec-fetch-mode") == "navigate"
            and headers.get("sec-fetch-dest") == "document"
        )
        if site not in ("none", "same-origin") and not is_visit:
            return _nobody("Another page has asked for this.")
        return None

    def _entrance(self, scope: Scope, headers: Headers) -> Response | None:
        """The way from token to cookie."""
        given = parse_qs(scope["query_string"].decode("latin-1")).get("token")
        if scope["path"] != "/" or given is None:
            return None
        if len(given) != 1 or not _is_same(given[0], self.token):
            return _nobody("This is not the token of this laboratory. " + NO_COOKIE)
        answer: Response = RedirectResponse("/", status_code=303)
        if headers.get("sec-fetch-site") not in (None, "none", "same-origin"):
            # Who follows a link of another page brings no strict cookie to where he is sent on, unless
            # it is a page of ours that sends him.
            answer = HTMLResponse(ONWARD)
        answer.set_cookie(
            self._cookie_name, self._secret, httponly=True, samesite="strict", path="/"
        )
        return answer

    def _has_cookie(self, headers: Headers) -> bool:
        found = []
        for line in headers.getlist("cookie"):
            try:
                cookie = SimpleCookie(line)
            except CookieError:
                continue
            if self._cookie_name in cookie:
                found.append(cookie[self._cookie_name].value)
        return len(found) == 1 and _is_same(found[0], self._secret)

    def _with_headers(self, send: Send) -> Send:
        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in COMMON_HEADERS.items():
                    headers.setdefault(name, value)
                headers.setdefault("Content-Security-Policy", self._policy)
                headers.setdefault("Cache-Control", "no-store")
            await send(message)

        return sending


def _policy(hosts: Iterable[str]) -> str:
    """Styles may be inline: xterm.js writes them. Scripts may not."""
    sockets = " ".join(f"ws://{host}" for host in sorted(hosts))
    return "; ".join(
        [
            "default-src 'none'",
            "script-src 'self'",
            "style-src 'self' 'unsafe-inline'",
            "img-src 'self' data: blob:",
            "font-src 'self' data:",
            "worker-src 'self' blob:",
            "frame-src 'self'",
            "manifest-src 'self'",
            f"connect-src 'self' {sockets}",
            "base-uri 'none'",
            "form-action 'none'",
            "frame-ancestors 'self'",
        ]
    )


def _is_same(given: str, right: str) -> bool:
    return hmac.compare_digest(given.encode(), right.encode())


def _nobody(text: str) -> Response:
    return HTMLResponse(NOBODY.format(text), status_code=403)
