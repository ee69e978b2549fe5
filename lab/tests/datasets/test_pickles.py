"""Old pickles are read without running anything that is in them."""

import builtins
import os
import pickle

import numpy as np
import pytest

from baserate_lab.datasets._pickles import PickledObject, array, columns, read_records

from . import old_pickles as pickles


def test_a_table_comes_out_as_it_went_in():
    made = {"x": np.array([1.5, -2.0, 3.25]), "label": np.array([1, -1, 7]), "y": np.array([0.0, 1.0, 2.0])}
    table = columns(read_records(pickles.finished(pickles.table(**made))))
    assert table.keys() == made.keys()
    for key, values in made.items():
        assert table[key].dtype == values.dtype
        np.testing.assert_array_equal(table[key], values)


@pytest.mark.parametrize("values", [np.arange(6.0).reshape(2, 3), np.array(["a", "bcd"]), np.arange(3, dtype=np.int32)])
def test_arrays(values):
    made = array(read_records(pickles.finished(pickles.array(values))))
    assert made.dtype == values.dtype
    np.testing.assert_array_equal(made, values)


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
@pytest.mark.parametrize(
    "values",
    [
        np.arange(6.0).reshape(2, 3),
        np.asfortranarray(np.arange(6.0).reshape(2, 3)),
        np.arange(6)[::2],
        np.array([1, 2, 3], dtype=">i4"),
        np.array([1.5, -2.0], dtype=">f8"),
        np.array(["a", "b\xe9"]),
    ],
)
def test_arrays_of_the_numpy_that_is_here(values, protocol):
    made = array(read_records(pickle.dumps(values, protocol)))
    assert made.dtype == values.dtype
    np.testing.assert_array_equal(made, values)


def test_plain_values_need_no_names():
    assert read_records(pickle.dumps({1: [2.5, "three", None]})) == {1: [2.5, "three", None]}


class Attack:
    """Pickles to a call."""

    def __init__(self, function, *args):
        self.call = (function, args)

    def __reduce__(self):
        return self.call


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
@pytest.mark.parametrize("function", [os.system, builtins.eval, builtins.getattr, builtins.__import__])
def test_a_malicious_file_is_refused_and_not_run(protocol, function, tmp_path):
    mark = tmp_path / "ran"
    attack = Attack(
        function, f"__import__('os').mkdir({str(mark)!r})" if function is builtins.eval else f"touch {mark}"
    )
    raw = pickle.dumps([attack], protocol)
    with pytest.raises(ValueError, match=r"refused: it asks for .*\."):
        read_records(raw)
    assert not mark.exists()
    if function in (os.system, builtins.eval):
        pickle.loads(raw)
        assert mark.exists(), "the attack would work on a reader that allows everything"


@pytest.mark.parametrize(
    "fragment",
    [
        pickles.name("numpy.core.multiarray", "scalar"),
        pickles.name("numpy", "load"),
        pickles.name("pandas", "read_pickle"),
        pickles.name("pandas.core.frame", "DataFrame.to_pickle"),
        pickles.name("builtins", "object"),
        b"X\x02\x00\x00\x00osX\x06\x00\x00\x00system\x93",
        b"(ios\nsystem\n",
        b"Pthing\n",
        b"\x82\x01",
    ],
)
def test_no_other_name_is_known(fragment):
    with pytest.raises(ValueError, match="refused"):
        read_records(pickles.finished(fragment))


def test_known_names_are_nothing_but_records():
    """Not even numpy's own constructors are called: a hostile dtype could corrupt memory."""
    made = read_records(pickles.finished(pickles.call(pickles.name("numpy", "dtype"), pickles.plain("O8"))))
    assert type(made) is PickledObject
    assert made.args == ("O8",)
    assert type(read_records(pickles.finished(pickles.encoded(b"abc")))) is PickledObject


@pytest.mark.parametrize("kind", ["O8", "V8", "S3", "f16", "U3x", "f8,f8"])
def test_entries_of_other_types_are_refused(kind):
    record = read_records(pickles.finished(pickles.array(np.arange(3.0))))
    record.state[2].args = (kind, 0, 1)
    with pytest.raises(ValueError, match="entries of type"):
        array(record)


@pytest.mark.parametrize("raw", [b"", b"rubbish", b"\x80\x02.", pickles.finished(pickles.table(x=[1.0]))[:-20]])
def test_a_damaged_file_is_refused(raw):
    with pytest.raises(ValueError, match="refused"):
        read_records(raw)
