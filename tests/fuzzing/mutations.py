"""Crafted state files: valid ones with one to three things changed. A number gives a file, and always the same."""

import copy
import random

import numpy as np

from baserate.state.registry import registered

from .archives import Draft, damaged, packed

NUMBERS = (
    0, 1, 2, -1, 3, 4, 100, 2**31, 2**52, 2**54, 2**62, 2**63 - 1, 2**63, 2**64, 10**400, -(2**63),
    0.0, -0.0, 0.5, 1.0, 1.5, -1.0, 1e-9, 1e9, 1e18, 1e154, 1e308, -1e308, 5e-324, 2.2e-308,
    float("nan"), float("inf"), float("-inf"),
)  # fmt: skip
TEXTS = (
    "",
    "x",
    "auto",
    "theory",
    "window",
    "sampling",
    "../../etc/passwd",
    "http://localhost/",
    "é\x00\n",
    "9" * 5000,
)
OTHERS = (None, True, False, [], {}, [1.0], {"a": 1}, {"$tuple": []}, {"$array": 0, "scalar": True})
_FLOATS = (0.0, -0.0, 1.0, -1.0, 0.5, 2.0, 1e-300, 5e-324, 1e9, 1e18, 1e154, 1e308, -1e308, np.nan, np.inf, -np.inf)
_INTS = (0, 1, -1, 2, 3, 4, 1000, 2**31, 2**52, 2**54, 2**62, 2**63 - 1, -(2**63))


class Mutator:
    """Makes crafted files.

    Parameters
    ----------
    goldens : list of Golden
        The valid files.
    seed : int
        Another seed gives other files.
    only : str
        Valid files are changed whose names begin with it; parts are put in from all.
    """

    def __init__(self, goldens, seed, only=""):
        self.goldens = [golden for golden in goldens if golden.name.startswith(only)]
        self.seed = seed
        self._parts = [(golden, node) for golden in goldens for node in golden.parts]
        self._names = sorted({node["$class"] for _, node in self._parts})
        self._bases = sorted(name for name in registered() if name.startswith("baserate"))  # never in a valid file
        self._alike = {
            name: [pair for pair in self._parts if pair[1]["$class"] == name] for name in self._names
        }  # by the class

    def case(self, number):
        """The bytes of a file, the valid file that it is made from, and what was changed."""
        rng = random.Random(f"{self.seed}/{number}")
        draft = Draft(rng.choice(self.goldens))
        changes = [self._change(draft, rng) for _ in range(rng.choice([1, 1, 1, 1, 1, 1, 2, 3]))]
        members = draft.members()
        if rng.random() < 0.08:
            data, change = damaged(members, rng)
            return data, draft.name, "; ".join([change, *changes])
        return packed(members), draft.name, "; ".join(changes)

    def _change(self, draft, rng):
        places = list(_places(draft.tree["object"], "", "", draft.tree, "object"))
        place = rng.choice(places)
        node = place.owner[place.key]
        if isinstance(node, dict) and "$array" in node and rng.random() < 0.85:
            change = self._of_array(draft, node, rng)
        elif isinstance(node, dict) and rng.random() < 0.9:
            change = self._of_dict(draft, place, node, rng)
        elif isinstance(node, list) and rng.random() < 0.8:
            change = self._of_list(node, rng)
        elif rng.random() < 0.03:
            change = _of_manifest(draft, rng)
        else:
            change = _of_value(place, node, rng)
        return f"{place.cls}{place.path}: {change}"

    def _of_array(self, draft, node, rng):
        i = node["$array"]
        if not isinstance(i, int) or isinstance(i, bool) or not 0 <= i < len(draft.arrays):
            return "nothing"
        if rng.random() < 0.1:
            node["$array"] = rng.choice(
                [-1, len(draft.arrays), rng.randrange(len(draft.arrays)), 1.0, "0", None, 10**30]
            )
            return f"array number {node['$array']!r}"
        if rng.random() < 0.05:
            node["scalar"] = rng.choice([not node.get("scalar"), None, 1, "x"])
            return f"scalar {node['scalar']!r}"
        name, change = rng.choice(_OF_ARRAYS)
        with np.errstate(all="ignore"):
            draft.put(i, np.asarray(change(draft.arrays[i].copy(), rng)))
        return f"array: {name}"

    def _of_dict(self, draft, place, node, rng):
        if "$class" in node and all(isinstance(node.get(half), dict) for half in ("params", "state")):
            kind = rng.randrange(6)
            if kind == 0:
                strange = ["os.system", "builtins.eval", "", None, 3, []]
                node["$class"] = _one_of([*self._names, *self._names, *self._bases, *strange], rng)
                return f"$class {node['$class']!r}"
            if kind == 1:
                node["layout"] = rng.choice([0, 2, -1, None, True, 1.0, "1", 10**9])
                return f"layout {node['layout']!r}"
            if kind == 2:
                return self._put_part(draft, place, rng.choice(self._parts))
            if kind == 3 and node["$class"] in self._names:
                return self._put_part(draft, place, rng.choice(self._alike[node["$class"]]))
            if kind == 4:  # a parameter that the state holds a second time
                names = [*node["params"], "set_state", "__class__", "predict", "__dict__", "_layout", "saves"]
                name = rng.choice(names)
                node["state"][name] = _one_of([*NUMBERS, *TEXTS, *OTHERS, node["params"].get(name)], rng)
                return f"{name} in state"
            half = rng.choice(["params", "state"])
            other = rng.choice(self._alike[node["$class"]] if node["$class"] in self._names else self._parts)
            node[half] = _moved(draft, other[0], other[1][half])
            return f"{half} of {other[0].name}"
        if "$generator" in node:
            inner = node["$generator"]
            part = rng.choice([inner, inner["state"]]) if isinstance(inner, dict) and "state" in inner else node
            name = rng.choice(list(part))
            part[name] = _one_of([*NUMBERS, *OTHERS, 2**128, 2**128 - 1, 2**32, "MT19937", "PCG64DXSM"], rng)
            return f"$generator {name}"
        return _of_names(node, rng)

    def _of_list(self, node, rng):
        kind = rng.randrange(6)
        if kind == 0 and node:
            del node[rng.randrange(len(node))]
        elif kind == 1:
            node.insert(rng.randrange(len(node) + 1), _one_of([*NUMBERS, *TEXTS, *OTHERS], rng))
        elif kind == 2:
            node.extend(copy.deepcopy(node))
        elif kind == 3:
            node.clear()
        elif kind == 4:
            rng.shuffle(node)
        else:
            node.extend(copy.deepcopy(node[-1:]) * rng.choice([1, 3, 1000]))
        return "a list"

    def _put_part(self, draft, place, pair):
        golden, node = pair
        place.owner[place.key] = _moved(draft, golden, node)
        return f"part {node['$class']} of {golden.name}"


class _Place:
    """A node of the tree: where it hangs, and in which saved object."""

    def __init__(self, owner, key, path, cls):
        self.owner, self.key, self.path, self.cls = owner, key, path, cls


def _places(node, path, cls, owner, key):
    if isinstance(node, dict) and "$class" in node:
        cls, path = str(node["$class"]), ""
    yield _Place(owner, key, path, cls)
    items = enumerate(node) if isinstance(node, list) else node.items() if isinstance(node, dict) else ()
    for name, item in items:
        if name not in ("$class", "layout", "$array", "scalar", "bit_generator"):
            yield from _places(item, f"{path}.{name}", cls, node, name)


def _moved(draft, golden, node):
    """A copy of a node of another file, with its arrays."""
    if isinstance(node, list):
        return [_moved(draft, golden, item) for item in node]
    if not isinstance(node, dict):
        return node
    if "$array" in node:
        return {**node, "$array": draft.add(golden.arrays[node["$array"]])}
    return {name: _moved(draft, golden, item) for name, item in node.items()}


def _one_of(values, rng):
    """A copy of one of the values: what hangs in a tree is changed later, and must not be shared."""
    return copy.deepcopy(rng.choice(values))


def _of_value(place, node, rng):
    kind = rng.randrange(8)
    if kind == 0:
        deep = rng.choice([2, 20, 100])
        for _ in range(deep):
            node = rng.choice([[node], {"a": node}, {"$tuple": [node]}])
        value = node
        shown = f"nested {deep} deep"
    elif isinstance(node, int | float) and not isinstance(node, bool) and kind < 4 and abs(node) < 2**200:
        value = rng.choice([node + 1, node - 1, -node, node * 2, node * 0.999, node / 1e9, float(node), str(node)])
        shown = repr(value)
    else:
        value = _one_of([*NUMBERS, *NUMBERS, *TEXTS, *OTHERS], rng)
        shown = repr(value)[:40]
    place.owner[place.key] = value
    return shown


def _of_names(node, rng):
    names = list(node)
    kind = rng.randrange(4)
    if not names or kind == 0:
        name = rng.choice(["more", "$array", "$class", "$tuple", "$model", "$generator", "__class__", "n_classes"])
        node[name] = _one_of([*NUMBERS, *TEXTS, *OTHERS], rng)
        return f"adds {name}"
    name = rng.choice(names)
    if kind == 1:
        del node[name]
        return f"removes {name}"
    if kind == 2:
        node[name + rng.choice(["_", "x", "\u0000"])] = node.pop(name)
        return f"renames {name}"
    other = rng.choice(names)
    node[name], node[other] = node[other], node[name]
    return f"exchanges {name} and {other}"


def _of_manifest(draft, rng):
    name = rng.choice([*draft.tree, "more"])
    draft.tree[name] = _one_of([*NUMBERS, *TEXTS, *OTHERS], rng)
    return f"manifest {name}"


def _some(array, rng):
    """Places of a few numbers in an array."""
    if array.ndim == 0:
        return ()
    n = min(array.size, rng.choice([1, 1, 1, 3, array.size or 1]))
    return np.unravel_index([rng.randrange(array.size) for _ in range(n)], array.shape)


def _with_special(array, rng):
    if array.size == 0:
        return array
    if array.dtype.kind == "f":
        array[_some(array, rng)] = rng.choice(_FLOATS)
    elif array.dtype.kind in "iu":
        limits = np.iinfo(array.dtype)
        array[_some(array, rng)] = min(max(rng.choice(_INTS), limits.min), limits.max)
    elif array.dtype.kind == "b":
        array[_some(array, rng)] ^= True
    elif array.dtype.kind == "U":
        array[_some(array, rng)] = rng.choice(TEXTS[:4])
    return array


def _shifted(array, rng):
    if array.size and array.dtype.kind in "fiu":
        places = _some(array, rng)
        array[places] = array[places] + array.dtype.type(rng.choice([1, 2, 7]))
    return array


def _scaled(array, rng):
    factor = rng.choice([-1.0, 0.0, 1e-300, 1e-9, 0.5, 2.0, 1e9, 1e150, 1e300])
    return (array * factor).astype(array.dtype) if array.dtype.kind in "fiu" else array


def _retyped(array, rng):
    kind = rng.choice(["f4", "f8", "i4", "i8", "u1", "u8", "?", ">f8", ">i8", "f2", "U4", "c16", "M8[s]"])
    try:
        return array.astype(kind)
    except (TypeError, ValueError):
        return array


def _reshaped(array, rng):
    axis = rng.randrange(array.ndim + 1)
    return rng.choice(
        [array.ravel(), array[np.newaxis], array[..., np.newaxis], array.T, np.asfortranarray(array),
         np.expand_dims(array, axis), array.reshape(-1)[:1].reshape(()) if array.size else array,
         array.reshape(array.shape[::-1])]
    )  # fmt: skip


def _shortened(array, rng):
    if array.ndim == 0 or array.size == 0:
        return array
    axis = rng.randrange(array.ndim)
    n = array.shape[axis]
    return np.take(array, np.arange(rng.choice([0, 1, n - 1, n // 2])), axis=axis)


def _lengthened(array, rng):
    if array.ndim == 0 or array.size == 0:
        return array
    axis, times = rng.randrange(array.ndim), rng.choice([1, 1, 2, 200])
    last = np.take(array, [-1], axis=axis)
    return np.concatenate([array, *[last] * times], axis=axis)


def _reordered(array, rng):
    if array.ndim == 0 or array.size == 0:
        return array
    axis = rng.randrange(array.ndim)
    return rng.choice([np.flip(array, axis), np.sort(array, axis), np.roll(array, 1, axis)])


def _all_alike(array, rng):
    return np.full_like(array, array.ravel()[rng.randrange(array.size)]) if array.size else array


def _moved_mass(array, rng):
    """Rows keep their sums, and with them what makes them class mixes; a share becomes next to nothing, or all."""
    if array.dtype.kind != "f" or array.ndim == 0 or array.size == 0 or array.shape[-1] < 2:
        return array
    rows = array.reshape(-1, array.shape[-1])
    i, j = rng.sample(range(rows.shape[1]), 2)
    some = rng.choice([slice(None), slice(0, 1), slice(rng.randrange(len(rows)), None)])
    total = rows[some].sum(axis=1)
    if rng.random() < 0.3:
        rows[some] = 0.0
        rows[some, j] = total
    else:
        share = rng.choice([0.0, 5e-324, 1e-300, 1e-50, 1e-13, 1e-9, 1e-3])
        rows[some, j] += rows[some, i] - share
        rows[some, i] = share
    return rows.reshape(array.shape)


_OF_ARRAYS = (
    ("special numbers", _with_special),
    ("special numbers", _with_special),
    ("special numbers", _with_special),
    ("mass moved", _moved_mass),
    ("mass moved", _moved_mass),
    ("a bit more", _shifted),
    ("scaled", _scaled),
    ("another type", _retyped),
    ("another shape", _reshaped),
    ("shorter", _shortened),
    ("longer", _lengthened),
    ("another order", _reordered),
    ("all alike", _all_alike),
)
