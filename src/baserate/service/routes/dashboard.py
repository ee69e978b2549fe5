"""The dashboard: its files, which are read once when the server starts, and the login."""

import hashlib
from importlib.resources import files
from importlib.resources.abc import Traversable

from baserate.service._web import Request, Response, Route
from baserate.service.bodies import LoginBody, decode
from baserate.service.exchange import answer, read_json, settings_of
from baserate.service.keys import Keys
from baserate.service.problems import NotKnownError, UnauthorizedError
from baserate.service.security import set_cookie

_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".mjs": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".ico": "image/x-icon",
    ".json": "application/json",
    ".txt": "text/plain; charset=utf-8",
    ".woff2": "font/woff2",
}


class Assets:
    """The files of the dashboard, in memory: no request touches the file system."""

    def __init__(self) -> None:
        self._files: dict[str, tuple[bytes, str, str]] = {}
        self._take(files("baserate.service").joinpath("dashboard"), "")

    def _take(self, folder: Traversable, path: str) -> None:
        for entry in folder.iterdir():
            name = f"{path}/{entry.name}"
            if entry.is_dir():
                self._take(entry, name)
                continue
            kind = next((kind for ending, kind in _TYPES.items() if name.endswith(ending)), "text/plain; charset=utf-8")
            data = entry.read_bytes()
            self._files[name] = data, kind, f'"{hashlib.blake2b(data, digest_size=12).hexdigest()}"'

    def find(self, path: str) -> tuple[bytes, str, str]:
        """Return the bytes, the content type and the tag of a file."""
        found = self._files.get("/index.html" if path == "/" else path)
        if found is None:
            raise NotKnownError(f"there is nothing at {path!r:.200}.")
        return found


async def asset(request: Request) -> Response:
    """A file of the dashboard."""
    data, kind, tag = request.app.state.assets.find(request.url.path)
    headers = {"etag": tag, "cache-control": "no-cache"}
    if request.headers.get("if-none-match") == tag:
        return Response(status_code=304, headers=headers)
    return Response(data, headers=headers, media_type=kind)


async def login(request: Request) -> Response:
    """Exchange an API key for a cookie."""
    keys: Keys = request.app.state.keys
    body = decode(await read_json(request), LoginBody)
    caller = keys.find(body.key) if await keys.refresh() else None
    if caller is None:
        raise UnauthorizedError("this is no API key of this server.", "key")
    told = answer({"name": caller.name, "scope": caller.scope})
    seconds = int(settings_of(request).session_seconds)
    set_cookie(told.headers, keys.cookie(caller), seconds, secure=request.url.scheme == "https")
    return told


async def logout(request: Request) -> Response:
    """End a login."""
    told = Response(status_code=204)
    set_cookie(told.headers, "", 0, secure=request.url.scheme == "https")
    return told


async def session(request: Request) -> Response:
    """Tell who is calling, whether keys are needed at all, and whether the server is ready."""
    caller, keys = request.scope["caller"], request.app.state.keys
    return answer(
        {"name": caller.name, "scope": caller.scope, "open": not await keys.refresh(), "ready": request.app.state.ready}
    )


ROUTES = [
    Route("/login", login, methods=["POST"]),
    Route("/logout", logout, methods=["POST"]),
    Route("/v1/session", session, methods=["GET"]),
    Route("/{path:path}", asset, methods=["GET"]),
]
