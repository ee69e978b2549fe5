"""The side-car: streams over HTTP, kept on disk, with a dashboard. Needs the extra ``service``."""

from typing import Any

__all__ = ["AsyncClient", "Client"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'baserate.service' has no attribute {name!r}")
    from baserate.service import client

    return getattr(client, name)
