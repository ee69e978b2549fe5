"""A store that another process opens, writes to and closes while it is in use."""

import asyncio
import subprocess
import sys

from baserate.service.store.sqlite import FILE, SqliteStore

OTHER = """
import asyncio, sys
from pathlib import Path
from baserate.service.store.protocol import StoredKey
from baserate.service.store.sqlite import SqliteStore

async def add():
    store = SqliteStore(Path(sys.argv[1]), alone=False)
    await store.open()
    await store.add_key(StoredKey(sys.argv[2], b"digest", "read", 1.0))
    await store.close()

asyncio.run(add())
"""


def test_what_another_process_writes_is_seen_and_takes_nothing_away(tmp_path):
    async def use():
        store = SqliteStore(tmp_path)
        await store.open()
        log = (tmp_path / f"{FILE}-wal").stat().st_ino
        for name in ("one", "two"):
            subprocess.run([sys.executable, "-c", OTHER, str(tmp_path), name], check=True, timeout=60)
            assert name in [key.name for key in await store.keys()]
        # The last connection removes the log. A process that took itself for the last one would remove it under us.
        assert (tmp_path / f"{FILE}-wal").stat().st_ino == log
        await store.add_points([(1, 2.0, b"point")])
        await store.close()
        again = SqliteStore(tmp_path)
        await again.open()
        assert await again.history(1, 0.0) == [(2.0, b"point")]
        await again.close()

    asyncio.run(use())
