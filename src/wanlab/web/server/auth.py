"""Authentication: the rules of Jupyter Server, checked before any route.

Host      must be ours; against DNS rebinding, where a foreign name resolves to this computer
Origin    must be ours wherever it is sent; WebSockets and requests that change something need one
Sec-Fetch-Site   must be ours, too: pages of other servers on this computer are the same "site" for
          a browser, so their requests carry our cookie. Only links to our page itself are allowed
token     random, in the URL that the program prints; exchanged for the cookie
cookie    HttpOnly, SameSite=Strict; its name contains the port, because cookies ignore ports

Responses carry a content security policy that admits nothing from another origin, no frame around
our page, and no guessing of types. Files of the working folder are data: scripts in them do not
run.
"""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from urllib.parse import parse_qs, urlsplit

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
FORBIDDEN_PAGE = "<!doctype html><meta charset=utf-8><title>wanlab</title><p>{}</p>"
REDIRECT_PAGE = (
    '<!doctype html><meta http-equiv="refresh" content="0; url={}/"><title>wanlab</title>'
)
USE_THE_ADDRESS = (
    "You need the address that <code>wanlab web</code> printed: open all of it, with its "
    "<code>token=</code>."
)
USE_THE_LINK = (
    "To sign in to the class, open the link that your teacher gave you. "
    "(Teachers: the link that <code>wanlab web --class</code> printed.)"
)
"""The same for the server of a class."""


@dataclass(frozen=True)
class ServerAddress:
    """How browsers may address the server: `schemes` has http or https by Host header.

    Everything is below `path`, which is "" or begins with a slash and does not end with one.
    """

    url: str
    schemes: Mapping[str, str]
    cookie_name: str
    path: str = ""

    @classmethod
    def of(cls, port: int, url: str = "") -> ServerAddress:
        """Return the address of a port of this computer and, with a `url`, that one as well."""
        hosts = [f"{name}:{port}" for name in NAMES] + ([*NAMES] if port == 80 else [])
        schemes = dict.fromkeys(hosts, "http")
        if url:
            parts = urlsplit(url)
            schemes[parts.netloc.lower()] = parts.scheme
        path = urlsplit(url).path.rstrip("/")
        return cls(url.rstrip("/") or f"http://{hosts[0]}", schemes, f"wanlab-{port}", path)


class AuthMiddleware:
    """ASGI middleware: pass authorized requests on to `app`, refuse all others with status 403.

    `tokens` has the cookie that each token is exchanged for, and `cookies` those that may use `app`.
    With `closes`, each connection serves one request. `advice` tells those without access, in HTML,
    how to get it.
    """

    def __init__(
        self,
        app: ASGIApp,
        address: ServerAddress,
        *,
        tokens: Mapping[str, str],
        cookies: Collection[str],
        closes: bool = False,
        advice: str = USE_THE_ADDRESS,
    ) -> None:
        self._app = app
        self._advice = advice
        self._address = address
        self._tokens = tokens
        self._cookies = cookies
        policy = policy_for(sorted(address.schemes.items()))
        self._headers = usual_headers(policy, closes=closes)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        scope = {**scope, "root_path": self._address.path}
        headers = Headers(scope=scope)
        response = self._refusal(scope, headers)
        if response is None and scope["type"] == "http":
            response = self._exchange_token(scope, headers)
        if response is None and not self._has_cookie(headers):
            response = forbidden(self._advice)
        if response is None:
            await self._app(scope, receive, with_headers(send, self._headers))
        else:
            await answer(response, scope, receive, with_headers(send, self._headers))

    def _refusal(self, scope: Scope, headers: Headers) -> Response | None:
        """Return why a request is refused whatever its token or cookie, or None."""
        if not scope["path"].startswith(f"{self._address.path}/"):
            return forbidden(f"wanlab is at {self._address.path}/.")
        hosts = headers.getlist("host")
        if len(hosts) != 1 or hosts[0].lower() not in self._address.schemes:
            return forbidden(
                "wanlab does not answer under this host name. Open the address that it printed."
            )
        own_origin = f"{self._address.schemes[hosts[0].lower()]}://{hosts[0].lower()}"
        return refuse_other_sites(scope, headers, {own_origin}, is_page=self._is_page(scope))

    def _exchange_token(self, scope: Scope, headers: Headers) -> Response | None:
        """Return the response to a request with a token: the cookie, or a refusal."""
        tokens = parse_qs(scope["query_string"].decode("latin-1")).get("token")
        if not self._is_page(scope) or tokens is None:
            return None
        cookie = self._cookie_for(tokens[0]) if len(tokens) == 1 else None
        if cookie is None:
            what = "This link is out of date or incomplete: the server does not know its token. "
            return forbidden(what + self._advice)
        home = f"{self._address.path}/"
        response: Response = RedirectResponse(home, status_code=303)
        if headers.get("sec-fetch-site") not in (None, "none", "same-origin"):
            # A redirect that began with a link on another site does not carry a strict cookie. A
            # redirect by a page of ours does.
            response = HTMLResponse(REDIRECT_PAGE.format(self._address.path))
        response.set_cookie(
            self._address.cookie_name,
            cookie,
            httponly=True,
            samesite="strict",
            path=home,
            secure=self._address.schemes[headers["host"].lower()] == "https",
        )
        return response

    def _is_page(self, scope: Scope) -> bool:
        """Return whether a request is one for our page itself."""
        is_page: bool = scope["path"] == f"{self._address.path}/"
        return is_page

    def _cookie_for(self, token: str) -> str | None:
        """Return the cookie for a token, or None. The comparison takes the same time for every token."""
        found = [cookie for known, cookie in self._tokens.items() if _is_same(token, known)]
        return found[0] if found else None

    def _has_cookie(self, headers: Headers) -> bool:
        value = cookie_in(headers.getlist("cookie"), self._address.cookie_name)
        return value is not None and any(_is_same(value, cookie) for cookie in self._cookies)


def refuse_other_sites(
    scope: Scope, headers: Headers, origins: Collection[str], *, is_page: bool
) -> Response | None:
    """Return the refusal of a request that a page of another site has made, or None.

    `origins` are ours, and `is_page` tells requests that a link anywhere may lead to.
    """
    is_safe = scope["type"] == "http" and scope["method"] in SAFE_METHODS
    sent = headers.getlist("origin")
    if any(origin.lower() not in origins for origin in sent):
        return forbidden("wanlab refuses requests from pages of other sites.")
    if not is_safe and len(sent) != 1:
        return forbidden("wanlab refuses this request because it has no Origin header.")
    site = headers.get("sec-fetch-site", "none")
    is_link_to_page = (
        is_safe
        and is_page
        and headers.get("sec-fetch-mode") == "navigate"
        and headers.get("sec-fetch-dest") == "document"
    )
    if site not in ("none", "same-origin") and not is_link_to_page:
        return forbidden("wanlab refuses requests from pages of other sites.")
    return None


async def answer(response: Response, scope: Scope, receive: Receive, send: Send) -> None:
    """Answer a request; a WebSocket, which can have no response, is refused."""
    if scope["type"] == "websocket":
        await receive()
        await send({"type": "websocket.close", "code": 1008, "reason": "refused"})
    else:
        await response(scope, receive, send)


def usual_headers(policy: str, *, closes: bool) -> dict[str, str]:
    """Return the headers of responses that set no others. With `closes`, they end their connection."""
    connection = {"Connection": "close"} if closes else {}
    content = {"Content-Security-Policy": policy, "Cache-Control": "no-store"}
    return {**COMMON_HEADERS, **connection, **content}


def with_headers(send: Send, headers: Mapping[str, str]) -> Send:
    """Return a function that sends responses with these headers, unless they have set them."""

    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            own = MutableHeaders(scope=message)
            for name, value in headers.items():
                own.setdefault(name, value)
        await send(message)

    return sending


def cookie_in(lines: Iterable[str], name: str) -> str | None:
    """Return the value of a cookie in Cookie headers; None unless there is exactly one."""
    pairs = (pair.partition("=") for line in lines for pair in line.split(";"))
    values = [value.strip() for key, _, value in pairs if key.strip() == name]
    return values[0] if len(values) == 1 else None


def new_token() -> str:
    """Return a random token."""
    return secrets.token_hex(24)


def policy_for(addresses: Iterable[tuple[str, str]]) -> str:
    """Return the content security policy of a server at these hosts, each with http or https.

    Styles may be inline, for xterm.js; scripts may not.
    """
    socket_of = {"http": "ws", "https": "wss"}
    sockets = " ".join(f"{socket_of[scheme]}://{host}" for host, scheme in addresses)
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


def _is_same(value: str, secret: str) -> bool:
    return hmac.compare_digest(value.encode(), secret.encode())


def forbidden(text: str) -> Response:
    """Return the refusal of a request, with the reason in HTML."""
    return HTMLResponse(FORBIDDEN_PAGE.format(text), status_code=403)
