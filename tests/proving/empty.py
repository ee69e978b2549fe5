"""The same framework with an empty handler and the same fsync discipline: what the service is measured against."""

import asyncio
import sqlite3
import sys
from pathlib import Path

import uvicorn
from starlette.applications import Starlette
from starlette.responses import Response
from starlette.routing import Route

from baserate.service.store.writer import GroupWriter


def main():
    """Serve a folder on a port: ``python -m tests.proving.empty FOLDER PORT``."""
    folder, port = Path(sys.argv[1]), int(sys.argv[2])

    def connect():
        base = sqlite3.connect(folder / "empty.sqlite", isolation_level=None, check_same_thread=False)
        base.execute("PRAGMA journal_mode = WAL")
        base.execute("PRAGMA synchronous = FULL")
        base.execute("PRAGMA wal_autocheckpoint = 4000")
        base.execute("CREATE TABLE IF NOT EXISTS log (id INTEGER PRIMARY KEY, entry BLOB)")
        return base

    async def empty(request):
        body = await request.body()
        await request.app.state.writer.write([("INSERT INTO log (entry) VALUES (?)", (body[:1],))])
        return Response(b"{}", media_type="application/json")

    async def ready(_):
        return Response(b"{}")

    async def serve():
        app = Starlette(routes=[Route("/readyz", ready), Route("/{path:path}", empty, methods=["POST"])])
        app.state.writer = GroupWriter(connect, asyncio.get_running_loop())
        config = uvicorn.Config(
            app, port=port, log_level="error", lifespan="off", server_header=False, date_header=False
        )
        await uvicorn.Server(config).serve()

    import uvloop

    uvloop.run(serve())


if __name__ == "__main__":
    main()
