"""Client and AsyncClient: the API from Python, both from one code; the only import of httpx."""

import asyncio
import time
from collections.abc import Callable, Generator, Sequence
from functools import wraps
from types import TracebackType
from typing import Any, Concatenate, ParamSpec, Self, cast
from urllib.parse import quote

import numpy as np
from numpy.typing import ArrayLike

try:
    import httpx
except ModuleNotFoundError as error:
    if error.name != "httpx":
        raise
    raise ModuleNotFoundError(
        "the client needs httpx; run: pip install 'baserate[service]'", name=error.name
    ) from error

_Steps = Generator[httpx.Request, httpx.Response, Any]
RETRIES = 4
"""Number of times that a request that is safe to repeat is made again when the server is not there, starts or ends."""


class ServiceError(Exception):
    """An answer that says that something is wrong.

    Attributes
    ----------
    status : int
        The HTTP status.
    field : str
        The field of the request that is to blame; empty if none is.
    """

    def __init__(self, message: str, status: int, field: str = "") -> None:
        super().__init__(message)
        self.status, self.field = status, field


P = ParamSpec("P")


def _called(steps: "Callable[Concatenate[Any, P], _Steps]") -> "Callable[Concatenate[Any, P], Any]":
    """Make a method of steps: `Client` runs them, `AsyncClient` returns something to wait for."""

    @wraps(steps)
    def call(self: Any, *args: P.args, **options: P.kwargs) -> Any:
        return self._run(steps(self, *args, **options))

    return cast("Callable[Concatenate[Any, P], Any]", call)


class _Calls:
    """Every call as a generator that yields requests and is sent their responses: who waits, and how, is not said."""

    _http: httpx.Client | httpx.AsyncClient

    def _call(self, method: str, path: str, body: Any = None, **query: Any) -> _Steps:
        told = {name: str(value) for name, value in query.items() if value is not None}
        response = yield self._http.build_request(method, path, json=body, params=told or None)
        if response.status_code >= 400:
            try:
                said = response.json()
            except ValueError:
                said = {}
            message = said.get("error", response.text[:200]) if isinstance(said, dict) else response.text[:200]
            field = said.get("field", "") if isinstance(said, dict) else ""
            raise ServiceError(message, response.status_code, field)
        return None if response.status_code == 204 else response.json()

    @_called
    def put(
        self,
        name: str,
        classes: Sequence[Any],
        proba: ArrayLike,
        labels: Sequence[Any],
        *,
        refit: bool = False,
        options: dict[str, Any] | None = None,
    ) -> _Steps:
        """Make a stream, or with ``refit=True`` go on with a redeployed model; return what it says about itself."""
        held = {"proba": np.asarray(proba, dtype=float).tolist(), "labels": _plain(labels)}
        body = {"classes": _plain(classes), "holdout": held, "options": options or {}}
        return self._call("PUT", _at(name), body, refit="true" if refit else None)

    @_called
    def adapt(
        self,
        name: str,
        proba: ArrayLike,
        labels: Sequence[Any] | None = None,
        *,
        ids: Sequence[str | int | None] | None = None,
        batch_id: str | None = None,
        mode: str | None = None,
    ) -> _Steps:
        """Adapt a batch and learn from it; return a dict with proba, labels, prior, round and flags."""
        body: dict[str, Any] = {"proba": np.asarray(proba, dtype=float).tolist()}
        body |= {} if labels is None else {"labels": _plain(labels)}
        body |= {} if ids is None else {"ids": _plain(ids)}
        body |= {} if batch_id is None else {"batch_id": batch_id}
        answer = yield from self._call("POST", f"{_at(name)}/adapt", body, mode=mode)
        for field in ("proba", "prior"):
            if field in answer:
                answer[field] = np.array(answer[field], dtype=float)
        return answer

    @_called
    def labels(
        self,
        name: str,
        ids: Sequence[str | int],
        labels: Sequence[Any],
        y_probability: float | Sequence[float | None] | None = None,
    ) -> _Steps:
        """Take in labels that come late, and how probably each was chosen; return how many found their row."""
        body: dict[str, Any] = {"ids": _plain(ids), "labels": _plain(labels)}
        if y_probability is not None:
            body["y_probability"] = y_probability if isinstance(y_probability, int | float) else _plain(y_probability)
        answer = yield from self._call("POST", f"{_at(name)}/labels", body)
        return answer["found"]

    @_called
    def streams(self) -> _Steps:
        """Return all streams at a glance."""
        answer = yield from self._call("GET", "/v1/streams")
        return answer["streams"]

    @_called
    def stream(self, name: str) -> _Steps:
        """Return everything that a stream says about itself."""
        return self._call("GET", _at(name))

    @_called
    def history(self, name: str, points: int = 500) -> _Steps:
        """Return the path of a stream, and what happened on it."""
        return self._call("GET", f"{_at(name)}/history", points=points)

    @_called
    def requests(self, name: str, n: int = 20) -> _Steps:
        """Return the waiting rows that are worth labelling."""
        answer = yield from self._call("GET", f"{_at(name)}/requests", n=n)
        return answer["requests"]

    @_called
    def shadow(self, name: str, on: bool) -> _Steps:
        """Switch shadow mode."""
        return self._call("PATCH", _at(name), {"shadow": on})

    @_called
    def forget(self, name: str, sample: str) -> _Steps:
        """Delete the id of a sample; return how many were found."""
        answer = yield from self._call("DELETE", f"{_at(name)}/samples/{quote(str(sample), safe='')}")
        return answer["found"]

    @_called
    def delete(self, name: str) -> _Steps:
        """Delete a stream."""
        return self._call("DELETE", _at(name))


def _at(name: str) -> str:
    return f"/v1/streams/{quote(name, safe='')}"


def _plain(values: Any) -> list[Any]:
    return cast(list[Any], values.tolist()) if isinstance(values, np.ndarray) else list(values)


def _may_repeat(request: httpx.Request) -> bool:
    """Tell whether to make a request twice does what to make it once does: a batch is counted once by its id."""
    return request.method in ("GET", "PUT", "DELETE", "PATCH") or b'"batch_id"' in request.content


class Client(_Calls):
    """The API of a server, from Python.

    A request that may be repeated safely (a batch may, if it has a `batch_id`) is, if the server is not there.

    Parameters
    ----------
    url : str
        Where the server is.
    key : str, optional
        An API key.
    timeout : float
        Seconds to wait for an answer.
    transport : httpx.BaseTransport, optional
        For tests.

    Examples
    --------
    >>> from baserate.service import Client
    >>> client = Client("http://127.0.0.1:8787")
    >>> client.close()
    """

    def __init__(
        self,
        url: str = "http://127.0.0.1:8787",
        key: str | None = None,
        *,
        timeout: float = 30.0,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        self._http: httpx.Client = httpx.Client(
            base_url=url, headers=_headers(key), timeout=timeout, transport=transport
        )

    def _run(self, steps: _Steps) -> Any:
        try:
            request = next(steps)
            while True:
                request = steps.send(self._send(request))
        except StopIteration as done:
            return done.value

    def _send(self, request: httpx.Request) -> httpx.Response:
        for attempt in range(RETRIES if _may_repeat(request) else 1):
            last = attempt + 1 == RETRIES or not _may_repeat(request)
            try:
                response = self._http.send(request)
                if response.status_code != 503 or last:
                    return response
            except httpx.TransportError:
                if last:
                    raise
            time.sleep(0.1 * 3**attempt)
        raise AssertionError  # the last attempt returns or raises

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class AsyncClient(_Calls):
    """The same with ``await``: parameters and methods are those of `Client`."""

    def __init__(
        self,
        url: str = "http://127.0.0.1:8787",
        key: str | None = None,
        *,
        timeout: float = 30.0,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self._http: httpx.AsyncClient = httpx.AsyncClient(
            base_url=url, headers=_headers(key), timeout=timeout, transport=transport
        )

    async def _run(self, steps: _Steps) -> Any:
        try:
            request = next(steps)
            while True:
                request = steps.send(await self._send(request))
        except StopIteration as done:
            return done.value

    async def _send(self, request: httpx.Request) -> httpx.Response:
        for attempt in range(RETRIES if _may_repeat(request) else 1):
            last = attempt + 1 == RETRIES or not _may_repeat(request)
            try:
                response = await self._http.send(request)
                if response.status_code != 503 or last:
                    return response
            except httpx.TransportError:
                if last:
                    raise
            await asyncio.sleep(0.1 * 3**attempt)
        raise AssertionError  # the last attempt returns or raises

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()


def _headers(key: str | None) -> dict[str, str]:
    return {} if key is None else {"authorization": f"Bearer {key}"}
