"""Who may ask for what: the page's own visitors alone, in requests of a sane size.

A page of somebody else, open in the same browser, can send requests here: under a name of its own that leads to this
machine (so ``Host`` is checked), or from its own address (so ``Origin`` is). Where the server can be reached from
other machines, a token that stands in the address it prints is asked for too, once; then a cookie has it.
"""

import secrets
from dataclasses import dataclass
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import SplitResult, parse_qs, urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect
from starlette.responses import JSONResponse, RedirectResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ._limits import LIMITS
from ._mistakes import SORRY, tell_where

UPLOADS = ("/api/predict", "/api/data")
LOOPBACK = ("127.0.0.1", "localhost", "::1")
HEADERS = {
    "Content-Security-Policy": (
        "default-src 'self'; img-src 'self' data: blob:; style-src 'self' 'unsafe-inline'; object-src 'none'; "
        "base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
}
"""Of every answer: nothing from other hosts, no scripts in the page itself, no guessing of types."""


@dataclass(frozen=True)
class Door:
    """Where the server listens: **host** and **port**, and the **token** that is asked for, if any."""

    host: str
    port: int
    token: str | None = None

    @classmethod
    def at(cls, host: str, port: int) -> "Door":
        """A door; it asks for a token where other machines can reach it."""
        return cls(host, port, None if host in LOOPBACK else secrets.token_urlsafe(24))

    @property
    def address(self) -> str:
        """What to open in a browser."""
        name = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{name}:{self.port}/" + ("" if self.token is None else f"?token={self.token}")

    @property
    def cookie(self) -> str:
        return f"localax-lab-{self.port}"


class Refused(Exception):
    """A request that is not answered: a status and one line."""

    def __init__(self, status: int, line: str):
        super().__init__(line)
        self.status = status


class Guard:
    """Stands before the **app** and lets nothing in that does not come through the **door**."""

    def __init__(self, app: ASGIApp, door: Door):
        self.app, self.door = app, door

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        begun: list[bool] = []
        send = _with_headers(send, begun)
        try:
            headers = Headers(scope=scope)
            self._check_names(scope, headers)
            if self._brings_token(scope):
                await self._welcome(scope, receive, send)
                return
            self._check_cookie(headers)
            await self.app(scope, _limited(receive, headers, _most(scope)), send)
        except Refused as refused:
            await JSONResponse({"error": str(refused)}, refused.status)(scope, receive, send)
        except ClientDisconnect:
            return
        except Exception as error:
            tell_where(error)
            if not begun:
                answer = JSONResponse({"error": SORRY}, 500)
                await answer(scope, receive, send)

    def _check_names(self, scope: Scope, headers: Headers) -> None:
        host = headers.get("host", "")
        if self.door.token is None and _name(host) not in LOOPBACK:
            raise Refused(403, f"this server is called {self.door.host}, not {host[:60]!r}")
        origin = headers.get("origin")
        if origin is not None and _parts(origin).netloc != host:
            raise Refused(403, "only the lab's own page may ask; this came from another one")
        site = headers.get("sec-fetch-site", "same-origin")
        if scope["path"] != "/" and site not in ("same-origin", "none"):
            raise Refused(403, "only the lab's own page may ask; this came from another one")

    def _brings_token(self, scope: Scope) -> bool:
        given = parse_qs(scope.get("query_string", b"").decode("latin1")).get("token", [""])[0]
        return self.door.token is not None and scope["path"] == "/" and self._is_token(given)

    def _is_token(self, given: str) -> bool:
        return secrets.compare_digest(given.encode(), (self.door.token or "").encode())

    async def _welcome(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Keep the token in a cookie and take it out of the address."""
        answer = RedirectResponse("/", 303)
        answer.set_cookie(self.door.cookie, self.door.token or "", httponly=True, samesite="strict")
        await answer(scope, receive, send)

    def _check_cookie(self, headers: Headers) -> None:
        if self.door.token is None:
            return
        try:
            kept = SimpleCookie(headers.get("cookie", "")).get(self.door.cookie)
        except CookieError:  # none of ours
            kept = None
        if kept is None or not self._is_token(kept.value):
            raise Refused(403, "open the whole address that `localax lab` has printed, with its token")


def _name(host: str) -> str:
    """A host without its port."""
    return _parts(f"//{host}").hostname or ""


def _parts(address: str) -> SplitResult:
    """An address in its parts; one that is none has no parts."""
    try:
        return urlsplit(address)
    except ValueError:  # such as half a bracket
        return urlsplit("")


def _most(scope: Scope) -> int:
    return LIMITS["upload"] if scope["path"] in UPLOADS else LIMITS["body"]


def _limited(receive: Receive, headers: Headers, most: int) -> Receive:
    """What a request brings, as long as it is not too much."""
    line = f"at most {most / 2**20:g} MB can be sent here"
    said = headers.get("content-length", "0")
    if not (said.isascii() and said.isdigit() and len(said) < 20) or int(said) > most:
        raise Refused(413, line)
    seen = 0

    async def limited() -> Message:
        nonlocal seen
        message = await receive()
        seen += len(message.get("body", b""))
        if seen > most:
            raise Refused(413, line)
        return message

    return limited


def _with_headers(send: Send, begun: list[bool]) -> Send:
    async def sending(message: Any) -> None:
        if message["type"] == "http.response.start":
            begun.append(True)
            headers = MutableHeaders(scope=message)
            for name, value in HEADERS.items():
                headers.setdefault(name, value)
            headers.setdefault("Cache-Control", "no-store")
        await send(message)

    return sending
