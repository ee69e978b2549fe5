"""Streams in files: CSV, Parquet and JSON lines in and out, in pieces, so that none has to fit into memory.

`adapt_file` is ``baserate adapt`` for Python. `formats` has a module for each file format, `adapting` everything that
``baserate adapt`` does; `labelled_log` reads for ``baserate backtest``, `inspecting` for ``baserate inspect``.

Examples
--------
>>> from pathlib import Path
>>> from baserate.files import AdaptJob, source_named
>>> job = AdaptJob(source_named("today.csv"), source_named("adapted.parquet"), state=Path("shop.state"))
>>> job.out.format.name, job.resumable
('parquet', True)
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from baserate.files.adapting import AdaptJob, AdaptResult, ColumnRoles, ProgressCallback, adapt_file
    from baserate.files.errors import FileProblemError
    from baserate.files.formats import source_named
    from baserate.files.rounds import RoundLength
    from baserate.files.source import Source

__all__ = [
    "AdaptJob", "AdaptResult", "ColumnRoles", "FileProblemError", "ProgressCallback", "RoundLength", "Source",
    "adapt_file", "source_named",
]  # fmt: skip

# Imported on first use: `baserate --help` needs the formats, and must not wait for the adapters.
_HOME = {
    **dict.fromkeys(["AdaptJob", "AdaptResult", "ColumnRoles", "ProgressCallback", "adapt_file"], "adapting"),
    "FileProblemError": "errors",
    "RoundLength": "rounds",
    "Source": "source",
    "source_named": "formats",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'baserate.files' has no attribute {name!r}")
    return getattr(import_module(f"baserate.files.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME})
