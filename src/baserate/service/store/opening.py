"""open_store: the store that an address names."""

from pathlib import Path

from baserate.service.problems import InvalidError
from baserate.service.store.protocol import Store


def open_store(data: Path, address: str | None) -> Store:
    """Return the store for a folder, or for the address of a database.

    Parameters
    ----------
    data : path
        The folder; used unless there is an address.
    address : str, optional
        ``postgresql://...``, or ``sqlite:`` for the folder.
    """
    if address is None or address in ("sqlite", "sqlite:"):
        from baserate.service.store.sqlite import SqliteStore

        return SqliteStore(data)
    if address.startswith(("postgresql://", "postgres://")):
        from baserate.service.store.postgres import PostgresStore

        return PostgresStore(address)
    raise InvalidError("--store names no database that is known; give postgresql://user@host/database, or nothing.")
