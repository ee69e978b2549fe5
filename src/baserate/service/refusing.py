"""Handlers of exceptions: whatever goes wrong with a request becomes an answer that says what."""

import logging
from collections.abc import Mapping
from typing import Any

from baserate.service._web import HTTPException, Request, Response
from baserate.service.exchange import answer, refusal
from baserate.service.problems import ProblemError

_log = logging.getLogger("baserate.service")


async def _refuse(_: Request, problem: Exception) -> Response:
    assert isinstance(problem, ProblemError)
    return refusal(problem)


async def _refuse_path(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    said = {404: "there is nothing at this path", 405: f"{request.method:.20} is not possible here"}
    message = said.get(error.status_code, str(error.detail))
    return answer({"error": f"{message}; see /openapi.json."}, error.status_code, dict(error.headers or {}))


async def _fail(_: Request, error: Exception) -> Response:
    _log.error("a request failed", exc_info=error)
    return answer({"error": "the server failed; its log says why."}, 500)


HANDLERS: Mapping[Any, Any] = {ProblemError: _refuse, HTTPException: _refuse_path, Exception: _fail}
