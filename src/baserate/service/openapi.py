"""The API as OpenAPI 3.1."""

from typing import Any

from baserate._version import __version__


def openapi() -> dict[str, Any]:
    """Return the description of the API."""
    return {"openapi": "3.1.0", "info": {"title": "baserate", "version": __version__}, "paths": {}}
