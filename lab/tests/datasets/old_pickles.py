"""Writes pickles as old libraries wrote them, which are not here to do it: fragments of the format, put together."""

import pickle

import numpy as np


def plain(value):
    return pickle.dumps(value, 2)[2:-1]


def name(module, attribute):
    return f"c{module}\n{attribute}\n".encode()


def call(function, *args):
    return function + b"(" + b"".join(args) + b"tR"


def with_state(made, state):
    return made + state + b"b"


def several(opening, closing, parts):
    return opening + b"".join(parts) + closing


def mapping(fragments):
    return b"}(" + b"".join(plain(key) + value for key, value in fragments.items()) + b"u"


def finished(fragment):
    return b"\x80\x02" + fragment + b"."


def encoded(raw):
    """Bytes, as protocol 2 has them."""
    return call(name("_codecs", "encode"), plain(raw.decode("latin1")), plain("latin1"))


def array(values):
    values = np.asarray(values)
    dtype = with_state(
        call(
            name("numpy", "dtype"), plain("O8" if values.dtype == object else values.dtype.str[1:]), plain(0), plain(1)
        ),
        plain((3, "|" if values.dtype == object else "<", None, None, None, -1, -1, 0)),
    )
    content = plain(values.tolist()) if values.dtype == object else encoded(values.tobytes())
    empty = call(name("numpy.core.multiarray", "_reconstruct"), name("numpy", "ndarray"), plain((0,)), encoded(b"b"))
    return with_state(empty, several(b"(", b"t", [plain(1), plain(values.shape), dtype, plain(False), content]))


def _rebuilt(module, attribute):
    return call(name("copy_reg", "_reconstructor"), name(module, attribute), name("__builtin__", "object"), plain(None))


def _index(names):
    entries = mapping({"data": array(np.array(names, dtype=object)), "name": plain(None)})
    return call(name("pandas.core.indexes.base", "_new_Index"), name("pandas.core.indexes.base", "Index"), entries)


def table(**columns):
    """A DataFrame; columns of one dtype share a block."""
    columns = {key: np.asarray(values) for key, values in columns.items()}
    kinds = {
        values.dtype: [key for key in columns if columns[key].dtype == values.dtype] for values in columns.values()
    }
    blocks = [array(np.stack([columns[key] for key in keys])) for keys in kinds.values()]
    parts = [
        several(b"](", b"e", [_index(list(columns))]),
        several(b"](", b"e", blocks),
        several(b"](", b"e", [_index(keys) for keys in kinds.values()]),
        plain({}),
    ]
    manager = with_state(_rebuilt("pandas.core.internals.managers", "BlockManager"), several(b"(", b"t", parts))
    return with_state(
        _rebuilt("pandas.core.frame", "DataFrame"), mapping({"_data": manager, "_typ": plain("dataframe")})
    )


def bunch(data, filenames):
    """scikit-learn's Bunch: a new object with entries and a state."""
    entries = b"(" + plain("data") + plain(data) + plain("filenames") + array(filenames) + b"u"
    return name("sklearn.utils", "Bunch") + b")\x81" + entries + plain({"a": 1}) + b"b"
