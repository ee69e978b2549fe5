"""save and load: any running object in one file, written completely or not at all."""

import os
import secrets
from pathlib import Path
from typing import Any

from baserate.state.decoding import loads
from baserate.state.encoding import dumps


def save(obj: Any, path: str | os.PathLike[str]) -> None:
    """Save a running object to a file, completely or not at all.

    Parameters
    ----------
    obj : Component
        A tracker, estimator, calibrator, adapter, learner or `Bank`, at any point of its life.
    path : path
        The file. An existing one is replaced in one step, so that an interrupted write leaves the old one.

    Examples
    --------
    >>> import baserate, tempfile, pathlib
    >>> from baserate.trackers import FollowTheHistory
    >>> tracker = FollowTheHistory(2)
    >>> tracker.update([0.25, 0.75])
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "tracker.baserate"
    >>> baserate.save(tracker, file)
    >>> baserate.load(file).predict()
    array([0.25, 0.75])
    """
    write_atomically(path, dumps(obj))


def write_atomically(path: str | os.PathLike[str], data: bytes) -> None:
    """Write a file completely or not at all: a temporary file is moved into its place."""
    target = Path(os.path.realpath(path))  # if the path is a link, its target is written
    if not target.parent.is_dir():
        raise FileNotFoundError(f"there is no folder {str(target.parent)!r} to save into; make it first.")
    scratch = target.with_name(f".{target.name}.{secrets.token_hex(4)}.tmp")
    try:
        with scratch.open("xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        scratch.replace(target)
    finally:
        scratch.unlink(missing_ok=True)


def load(path: str | os.PathLike[str], *, max_bytes: int | None = None, **models: Any) -> Any:
    """Load a running object from a file written by `save`; it continues as if never interrupted.

    Parameters
    ----------
    path : path
        The file. It may come from anybody: nothing in it is run, and everything in it is checked before it is used.
    max_bytes : int, optional
        How many bytes the parts of the file may take together when they are unpacked. Default: as many as the file has,
        as nothing is compressed in those that `save` writes, and for the text among them 33 million, with two
        million lists and objects.
    **models
        Foreign models by the name of their parameter, such as ``estimator=model``: they are not saved with an object.

    Raises
    ------
    ValueError
        If the file is not one of baserate's, is damaged, comes from a newer version, holds a class that is not known
        here, or was saved with another model than the one given.
    """
    return loads(Path(path).read_bytes(), name=str(path), max_bytes=max_bytes, **models)
