"""check_store: whether everything that is kept can be read, and made again."""

import asyncio

from baserate.service.entries import unpack
from baserate.service.state import StreamState
from baserate.service.store import Store, StoredStream


async def check_store(store: Store) -> tuple[list[str], int]:
    """Return what is wrong with a store, and how many streams it has."""
    problems, names = await store.check(), await store.names()
    for name in names:
        stored = await store.load(name)
        if stored is None:
            continue
        try:
            await asyncio.to_thread(_replay, stored)
        except Exception as error:  # whatever a damaged stream makes of itself
            problems.append(f"the stream {name!r} is damaged: {error}")
    return problems, len(names)


def _replay(stored: StoredStream) -> None:
    state = StreamState.loads(stored.snapshot)
    expected = stored.snapshot_at
    for number, entry in stored.log:
        expected += 1
        if number != expected:
            raise ValueError(f"entry {expected} of its log is missing")
        state.apply(unpack(entry), answer=False)
    if state.definition.fingerprint != stored.fingerprint:
        raise ValueError("its definition is not the one of its snapshot")
