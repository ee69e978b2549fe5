"""Reading of state files: from bytes to plain data, checked as a whole, to a running object."""

import io
import json
import math
import zipfile
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, cast

import numpy as np

from baserate.state.component import Component
from baserate.state.declarations import SavedPart, check_part
from baserate.state.encoding import GENERATOR, SCHEMA
from baserate.state.foreign_models import fingerprint
from baserate.state.registry import resolve
from baserate.state.unreadable import UnreadableError

_OLDEST = 2
_MANIFEST = 2**25  # bytes of text, which takes many times its length in memory: some hundred thousand waiting rows
_NESTED = 2**21  # lists and objects in the text: each takes a hundred times the bytes that write it down
_LEAVES = frozenset({str, int, float, bool, type(None)})  # a call for each of thousands of keys would take long
_HEADER = 10_000  # characters of an array's header: numpy's own limit
_LENGTH_AT = 8  # of an array: the length of its header, two bytes after magic and version


def loads(data: bytes, name: str = "these bytes", *, max_bytes: int | None = None, **models: Any) -> Any:
    """Return the object that `dumps` turned into bytes.

    Parameters
    ----------
    data : bytes
    name : str
        What to call them in an error.
    max_bytes : int, optional
        How many bytes the parts of the file may take together when they are unpacked. Default: as many as the file has,
        as nothing is compressed in those that `dumps` makes, and for the text among them 33 million, with two
        million lists and objects.
    **models
        As in `load`.
    """
    return decoded(lambda: _unpack(data, max_bytes), name, models)


def decoded(
    unpack: Callable[[], tuple[Any, list[np.ndarray[Any, Any]]]], name: str, models: Mapping[str, Any] | None = None
) -> Any:
    """Return the object of a manifest and its arrays, once all of it is checked.

    Parameters
    ----------
    unpack : callable
        Returns both, as `encoded` made them; an error of it says that the bytes are damaged.
    name, models
        As in `loads`.
    """
    try:
        found, arrays = unpack()
        manifest = _checked_manifest(found)
        reader = _Reader(arrays, dict(models or {}), manifest.get("version"))
        part = reader.read(manifest.get("object"))
        if not isinstance(part, SavedPart):
            raise UnreadableError("holds no object")
        check_part(part, part.cls.__name__)
        obj = reader.build(part)
    except UnreadableError as error:
        raise ValueError(f"{name} {error}.") from error
    except Exception as error:  # a damaged file can trip any part of the reader
        raise ValueError(f"{name} is not a baserate state file, or is truncated or damaged ({error}).") from error
    if reader.unused:
        named = ", ".join(sorted(reader.unused))
        raise ValueError(f"{name} was saved without a model for {named}; leave that argument out.")
    return obj


def _unpack(data: bytes, max_bytes: int | None) -> tuple[dict[str, Any], list[np.ndarray[Any, Any]]]:
    """The manifest and the arrays of an archive."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        members = archive.infolist()
        total = sum(member.file_size for member in members)
        _check_size(total, len(data) if max_bytes is None else max_bytes, "takes {} bytes when it is unpacked", total)
        if "manifest.json" not in archive.namelist():
            raise UnreadableError("is not a baserate state file (it has no manifest)")
        size = archive.getinfo("manifest.json").file_size
        if max_bytes is None:
            _check_size(size, _MANIFEST, "has a manifest that takes {} bytes when it is unpacked", total)
        text = archive.read("manifest.json")
        if max_bytes is None:
            nested = text.count(b"[") + text.count(b"{")
            _check_size(nested, _NESTED, "has a manifest of {} lists and objects", total)
        manifest = _checked_manifest(json.loads(text))
        return manifest, [_array(archive.read(f"{i}.npy")) for i in range(len(members) - 1)]


def _check_size(found: int, allowed: int, takes: str, total: int) -> None:
    if found > allowed:
        raise UnreadableError(
            f"{takes.format(f'{found:,}')}, and {allowed:,} are allowed; if you trust it, allow more with "
            f"max_bytes={total} (in a command: --max-bytes {total})"
        )


def _checked_manifest(manifest: Any) -> dict[str, Any]:
    if not isinstance(manifest, dict) or manifest.get("format") != "baserate":
        raise UnreadableError("is not a baserate state file (its manifest is of another format)")
    schema, version = manifest.get("schema"), manifest.get("version")
    if not isinstance(schema, int) or schema > SCHEMA:
        raise UnreadableError(
            f"has schema {schema}, written by baserate {version}; this version reads up to {SCHEMA}. Upgrade baserate"
        )
    if schema < _OLDEST:
        raise UnreadableError(
            f"has schema {schema}, written before the first release of baserate, and is not read any more; fit anew"
        )
    return manifest


def _array(member: bytes) -> np.ndarray[Any, Any]:
    """Return the array of a member, whose header must describe exactly the bytes that follow."""
    size = _LENGTH_AT + 2 + int.from_bytes(member[_LENGTH_AT : _LENGTH_AT + 2], "little")
    shape, dtype = _header(member[:size])
    if math.prod(shape) * dtype.itemsize != len(member) - size:
        raise UnreadableError(f"holds an array of {len(member)} bytes whose header says {dtype} {shape}")
    return np.frombuffer(member, dtype, offset=size).reshape(shape)


@lru_cache(maxsize=1000)
def _header(header: bytes) -> tuple[tuple[int, ...], np.dtype[Any]]:
    """Return what a header says; many states have the same ones, and to read one takes longer than a small array."""
    file = io.BytesIO(header)
    if np.lib.format.read_magic(file) != (1, 0):
        raise UnreadableError("holds an array in a format that baserate does not write")
    shape, by_columns, dtype = np.lib.format.read_array_header_1_0(file, max_header_size=_HEADER)
    if dtype.kind not in "fiubU" or not dtype.isnative or dtype.hasobject or by_columns:
        raise UnreadableError(f"holds an array of {dtype}, which baserate does not write")
    return shape, dtype


class _Reader:
    """Makes values of the nodes of a manifest, and objects of those once they are checked.

    Parameters
    ----------
    arrays : list of array
        The file's arrays, to which nodes refer by number.
    models : dict
        Foreign models, by name.
    version : str
        The version of baserate that wrote the file.
    """

    def __init__(self, arrays: list[np.ndarray[Any, Any]], models: dict[str, Any], version: Any) -> None:
        self._arrays = arrays
        self._models = models
        self._version = version
        self.unused = set(models)
        self._taken: set[int] = set()

    def read(self, node: Any) -> Any:
        """Return the value of a node; of an object, its class, parameters and state."""
        if isinstance(node, list):
            return [item if type(item) in _LEAVES else self.read(item) for item in node]
        if not isinstance(node, dict):
            return node
        if "$array" in node:
            return self._array(node)
        if "$tuple" in node:
            return tuple(self.read(item) for item in node["$tuple"])
        if "$generator" in node:
            return _generator(self.read(node["$generator"]))
        if "$model" in node:
            return self._model(node)
        if "$class" in node:
            return self._part(node)
        if "$type" in node:
            return resolve(node["$type"])
        if any(key.startswith("$") for key in node):
            raise UnreadableError(f"holds entries of an unknown kind, {', '.join(sorted(node))}")
        return {key: self.read(item) for key, item in node.items()}

    def _array(self, node: dict[str, Any]) -> Any:
        place = node["$array"]
        if not isinstance(place, int) or not 0 <= place < len(self._arrays):
            raise UnreadableError(f"has no array {place!r}")
        if place in self._taken:  # two entries that share their memory would change each other
            raise UnreadableError(f"holds array {place} in two places")
        self._taken.add(place)
        array = self._arrays[place]
        return array[()] if node["scalar"] else array

    def _part(self, node: dict[str, Any]) -> SavedPart:
        cls = cast(type[Component], resolve(node["$class"]))
        layout = node.get("layout")
        if not isinstance(layout, int) or layout > cls._layout:
            raise UnreadableError(
                f"holds a {node['$class']} of layout {layout}, written by baserate {self._version}; this version reads "
                f"up to {cls._layout}. Upgrade baserate"
            )
        params = {name: self.read(item) for name, item in node["params"].items()}
        state = {name: self.read(item) for name, item in node["state"].items()}
        if layout < cls._layout:
            params, state = cls.upgrade(layout, params, state)
        return SavedPart(cls, params, state)

    def _model(self, node: dict[str, Any]) -> Any:
        name = node["$model"]
        if name not in self._models:
            kind = node["fingerprint"].partition(":")[0]
            raise UnreadableError(f"was saved without its model, a {kind}; hand it over: load(path, {name}=model)")
        if fingerprint(self._models[name]) != node["fingerprint"]:
            raise UnreadableError(
                f"was saved with another model than this {name}; give the same fitted model, or fit anew on a holdout "
                "of the new one"
            )
        self.unused.discard(name)
        return self._models[name]

    def build(self, value: Any) -> Any:
        """A value that has been checked, with objects in the place of their parts."""
        if isinstance(value, SavedPart):
            params = {name: self.build(item) for name, item in value.params.items()}
            state = {name: self.build(item) for name, item in value.state.items()}
            return value.cls._from_saved(params, state)
        if isinstance(value, list):
            return [item if type(item) in _LEAVES else self.build(item) for item in value]
        if isinstance(value, tuple):
            return tuple(self.build(item) for item in value)
        if isinstance(value, dict):
            return {name: self.build(item) for name, item in value.items()}
        return value


def _generator(state: Any) -> np.random.Generator:
    """A random generator in a state that numpy itself could have left it in: it checks little, and draws with no check.

    Only PCG64, numpy's own choice, is read: others keep places in tables.
    """
    if not isinstance(state, dict) or state.get("bit_generator") != GENERATOR:
        kind = state.get("bit_generator") if isinstance(state, dict) else state
        raise UnreadableError(f"holds a random generator of the kind {kind!r}; only {GENERATOR} is read")
    inner = state.get("state")
    limits = [(inner, "state", 128), (inner, "inc", 128), (state, "has_uint32", 1), (state, "uinteger", 32)]
    for part, name, bits in limits:
        number = part.get(name) if isinstance(part, dict) else None
        if not isinstance(number, int) or not 0 <= number < 2**bits:
            raise UnreadableError(f"holds a random generator whose {name} is {number!r}")
    bit_generator = np.random.PCG64()
    bit_generator.state = {
        "bit_generator": GENERATOR,
        "state": {"state": int(state["state"]["state"]), "inc": int(state["state"]["inc"])},
        "has_uint32": int(state["has_uint32"]),
        "uinteger": int(state["uinteger"]),
    }
    return np.random.Generator(bit_generator)
