"""Writing of state files: from a running object to a zip archive of `manifest.json` and one `.npy` per array."""

import io
import json
import zipfile
from contextlib import nullcontext
from typing import Any

import numpy as np

from baserate._version import __version__
from baserate.state.component import Component
from baserate.state.foreign_models import fingerprint

SCHEMA = 2
"""Version of the file format. A reader supports every version since the first release, up to its own."""

GENERATOR = "PCG64"
"""The kind of random generators that are saved: what `numpy.random.default_rng` gives."""

_LEAVES = frozenset({str, int, float, bool, type(None)})  # a call for each of thousands of keys would take long
_EPOCH = (1980, 1, 1, 0, 0, 0)  # zip's earliest date: the same state gives the same bytes


def dumps(obj: Any) -> bytes:
    """Return the bytes that `save` writes; equal states have equal bytes."""
    if not isinstance(obj, Component):
        raise TypeError(
            f"cannot save a {type(obj).__name__}; expected an object of baserate, or of a subclass of "
            "baserate.state.Component."
        )
    buffer = io.BytesIO()
    with getattr(obj, "guard", nullcontext()):  # so that no other thread moves it meanwhile
        _write(obj, buffer)
    return buffer.getvalue()


def encoded(obj: Component) -> tuple[dict[str, Any], list[np.ndarray[Any, Any]]]:
    """Return what a file holds of an object: the manifest, and the arrays, which are the object's own."""
    arrays: list[np.ndarray[Any, Any]] = []
    manifest = {
        "format": "baserate",
        "schema": SCHEMA,
        "version": __version__,
        "object": _encode(obj, arrays, type(obj).__name__),
    }
    return manifest, arrays


def _write(obj: Component, file: io.BytesIO) -> None:
    manifest, arrays = encoded(obj)
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr(zipfile.ZipInfo("manifest.json", _EPOCH), json.dumps(manifest))
        for i, array in enumerate(arrays):
            member = io.BytesIO()
            np.lib.format.write_array(member, array, allow_pickle=False)
            archive.writestr(zipfile.ZipInfo(f"{i}.npy", _EPOCH), member.getvalue())


def _encode(value: Any, arrays: list[np.ndarray[Any, Any]], where: str) -> Any:
    if isinstance(value, np.generic | np.ndarray):
        if value.dtype.kind not in "fiubU":
            raise TypeError(f"cannot save {where}: arrays of dtype {value.dtype} are not plain data.")
        arrays.append(
            np.ascontiguousarray(value) if isinstance(value, np.ndarray) and value.ndim else np.asarray(value)
        )
        return {"$array": len(arrays) - 1, "scalar": isinstance(value, np.generic)}
    if value is None or isinstance(value, bool | str | int | float):
        return value  # JSON writes the shortest text that gives the same float, also for NaN and infinities
    if isinstance(value, list | tuple):
        items = [
            item if type(item) in _LEAVES else _encode(item, arrays, f"{where}[{i}]") for i, item in enumerate(value)
        ]
        return items if isinstance(value, list) else {"$tuple": items}
    if isinstance(value, dict):
        if not all(isinstance(key, str) and not key.startswith("$") for key in value):
            raise TypeError(f"cannot save {where}: the keys of a dict must be text.")
        return {key: _encode(item, arrays, f"{where}[{key!r}]") for key, item in value.items()}
    if isinstance(value, np.random.Generator):
        state = value.bit_generator.state
        if state["bit_generator"] != GENERATOR:
            raise TypeError(
                f"cannot save {where}: a random generator of the kind {state['bit_generator']}; use {GENERATOR}, as "
                "numpy.random.default_rng does."
            )
        return {"$generator": _encode(state, arrays, where)}
    if isinstance(value, type) and issubclass(value, Component):
        return {"$type": value._saved_as}
    if isinstance(value, Component):
        params, state = (
            {name: _encode(item, arrays, f"{where}.{name}") for name, item in sorted(part.items())}
            for part in value._to_saved()
        )
        cls = type(value)
        return {"$class": cls._saved_as, "layout": cls._layout, "params": params, "state": state}
    if hasattr(value, "__array__"):  # a frame or a series; it comes back as an array
        return _encode(np.asarray(value), arrays, where)
    if hasattr(value, "predict_proba"):
        return {"$model": where.rpartition(".")[2], "fingerprint": fingerprint(value)}
    raise TypeError(f"cannot save {where}: {type(value).__name__} is not plain data, nor a registered class.")
