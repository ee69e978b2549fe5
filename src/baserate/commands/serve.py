"""``baserate serve``: the HTTP side-car and its dashboard; its API keys; a check of its folder."""

import asyncio
import tempfile
import time
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from baserate.commands.ending import FAILURE, fail
from baserate.commands.streams import say

if TYPE_CHECKING:
    from baserate.service.store import Store

serve_app = typer.Typer(invoke_without_command=True, no_args_is_help=False)
keys_app = typer.Typer(no_args_is_help=True, help="API keys: create, list and revoke.")
serve_app.add_typer(keys_app, name="keys")

Data = Annotated[Path | None, typer.Option(envvar="BASERATE_DATA", help="Folder of the streams; created if missing.")]
StoreOption = Annotated[
    str | None,
    typer.Option(
        envvar="BASERATE_STORE",
        metavar="URL",
        show_envvar=True,
        help="postgresql://... to share streams between servers. Default: SQLite in the folder.",
    ),
]


@serve_app.callback()
def serve(
    context: typer.Context,
    data: Data = None,
    host: Annotated[str, typer.Option(envvar="BASERATE_HOST", help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(envvar="BASERATE_PORT", min=0, max=65535, help="Port; 0 takes any free one.")
    ] = 8787,
    store: StoreOption = None,
    demo: Annotated[bool, typer.Option("--demo", help="Feed streams of real digits that drift.")] = False,
    check: Annotated[bool, typer.Option("--check", help="Verify the folder or the database, then exit.")] = False,
    allow_host: Annotated[
        list[str] | None,
        typer.Option(envvar="BASERATE_ALLOW_HOST", help="Host name that clients may use; repeatable."),
    ] = None,
    max_body: Annotated[int, typer.Option(envvar="BASERATE_MAX_BODY", min=1024, help="Largest request, in bytes.")] = 64
    << 20,
    max_rows: Annotated[
        int, typer.Option(envvar="BASERATE_MAX_ROWS", min=1, help="Largest request, in rows.")
    ] = 100_000,
    max_classes: Annotated[
        int, typer.Option(envvar="BASERATE_MAX_CLASSES", min=2, help="Largest number of classes per stream.")
    ] = 1_000,
    max_streams: Annotated[
        int, typer.Option(envvar="BASERATE_MAX_STREAMS", min=1, help="Largest number of streams.")
    ] = 10_000,
    max_loaded: Annotated[
        int,
        typer.Option(
            envvar="BASERATE_MAX_LOADED", min=1, help="Most streams in memory; the others stay on disk until used."
        ),
    ] = 2_000,
    rate: Annotated[
        float, typer.Option(envvar="BASERATE_RATE", min=0.1, help="Requests per second for each API key.")
    ] = 1_000.0,
    keep_batches: Annotated[
        float, typer.Option(envvar="BASERATE_KEEP_BATCHES", min=0.0, help="Seconds to remember a batch_id for.")
    ] = 3_600.0,
    snapshot_entries: Annotated[
        int,
        typer.Option(
            envvar="BASERATE_SNAPSHOT_ENTRIES", min=1, help="Requests after which a stream's log is compacted."
        ),
    ] = 4_000,
    processes: Annotated[
        int,
        typer.Option(envvar="BASERATE_PROCESSES", min=1, max=2, help="With 2, one handles HTTP and one the streams."),
    ] = 2,
    log_level: Annotated[
        str, typer.Option(envvar="BASERATE_LOG_LEVEL", help="debug, info, warning or error.")
    ] = "info",
) -> None:
    """Serve streams over HTTP, with a dashboard: probabilities in, corrected ones out."""
    if context.invoked_subcommand is not None:
        return
    if log_level not in ("debug", "info", "warning", "error"):
        fail(f"--log-level is {log_level!r}; expected debug, info, warning or error.")
    if data is None and store is None:
        if not demo:
            fail("say where to keep the streams: --data DIR")
        data = Path(tempfile.mkdtemp(prefix="baserate-demo-"))
    _need()
    if check:
        _check(data, store)
        return
    from baserate.service.logs import set_up_logs
    from baserate.service.problems import ProblemError
    from baserate.service.server import Place, RefusedError, serve
    from baserate.service.settings import Settings

    set_up_logs(log_level)
    settings = Settings(
        max_body=max_body,
        max_rows=max_rows,
        max_classes=max_classes,
        max_streams=max_streams,
        max_loaded=max_loaded,
        rate=rate,
        keep_batches=keep_batches,
        snapshot_entries=snapshot_entries,
    )
    hosts = [name.lower() for name in allow_host or []]
    place = Place(data or Path(), store, host, port, hosts, demo, settings, processes)
    try:
        serve(place)
    except (RefusedError, ProblemError) as error:
        fail(str(error))


def _need() -> None:
    """Say what to install if the extra is missing."""
    try:
        import baserate.service.server  # noqa: F401
    except ModuleNotFoundError as error:
        fail(str(error))


def _with_store(data: Path | None, store: str | None, work: "Callable[[Store], Coroutine[Any, Any, Any]]") -> Any:
    """Do something with a store that a server may be using."""
    if data is None and store is None:
        fail("say where the streams are kept: --data DIR, or --store URL")
    _need()
    from baserate.service.problems import ProblemError
    from baserate.service.store import open_store
    from baserate.service.store.sqlite import SqliteStore

    async def run() -> Any:
        opened = SqliteStore(data, alone=False) if store is None and data is not None else open_store(Path(), store)
        await opened.open()
        try:
            return await work(opened)
        finally:
            await opened.close()

    try:
        return asyncio.run(run())
    except ProblemError as problem:
        fail(str(problem))


@keys_app.command()
def create(
    scope: Annotated[str, typer.Option(help="read, adapt (and read), or admin (and all).")],
    name: Annotated[str | None, typer.Option(help="Name of the key. Default: made up.")] = None,
    data: Data = None,
    store: StoreOption = None,
) -> None:
    """Make an API key, and show it: this once, because only a hash of it is kept."""

    async def work(opened: "Store") -> tuple[str, str]:
        from baserate.service.keys import create_key

        return await create_key(opened, scope, name)

    made, secret = _with_store(data, store, work)
    say(f"{made}: keep this, it cannot be shown again.", err=True)
    say(secret)


@keys_app.command(name="list")
def list_keys(data: Data = None, store: StoreOption = None) -> None:
    """List the names and scopes of all API keys."""
    _need()
    from baserate.service.keys import SCOPES

    for key in _with_store(data, store, lambda opened: opened.keys()):
        if key.scope not in SCOPES:
            continue
        say(f"{key.name}\t{key.scope}\t{time.strftime('%Y-%m-%d %H:%M', time.gmtime(key.created))}")


@keys_app.command()
def revoke(
    name: Annotated[str, typer.Argument(help="Name of the key.")],
    data: Data = None,
    store: StoreOption = None,
) -> None:
    """Revoke an API key; servers refuse it within a second."""
    if not _with_store(data, store, lambda opened: opened.remove_key(name)):
        fail(f"there is no key named {name!r}.")
    say(f"{name} is revoked.")


def _check(data: Path | None, store: str | None) -> None:
    """Verify everything that is kept, and end with a status that says whether it is all right."""
    if store is None and data is not None and not (data / "baserate.sqlite").is_file():
        fail(f"--data {data}: there are no streams in this folder.")

    async def work(opened: "Store") -> tuple[list[str], int]:
        from baserate.service.checking import check_store

        return await check_store(opened)

    problems, n = _with_store(data, store, work)
    for problem in problems:
        say(problem)
    if problems:
        fail(f"{len(problems)} problems in {n} streams.", FAILURE)
    say(f"{n} streams, all of them whole.")
