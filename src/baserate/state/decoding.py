"""Reading of state files: from bytes to a running object."""

import io
import json
import zipfile
from typing import Any, cast

import numpy as np

from baserate.state.component import Component
from baserate.state.encoding import SCHEMA
from baserate.state.foreign_models import fingerprint
from baserate.state.registry import resolve
from baserate.state.unreadable import UnreadableError

_OLDEST = 2
_GENERATORS = {"PCG64", "PCG64DXSM", "MT19937", "Philox", "SFC64"}


def loads(data: bytes, name: str = "these bytes", **models: Any) -> Any:
    """Return the object that `dumps` turned into bytes."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            manifest = _manifest(archive)
            members = [archive.read(f"{i}.npy") for i in range(len(archive.namelist()) - 1)]
        arrays = [np.lib.format.read_array(io.BytesIO(member), allow_pickle=False) for member in members]
        reader = _Reader(arrays, models, manifest.get("version"))
        obj = reader.decode(manifest["object"])
    except UnreadableError as error:
        raise ValueError(f"{name} {error}.") from error
    except Exception as error:  # a damaged file can trip any part of the reader
        raise ValueError(f"{name} is not a baserate state file, or is truncated or damaged ({error}).") from error
    if reader.unused:
        named = ", ".join(sorted(reader.unused))
        raise ValueError(f"{name} was saved without a model for {named}; leave that argument out.")
    return obj


def _manifest(archive: zipfile.ZipFile) -> dict[str, Any]:
    if "manifest.json" not in archive.namelist():
        raise UnreadableError("is not a baserate state file (it has no manifest)")
    manifest = json.loads(archive.read("manifest.json"))
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


def check_array(value: Any, name: str, like: np.ndarray[Any, Any]) -> Any:
    """Check that an array from a file has the expected shape and type, because compiled code does not.

    The copy that is returned belongs to nobody else.
    """
    if not isinstance(value, np.ndarray) or value.shape != like.shape or value.dtype != like.dtype:
        found = f"{value.dtype} {value.shape}" if isinstance(value, np.ndarray) else type(value).__name__
        raise UnreadableError(f"holds {name} as {found}, not as {like.dtype} {like.shape}")
    return value.copy()


class _Reader:
    """Builds objects from the nodes of a manifest.

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

    def decode(self, node: Any) -> Any:
        """Return the value of a node."""
        if isinstance(node, list):
            return [self.decode(item) for item in node]
        if not isinstance(node, dict):
            return node
        if "$array" in node:
            array = self._arrays[node["$array"]]
            return array[()] if node["scalar"] else array
        if "$tuple" in node:
            return tuple(self.decode(item) for item in node["$tuple"])
        if "$generator" in node:
            return self._generator(self.decode(node["$generator"]))
        if "$model" in node:
            return self._model(node)
        if "$class" in node:
            return self._component(node)
        return {key: self.decode(item) for key, item in node.items()}

    def _component(self, node: dict[str, Any]) -> Component:
        cls = cast(type[Component], resolve(node["$class"]))
        layout = node.get("layout")
        if not isinstance(layout, int) or layout > cls._layout:
            raise UnreadableError(
                f"holds a {node['$class']} of layout {layout}, written by baserate {self._version}; this version reads "
                f"up to {cls._layout}. Upgrade baserate"
            )
        params = {name: self.decode(item) for name, item in node["params"].items()}
        state = {name: self.decode(item) for name, item in node["state"].items()}
        if layout < cls._layout:
            params, state = cls.upgrade(layout, params, state)
        return cls._from_saved(params, state)

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

    @staticmethod
    def _generator(state: dict[str, Any]) -> np.random.Generator:
        kind = state.get("bit_generator")
        if kind not in _GENERATORS:
            raise UnreadableError(f"holds a random generator of the unknown kind {kind!r}")
        bits = getattr(np.random, kind)()
        bits.state = state
        return np.random.Generator(bits)
