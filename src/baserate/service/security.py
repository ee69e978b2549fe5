"""Gatekeeper: everything that is decided about a request before anybody looks at its body."""

import ipaddress
import time
from collections import OrderedDict
from http.cookies import CookieError, SimpleCookie
from urllib.parse import urlsplit

from baserate.service._web import ASGIApp, Message, MutableHeaders, Receive, Scope, Send
from baserate.service.exchange import refusal
from baserate.service.keys import Caller, Keys
from baserate.service.problems import ForbiddenError, ProblemError, TooManyError, UnauthorizedError
from baserate.service.settings import Settings

COOKIE = "baserate"
PUBLIC = ("/healthz", "/readyz", "/v2/health/", "/login", "/logout", "/openapi.json")
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; "
    "connect-src 'self'; manifest-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}
ANYBODY = Caller("", "admin")
"""The caller where no key has been made, on this machine."""
_LOCAL = ("localhost", "127.0.0.1", "::1")


def is_loopback(host: str) -> bool:
    """Tell whether an address can be reached from this machine only."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def needed_scope(method: str, path: str) -> str | None:
    """Return the scope that a request needs; None if anybody may make it."""
    if path.startswith(PUBLIC) or not path.startswith(("/v1/", "/v2", "/metrics")):
        return None
    if method in ("GET", "HEAD", "OPTIONS"):
        return "read"
    if method == "POST":
        return "adapt"
    return "admin"


class Gatekeeper:
    """Checks where a request comes from, whose it is, and how many there are.

    Parameters
    ----------
    app : ASGIApp
        What comes behind.
    keys : Keys
    settings : Settings
    hosts : tuple of str
        Names under which the server may be called; empty: by any, once there are keys.
    """

    def __init__(self, app: ASGIApp, keys: Keys, settings: Settings, hosts: tuple[str, ...] = ()) -> None:
        self._app, self._keys, self._hosts = app, keys, hosts
        self._buckets = _Buckets(settings.rate)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message["headers"], *_RAW]
            await send(message)

        try:
            scope["caller"] = await self._admit(scope)
        except ProblemError as problem:
            await refusal(problem)(scope, receive, send_with_headers)
            return
        await self._app(scope, receive, send_with_headers)

    async def _admit(self, scope: Scope) -> Caller:
        has_keys = await self._keys.refresh()
        headers = dict(scope["headers"])
        self._check_site(scope, headers, has_keys)
        needed = needed_scope(scope["method"], scope["path"])
        if not has_keys:
            return ANYBODY
        caller = self._caller(headers)
        client = scope.get("client")
        self._buckets.take(caller.name if caller else f"from {client[0] if client else '?'}")
        if needed is None:
            return caller or Caller("", "read")
        if caller is None:
            raise UnauthorizedError("no API key that is known; send one as: Authorization: Bearer br_...")
        if not caller.may(needed):
            raise ForbiddenError(f"this needs an API key of the scope {needed}; yours has {caller.scope}.")
        return caller

    def _caller(self, headers: dict[bytes, bytes]) -> Caller | None:
        bearer = headers.get(b"authorization", b"").decode("latin-1")
        if bearer:
            kind, _, key = bearer.partition(" ")
            return self._keys.find(key.strip()) if kind.lower() == "bearer" else self._keys.find("")
        cookie = cookie_of(headers)
        return self._keys.find("") if cookie is None else self._keys.find_cookie(cookie)

    def _check_site(self, scope: Scope, headers: dict[bytes, bytes], has_keys: bool) -> None:
        """Refuse calls by other names (DNS rebinding), and those that pages of other sites make."""
        host = headers.get(b"host", b"").decode("latin-1").lower()
        try:
            name = urlsplit(f"//{host}").hostname or ""
        except ValueError:
            name = ""
        allowed = self._hosts or (() if has_keys else _LOCAL)
        if allowed and name not in allowed and not (name in _LOCAL and self._hosts):
            raise ForbiddenError(
                f"the host {name!r:.100} is not one of this server's; call it as localhost, or start it with "
                "--allow-host."
            )
        origin = headers.get(b"origin", b"").decode("latin-1").lower()
        if origin and origin not in (f"http://{host}", f"https://{host}"):
            raise ForbiddenError("requests of pages from other sites are refused.")
        site = headers.get(b"sec-fetch-site", b"none")
        opened = scope["method"] == "GET" and headers.get(b"sec-fetch-mode") == b"navigate"
        if site in (b"cross-site", b"same-site") and not opened:
            raise ForbiddenError("requests of pages from other sites are refused.")


_RAW = [(name.encode(), value.encode()) for name, value in HEADERS.items()]


def cookie_of(headers: dict[bytes, bytes]) -> str | None:
    """Return our cookie of a request."""
    raw = headers.get(b"cookie")
    if raw is None:
        return None
    try:
        found = SimpleCookie(raw.decode("latin-1")).get(COOKIE)
    except CookieError:
        return None
    return None if found is None else found.value


def set_cookie(headers: MutableHeaders, value: str, seconds: int, *, secure: bool) -> None:
    """Set our cookie, which scripts cannot read and other sites cannot send."""
    parts = [f"{COOKIE}={value}", "Path=/", "HttpOnly", "SameSite=Strict", f"Max-Age={seconds}"]
    headers["set-cookie"] = "; ".join(parts + ["Secure"] * secure)


class _Buckets:
    """A bucket of tokens for each caller, filled at a rate, twice its seconds' worth large."""

    def __init__(self, rate: float, at_most: int = 10_000) -> None:
        self._rate, self._at_most = rate, at_most
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, name: str) -> None:
        now, full = time.monotonic(), 2.0 * self._rate
        left, then = self._buckets.pop(name, (full, now))
        left = min(full, left + (now - then) * self._rate)
        self._buckets[name] = (max(left - 1.0, 0.0), now)
        if len(self._buckets) > self._at_most:
            self._buckets.popitem(last=False)
        if left < 1.0:
            raise TooManyError(f"more than {self._rate:g} requests a second; slow down.")
