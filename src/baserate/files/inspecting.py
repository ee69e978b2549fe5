"""The content of a state file, of ``baserate adapt --state`` or of `baserate.save`, for ``baserate inspect``."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from baserate.adapters import RegressAndReweight
from baserate.bank import Bank
from baserate.files.adapting.state import FileProgress, StreamState
from baserate.files.adapting.summary import show, summarise
from baserate.files.columns import Classes
from baserate.files.errors import FileProblemError, printable
from baserate.state import loads
from baserate.validation import check_real

if TYPE_CHECKING:
    from rich.console import Console


def inspect_state(path: Path, *, level: float = 0.9, keys: int = 10, max_bytes: int | None = None) -> dict[str, Any]:
    """Read a state file, and summarise it as plain data.

    Parameters
    ----------
    path : path
        The state file.
    level : float
        The level of the bands.
    keys : int
        The number of keys to show.
    max_bytes : int, optional
        How many bytes the state may take when it is unpacked; see `baserate.load`.
    """
    check_real(level, "--level", 0.0, 1.0, closed=False)
    try:
        data = path.read_bytes()
    except OSError as error:
        raise FileProblemError(str(path), f"cannot be read ({error.strerror})") from error
    held = loads(data, name=str(path), max_bytes=max_bytes)
    state = held if isinstance(held, StreamState) else _alone(held, path)
    found = {"state": str(path), "bytes": len(data), "holds": type(state.adapter).__name__, **summarise(state, level)}
    if isinstance(held, StreamState):
        found["file"] = None if held.file is None else _file(held.file)
    if state.bank is not None:
        found["key_priors"] = _furthest(state.bank, state.classes.names, keys)
    return found


def _alone(held: Any, path: Path) -> StreamState:
    """The state of an adapter or a bank that was saved by itself; classes are called as its labels are."""
    adapter = held.adapter if isinstance(held, Bank) else held
    if not isinstance(adapter, RegressAndReweight):
        raise FileProblemError(
            str(path), f"holds a {type(held).__name__}; only RegressAndReweight, Bank and states of adapt are shown"
        )
    if not hasattr(adapter, "source_prior_"):
        raise FileProblemError(
            str(path),
            f"holds a {type(held).__name__} that was not fitted, so that it knows no class mix; nothing is shown",
        )
    state = StreamState()
    names = [str(label) for label in adapter.classes_.tolist()]
    state.adapter, state.classes = held, Classes(names, names, numbered=adapter.class_names_ is None)
    return state


def _file(file: FileProgress) -> dict[str, Any]:
    return {
        "name": file.name,
        "fingerprint": file.fingerprint,
        "finished": file.finished,
        "row": file.position.row,
    }


def _furthest(bank: Bank, names: list[str], most: int) -> list[dict[str, Any]]:
    """The keys whose class mix has moved furthest from the holdout's."""
    keys = bank.keys
    if not keys or not most:
        return []
    priors = bank.prior(keys)
    away = np.abs(priors - bank.adapter.source_prior_).sum(axis=1) / 2
    chosen = np.argsort(-away, kind="stable")[:most]
    return [
        {
            "key": keys[i],
            "moved": float(away[i]),
            "prior": {name: float(share) for name, share in zip(names, priors[i], strict=True)},
        }
        for i in chosen.tolist()
    ]


def show_state(console: "Console", found: dict[str, Any]) -> None:
    """Print the summary of `inspect_state` for people."""
    show(console, found)
    for entry in found.get("key_priors", []):
        top = sorted(entry["prior"].items(), key=lambda item: -item[1])[:3]
        shares = ", ".join(f"{name} {100 * share:.0f} %" for name, share in top)
        line = f"  key {entry['key']}: {100 * entry['moved']:.0f} % moved; {shares}"
        console.print(printable(line), markup=False)
    file = found.get("file")
    if file is not None and file["finished"]:
        console.print(f"Last file: {printable(file['name'])}, finished.", markup=False, soft_wrap=True)
    elif file is not None:
        line = f"Unfinished file: {file['name']}, {file['row']:,} rows done. Run the same command again to finish it."
        console.print(printable(line), markup=False, soft_wrap=True)
    console.print(f"{printable(found['state'])}: {found['bytes']:,} bytes.", markup=False, soft_wrap=True)
