"""Stores: where streams are kept. SQLite in a folder, or PostgreSQL for several servers; one file each."""

from baserate.service.store.opening import open_store
from baserate.service.store.protocol import KeyStore, QuickTurn, SeenBatch, Store, StoredKey, StoredStream, Turn

__all__ = ["KeyStore", "QuickTurn", "SeenBatch", "Store", "StoredKey", "StoredStream", "Turn", "open_store"]
