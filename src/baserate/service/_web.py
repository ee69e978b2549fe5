"""The only import of msgspec and starlette: other modules of the service import them from here."""

try:
    import msgspec
    from starlette.applications import Starlette
    from starlette.datastructures import MutableHeaders
    from starlette.exceptions import HTTPException
    from starlette.requests import ClientDisconnect, Request
    from starlette.responses import Response, StreamingResponse
    from starlette.routing import Route
    from starlette.types import ASGIApp, Message, Receive, Scope, Send
except ModuleNotFoundError as error:
    if error.name is None or error.name.partition(".")[0] not in ("msgspec", "starlette", "anyio"):
        raise
    raise ModuleNotFoundError(
        f"the service needs {error.name}; run: pip install 'baserate[service]'", name=error.name
    ) from error

__all__ = [
    "ASGIApp", "ClientDisconnect", "HTTPException", "Message", "MutableHeaders", "Receive", "Request", "Response",
    "Route", "Scope", "Send", "Starlette", "StreamingResponse", "msgspec",
]  # fmt: skip
