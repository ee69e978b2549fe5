"""Save and load any running object: JSON and arrays in one file, versioned, atomic, never pickle.

An object is stored as ``{class, params, state}``: `params` are the arguments of its constructor, `state` is every other
attribute. Both may hold further objects. Only registered classes are stored and loaded; a subclass of `Component` is
registered by being defined. A file is a zip archive with `manifest.json` and one `.npy` member per array.
"""

import contextlib
import copy
import importlib
import io
import json
import os
import secrets
import sys
import zipfile
from pathlib import Path
from typing import Any, Self, cast

import numpy as np

from baserate._version import __version__
from baserate.parameters import Parametrised, clone

SCHEMA = 1
"""Version of the file format. A reader knows every schema up to its own."""

_REGISTERED: dict[str, list[type["Component"]]] = {}
_EPOCH = (1980, 1, 1, 0, 0, 0)  # zip's earliest date: the same state gives the same bytes


class _UnreadableError(ValueError):
    """The file is whole, but cannot be used here; says why."""


class Component(Parametrised):
    """Base of everything that has parameters and running state.

    As scikit-learn's estimators it has `get_params`, `set_params` and a repr, and can be cloned; the constructor stores
    its arguments untouched. Its running state is whatever else it holds: arrays, numbers, strings, lists, dicts,
    further components.
    """

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        _REGISTERED.setdefault(f"{cls.__module__}.{cls.__qualname__}", []).append(cls)

    def get_state(self) -> dict[str, Any]:
        """Everything the object has come to hold since it was constructed."""
        params = self.get_params(deep=False)
        return {name: value for name, value in vars(self).items() if name not in params}

    def set_state(self, state: dict[str, Any]) -> Self:
        """Put a state of `get_state` back; a copy, so that two objects never move each other."""
        self.__dict__.update(copy.deepcopy(state))
        return self

    def _to_saved(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """The parameters and the state that a file holds; what keeps a foreign model says here how it is saved."""
        return self.get_params(deep=False), self.get_state()

    @classmethod
    def _from_saved(cls, params: dict[str, Any], state: dict[str, Any]) -> Self:
        """The object that `_to_saved` took apart."""
        return cls(**params).set_state(state)

    @classmethod
    def examples(cls) -> list[Self]:
        """Instances that `baserate.checks` runs the contract on; one per mode that has code of its own."""
        return [cls()]


class Beginning(Component):
    """What starts anew when its parameters change: `_begin` checks them and makes the state."""

    def _begin(self) -> None:
        raise NotImplementedError

    def set_params(self, **params: Any) -> Self:
        """Change parameters, and start anew with them."""
        if params:
            changed = clone(self)  # so that a refused value leaves the object as it was
            super(Beginning, changed).set_params(**params)
            changed._begin()
            self.__dict__ = changed.__dict__
        return self


def save(obj: Any, path: str | os.PathLike[str]) -> None:
    """Write a running object to a file, whole or not at all.

    Parameters
    ----------
    obj : Component
        A tracker, estimator, calibrator, adapter, learner or `Bank`, at any point of its life.
    path : path
        Where to. An existing file is replaced in one step, so that an interrupted write leaves the old one.

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
    """Write a file whole or not at all: beside its place, then moved into it."""
    target = Path(os.path.realpath(path))  # a link stays one, and what it leads to is written
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


def load(path: str | os.PathLike[str], **models: Any) -> Any:
    """Read a running object from a file written by `save`; it goes on as if it had never stopped.

    Parameters
    ----------
    path : path
        The file.
    **models
        What wraps a foreign model (``estimator=``) is saved without it: hand the same model over again.

    Raises
    ------
    ValueError
        If the file is not one of baserate's, is damaged, comes from a newer version, holds a class that is not known
        here, or was saved with another model than the one given.
    """
    return loads(Path(path).read_bytes(), name=str(path), **models)


def dumps(obj: Any) -> bytes:
    """The bytes that `save` writes. Equal states have equal bytes."""
    if not _is_registered(obj):
        raise TypeError(
            f"cannot save a {type(obj).__name__}; expected an object of baserate, or of a subclass of "
            "baserate.state.Component."
        )
    arrays: list[np.ndarray[Any, Any]] = []
    manifest = {
        "format": "baserate",
        "schema": SCHEMA,
        "version": __version__,
        "object": _encode(obj, arrays, type(obj).__name__),
    }
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr(zipfile.ZipInfo("manifest.json", _EPOCH), json.dumps(manifest))
        for i, array in enumerate(arrays):
            member = io.BytesIO()
            np.lib.format.write_array(member, array, allow_pickle=False)
            archive.writestr(zipfile.ZipInfo(f"{i}.npy", _EPOCH), member.getvalue())
    return buffer.getvalue()


def loads(data: bytes, name: str = "these bytes", **models: Any) -> Any:
    """The object that `dumps` made bytes of."""
    unused = set(models)
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            if "manifest.json" not in archive.namelist():
                raise _UnreadableError("is not a baserate state file (it has no manifest)")
            manifest = json.loads(archive.read("manifest.json"))
            if not isinstance(manifest, dict) or manifest.get("format") != "baserate":
                raise _UnreadableError("is not a baserate state file (its manifest is of another format)")
            schema = manifest.get("schema")
            if not isinstance(schema, int) or schema > SCHEMA:
                raise _UnreadableError(
                    f"has schema {schema}, written by baserate {manifest.get('version')}; this version reads up "
                    f"to {SCHEMA}. Upgrade baserate"
                )
            members = [archive.read(f"{i}.npy") for i in range(len(archive.namelist()) - 1)]
        arrays = [np.lib.format.read_array(io.BytesIO(member), allow_pickle=False) for member in members]
        obj = _decode(manifest["object"], arrays, models, unused)
    except _UnreadableError as error:
        raise ValueError(f"{name} {error}.") from error
    except Exception as error:  # a damaged file can trip any part of the reader
        raise ValueError(f"{name} is not a baserate state file, or is truncated or damaged ({error}).") from error
    if unused:
        named = ", ".join(sorted(unused))
        raise ValueError(f"{name} was saved without a model for {named}; leave that argument out.")
    return obj


def _hash(model: Any) -> str:
    """Joblib's hash, which a model keeps when it is pickled and read again."""
    from joblib.hashing import NumpyHasher  # type: ignore[import-untyped]  # slow to import, and seldom needed

    class ModelHasher(NumpyHasher):  # type: ignore[misc]  # joblib ships no types
        def save(self, obj: Any) -> None:
            if isinstance(obj, np.ma.MaskedArray):  # joblib cannot hash one; the results of a search hold some
                obj = ("masked", np.array(obj.data), np.array(np.ma.getmaskarray(obj)))
            elif type(obj) is np.ndarray and not obj.dtype.hasobject:
                # joblib hashes strides, and those of an axis of length 1 do not survive pickling. A copy would not do:
                # the gaps in the records of a tree are not copied.
                columns_first = obj.flags.f_contiguous and not obj.flags.c_contiguous
                rows = obj.T if columns_first else obj
                rows = np.ascontiguousarray(rows).reshape(-1).reshape(rows.shape)
                obj = rows.T if columns_first else rows
            super().save(obj)

    return str(ModelHasher("md5").hash(model))


def fingerprint(model: Any) -> str:
    """A hash of a foreign model, to tell on loading whether it is the same one. That it is frozen does not matter."""
    frozen = sys.modules.get("sklearn.frozen")  # if it was never imported, this is none
    bare = model.estimator if frozen is not None and isinstance(model, frozen.FrozenEstimator) else model
    return f"{type(bare).__module__}.{type(bare).__qualname__}:{_hash(bare)}"


def check_array(value: Any, name: str, like: np.ndarray[Any, Any]) -> Any:
    """Check that an array out of a file has the shape and type it must have: compiled code does not look again.

    The copy that is returned belongs to nobody else.
    """
    if not isinstance(value, np.ndarray) or value.shape != like.shape or value.dtype != like.dtype:
        found = f"{value.dtype} {value.shape}" if isinstance(value, np.ndarray) else type(value).__name__
        raise _UnreadableError(f"holds {name} as {found}, not as {like.dtype} {like.shape}")
    return value.copy()


def _class_name(cls: type) -> str:
    """A class's name in files: where users import it from, if they can, so that files survive a move of the code."""
    package = ".".join(cls.__module__.split(".")[:2])
    if package.startswith("baserate.") and getattr(sys.modules.get(package), cls.__qualname__, None) is cls:
        return f"{package}.{cls.__qualname__}"
    return f"{cls.__module__}.{cls.__qualname__}"


def _is_registered(value: object) -> bool:
    cls = type(value)
    return cls in _REGISTERED.get(f"{cls.__module__}.{cls.__qualname__}", [])


def _encode(value: Any, arrays: list[np.ndarray[Any, Any]], where: str) -> Any:
    if isinstance(value, np.generic | np.ndarray):
        if value.dtype.kind not in "fiubU":
            raise TypeError(f"cannot save {where}: arrays of dtype {value.dtype} are not plain data.")
        arrays.append(
            np.ascontiguousarray(value) if isinstance(value, np.ndarray) and value.ndim else np.asarray(value)
        )
        return {"$array": len(arrays) - 1, "scalar": isinstance(value, np.generic)}
    if value is None or isinstance(value, bool | str | int | float):
        return value  # JSON writes the shortest text that reads back as the same float; NaN and infinities too
    if isinstance(value, list | tuple):
        items = [_encode(item, arrays, f"{where}[{i}]") for i, item in enumerate(value)]
        return items if isinstance(value, list) else {"$tuple": items}
    if isinstance(value, dict):
        if not all(isinstance(key, str) and not key.startswith("$") for key in value):
            raise TypeError(f"cannot save {where}: the keys of a dict must be text.")
        return {key: _encode(item, arrays, f"{where}[{key!r}]") for key, item in value.items()}
    if isinstance(value, np.random.Generator):
        return {"$generator": _encode(value.bit_generator.state, arrays, where)}
    if _is_registered(value):
        params, state = (
            {name: _encode(item, arrays, f"{where}.{name}") for name, item in sorted(part.items())}
            for part in value._to_saved()
        )
        return {"$class": _class_name(type(value)), "params": params, "state": state}
    if hasattr(value, "__array__"):  # a frame or a series; it comes back as an array
        return _encode(np.asarray(value), arrays, where)
    if hasattr(value, "predict_proba"):
        return {"$model": where.rpartition(".")[2], "fingerprint": fingerprint(value)}
    raise TypeError(f"cannot save {where}: {type(value).__name__} is not plain data, nor a registered class.")


def _decode(node: Any, arrays: list[np.ndarray[Any, Any]], models: dict[str, Any], unused: set[str]) -> Any:
    if isinstance(node, list):
        return [_decode(item, arrays, models, unused) for item in node]
    if not isinstance(node, dict):
        return node
    if "$array" in node:
        array = arrays[node["$array"]]
        return array[()] if node["scalar"] else array
    if "$tuple" in node:
        return tuple(_decode(item, arrays, models, unused) for item in node["$tuple"])
    if "$generator" in node:
        return _decode_generator(_decode(node["$generator"], arrays, models, unused))
    if "$model" in node:
        return _decode_model(node, models, unused)
    if "$class" in node:
        cls = _resolve(node["$class"])
        params, state = (
            {name: _decode(item, arrays, models, unused) for name, item in node[part].items()}
            for part in ("params", "state")
        )
        return cls._from_saved(params, state)
    return {key: _decode(item, arrays, models, unused) for key, item in node.items()}


def _decode_generator(state: dict[str, Any]) -> np.random.Generator:
    kinds = {"PCG64", "PCG64DXSM", "MT19937", "Philox", "SFC64"}
    if state.get("bit_generator") not in kinds:
        raise _UnreadableError(f"holds a random generator of the unknown kind {state.get('bit_generator')!r}")
    bits = getattr(np.random, state["bit_generator"])()
    bits.state = state
    return np.random.Generator(bits)


def _decode_model(node: dict[str, Any], models: dict[str, Any], unused: set[str]) -> Any:
    name = node["$model"]
    if name not in models:
        kind = node["fingerprint"].partition(":")[0]
        raise _UnreadableError(f"was saved without its model, a {kind}; hand it over: load(path, {name}=model)")
    if fingerprint(models[name]) != node["fingerprint"]:
        raise _UnreadableError(
            f"was saved with another model than this {name}; give the same fitted model, or fit anew on a holdout of "
            "the new one"
        )
    unused.discard(name)
    return models[name]


def _resolve(name: str) -> type[Component]:
    """The registered class of a name in a file. Only public modules of this package are imported for it."""
    module, _, attribute = name.rpartition(".")
    cls: Any = None
    if module.startswith("baserate.") and not any(part.startswith("_") for part in module.split(".")):
        with contextlib.suppress(ModuleNotFoundError):
            cls = getattr(importlib.import_module(module), attribute, None)
    if not (isinstance(cls, type) and issubclass(cls, Component)):
        cls = _REGISTERED.get(name, [None])[-1]
    if cls is None:
        raise _UnreadableError(f"holds a {name}, which is not known here; import the module that defines it first")
    return cast(type[Component], cls)
