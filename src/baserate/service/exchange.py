"""Requests and responses: bodies within limits, answers as JSON."""

import asyncio
from typing import TYPE_CHECKING, Any

from baserate.service._web import ClientDisconnect, Request, Response, msgspec
from baserate.service.problems import (
    InvalidError,
    MalformedError,
    ProblemError,
    TooLargeError,
    TooSlowError,
    WrongTypeError,
)
from baserate.service.settings import Settings
from baserate.service.taking import TakingStreams

if TYPE_CHECKING:
    from baserate.service.streams import Streams

JSON = "application/json"
_encoder = msgspec.json.Encoder()


def streams_of(request: Request) -> "Streams":
    """Return the streams of the server."""
    found: Streams = request.app.state.streams
    return found


def takers_of(request: Request) -> TakingStreams:
    """Return the streams of the server, which may be in another process, as far as they take batches."""
    found: TakingStreams = request.app.state.streams
    return found


def settings_of(request: Request) -> Settings:
    """Return the settings of the server."""
    found: Settings = request.app.state.settings
    return found


def answer(data: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """Return plain data as JSON; numbers keep all their digits."""
    return Response(_encoder.encode(data), status, headers, JSON)


def refusal(problem: ProblemError) -> Response:
    """Return what is wrong with a request."""
    said = {"error": str(problem)} | ({"field": problem.field} if problem.field else {})
    headers = {"www-authenticate": 'Bearer realm="baserate"'} if problem.status == 401 else None
    if problem.status in (429, 503):
        headers = {"retry-after": "1"}
    return answer(said, problem.status, headers)


def kind_of(request: Request) -> str:
    """Return the content type of a body, without parameters."""
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()


def wrong_type(kind: str, allowed: tuple[str, ...]) -> WrongTypeError:
    """Return the problem that a body is of a type that cannot be read."""
    return WrongTypeError(f"the content type is {kind or 'missing'!r:.100}; send one of: {', '.join(allowed)}.")


async def read_json(request: Request) -> bytes:
    """Return the body of a request that must be JSON."""
    kind = kind_of(request)
    if kind != JSON:
        raise WrongTypeError(f"the content type is {kind or 'missing'!r:.100}; send {JSON}.")
    return await read_body(request)


async def read_body(request: Request) -> bytes:
    """Return the body of a request, within the limits of size and time."""
    settings = settings_of(request)
    told = request.headers.get("content-length", "")
    if told.isdecimal() and int(told[:20]) > settings.max_body:
        raise _too_large(settings)
    try:
        async with asyncio.timeout(settings.body_seconds):
            parts, size = [], 0
            async for part in request.stream():
                size += len(part)
                if size > settings.max_body:
                    raise _too_large(settings)
                parts.append(part)
    except TimeoutError:
        raise TooSlowError(f"the body took longer than {settings.body_seconds:g} seconds to arrive.") from None
    except ClientDisconnect:
        raise MalformedError("the body ended too early.") from None
    return parts[0] if len(parts) == 1 else b"".join(parts)


def _too_large(settings: Settings) -> TooLargeError:
    return TooLargeError(f"the body has more than {settings.max_body:,} bytes, the most that this server takes.")


def choice(request: Request, name: str, allowed: tuple[str, ...]) -> str:
    """Return a parameter of the query that has few values; the first one is the default."""
    found = request.query_params.get(name, allowed[0])
    if found not in allowed:
        raise InvalidError(f"{name} is {found!r:.100}; expected one of: {', '.join(allowed)}.", name)
    return found


def whole(request: Request, name: str, default: int, low: int, high: int) -> int:
    """Return a whole number of the query."""
    found = request.query_params.get(name)
    if found is None:
        return default
    if not found.isdecimal() or len(found) > 9 or not low <= int(found) <= high:
        raise InvalidError(f"{name} is {found!r:.100}; expected a whole number from {low} to {high}.", name)
    return int(found)
