"""What people hand over in practice: other dtypes, lists, frames, odd memory layouts, odd sizes."""

import inspect

import numpy as np
import pandas as pd
import polars as pl
import pytest

from baserate import Bank
from baserate.adapters import Base, Oracle, RegressAndReweight
from baserate.checks import public_methods
from baserate.checks._bad_input import BAD, BAD_COUNTS, GOOD, TRUSTING
from baserate.checks._roles import PROBA, Y, output_of, prepare
from baserate.marginals import BBSE
from baserate.shifts import Constant, Monotone, sample_stream
from baserate.state import dumps
from baserate.trackers import (
    FLHFTL,
    Aligator,
    Arrows,
    FollowTheFixedWindow,
    FollowTheHistory,
    LastSighting,
    LowSwitching,
    OnlineGradientDescent,
)
from baserate.validation import SUM_TOLERANCE, first_bad_row

from . import exported


def _read_only(array):
    array = array.copy()
    array.setflags(write=False)
    return array


def _strided(array):
    wide = np.repeat(array, 2, axis=-1)
    return wide[..., ::2]


# The same values in another form; the tolerance is that of the form.
FORMS = {
    "list": (lambda a: a.tolist(), 0),
    "tuple": (lambda a: tuple(map(tuple, a.tolist())) if a.ndim == 2 else tuple(a.tolist()), 0),
    "float32": (lambda a: a.astype(np.float32), 1e-6),
    "float16": (lambda a: a.astype(np.float16), 1e-2),
    "big-endian": (lambda a: a.astype(">f8"), 0),
    "object": (lambda a: a.astype(object), 0),
    "read-only": (_read_only, 0),
    "fortran": (np.asfortranarray, 0),
    "strided": (_strided, 0),
    "pandas": (lambda a: pd.DataFrame(a) if a.ndim == 2 else pd.Series(a), 0),
    "polars": (lambda a: pl.DataFrame(a, schema=["a", "b", "c"]) if a.ndim == 2 else pl.Series(a), 0),
    "masked-free matrix": (np.ma.asarray, 0),
}
LABEL_FORMS = {
    "list": lambda y: y.tolist(),
    "int32": lambda y: y.astype(np.int32),
    "uint8": lambda y: y.astype(np.uint8),
    "float": lambda y: y.astype(float),
    "object": lambda y: y.astype(object),
    "pandas": pd.Series,
    "nullable": lambda y: pd.Series(y, dtype="Int64"),
    "polars": pl.Series,
    "strided": lambda y: np.repeat(y, 2)[::2],
    "read-only": _read_only,
}
METHODS = [
    pytest.param(example, name, arguments, id=f"{label}.{name}")
    for label, example in exported.examples().items()
    for name, arguments in public_methods(example)
    if set(arguments) & {"proba", "X", "z", "q", "birth", "y"}
]


def _call(example, name, arguments, forms):
    ready = prepare(example, 2)
    given = {a: forms[a](GOOD[a]) if a in forms else GOOD[a] for a in arguments}
    out = getattr(ready, name)(**given)
    out = getattr(out, "proba", out)
    return ready, out if isinstance(out, np.ndarray) else output_of(ready)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(("example", "name", "arguments"), METHODS)
def test_every_form_of_numbers_works(example, name, arguments, form):
    convert, tolerance = FORMS[form]
    plain, expected = _call(example, name, arguments, {})
    other, got = _call(example, name, arguments, dict.fromkeys({"proba", "X", "z", "q", "birth"}, convert))
    np.testing.assert_allclose(got, expected, rtol=0, atol=max(tolerance * 30, 0))
    if tolerance == 0 and getattr(other, "columns_", None) is None:  # the names of a frame's columns are kept
        assert dumps(other) == dumps(plain)


@pytest.mark.parametrize("form", LABEL_FORMS)
@pytest.mark.parametrize(("example", "name", "arguments"), [p for p in METHODS if "y" in p.values[2]])
def test_every_form_of_labels_works(example, name, arguments, form):
    plain, expected = _call(example, name, arguments, {})
    other, got = _call(example, name, arguments, {"y": LABEL_FORMS[form]})
    assert dumps(other) == dumps(plain)
    np.testing.assert_array_equal(got, expected)


def test_integer_one_hot_probabilities_work():
    y = [0, 1, 0, 1]
    adapter = RegressAndReweight().fit([[1, 0], [0, 1], [1, 0], [0, 1]], y)
    np.testing.assert_array_equal(adapter.step([[1, 0], [0, 1]]).proba, np.eye(2))


@pytest.mark.parametrize("missing", [np.array([0, -1, 2]), np.array([0.0, np.nan, 2.0]), pd.Series([0, None, 2])])
def test_missing_labels_are_minus_one_or_nan(missing):
    adapters = [prepare(RegressAndReweight(FollowTheHistory(3))) for _ in range(2)]
    adapters[0].update(PROBA[:3], missing)
    adapters[1].update(PROBA[:3], [0, -1, 2])
    assert dumps(adapters[0]) == dumps(adapters[1])


@pytest.mark.parametrize("bad", [np.array([0.0, np.nan, 2.0]), np.array([0, -1, 2])])
def test_a_holdout_has_no_missing_labels(bad):
    for cls in (BBSE, Base, RegressAndReweight):
        with pytest.raises(ValueError, match="y holds"):
            cls().fit(PROBA[:3], bad)


def test_a_class_missing_from_the_holdout_is_named():
    for cls in (BBSE, Base, RegressAndReweight):
        with pytest.raises(ValueError, match="y has no sample of class 2"):
            cls().fit(PROBA[:2], [0, 1])


def test_an_empty_holdout_is_refused():
    for cls in (BBSE, Base, RegressAndReweight):
        with pytest.raises(ValueError, match=r"empty holdout|no sample of class 0, 1, 2"):
            cls().fit(np.empty((0, 3)), [])


def test_one_class_is_refused():
    with pytest.raises(ValueError, match="at least 2"):
        FLHFTL(1)
    with pytest.raises(ValueError, match="at least 2 classes"):
        RegressAndReweight().fit(np.ones((5, 1)), np.zeros(5))


def test_an_empty_batch_has_no_estimate():
    with pytest.raises(ValueError, match="proba is an empty batch"):
        prepare(BBSE()).estimate(np.empty((0, 3)))


def test_five_thousand_classes_work():
    k = 5000
    rng = np.random.default_rng(0)
    for tracker in (
        FLHFTL(k),
        FLHFTL(k, experts="window"),
        FollowTheHistory(k),
        FollowTheFixedWindow(k),
        LastSighting(k),
        Aligator(k),
        Arrows(k),
        LowSwitching(FLHFTL(k)),
        OnlineGradientDescent(k),
    ):
        for _ in range(3):
            tracker.update(rng.dirichlet(np.ones(k)))
        assert abs(tracker.predict().sum() - 1) < 1e-9
    y = np.arange(k)
    proba = np.full((k, k), 0.3 / k)
    proba[y, y] += 0.7
    adapter = RegressAndReweight(FollowTheHistory(k), calibrator=None).fit(proba, y)
    assert 0.69 < adapter.marginals_.sigma_min_ < 0.71
    step = adapter.step(proba[:20])
    np.testing.assert_allclose(step.proba.sum(axis=1), 1)
    np.testing.assert_allclose(adapter.prior_[:20], 0.05, atol=1e-6)
    assert Oracle(np.full((1, k), 1 / k)).fit(proba, y).step(proba[:2]).proba.shape == (2, k)


BAD_PARAMETERS = [
    (lambda: FLHFTL("3"), "n_classes"),
    (lambda: FLHFTL(2.0), "n_classes"),
    (lambda: FLHFTL(0), "n_classes"),
    (lambda: FLHFTL(3, experts="end"), "experts"),
    (lambda: FLHFTL(3, learning_rate="fast"), "learning_rate"),
    (lambda: FLHFTL(3, learning_rate=-1.0), "learning_rate"),
    (lambda: FLHFTL(3, learning_rate=0.0), "learning_rate"),
    (lambda: FLHFTL(3, learning_rate=np.nan), "learning_rate"),
    (lambda: FLHFTL(3, prior=[0.5, 0.5]), "prior"),
    (lambda: FLHFTL(3, prior=[0.5, 0.6, -0.1]), "prior"),
    (lambda: FollowTheFixedWindow(3, window=0), "window"),
    (lambda: FollowTheFixedWindow(3, window=2.5), "window"),
    (lambda: LastSighting(3).set_params(n_classes=1), "n_classes"),
    (lambda: Aligator(3, learning_rate="fast"), "learning_rate"),
    (lambda: Aligator(3, learning_rate=0.0), "learning_rate"),
    (lambda: Arrows(3, sigma=0.0), "sigma"),
    (lambda: Arrows(3, sigma=-1.0), "sigma"),
    (lambda: Arrows(3, beta=0.0), "beta"),
    (lambda: Arrows(3, horizon=1), "horizon"),
    (lambda: Arrows(3, horizon=1.5), "horizon"),
    (lambda: OnlineGradientDescent(3, variation=-1.0), "variation"),
    (lambda: OnlineGradientDescent(3, horizon=0), "horizon"),
    (lambda: LowSwitching(FLHFTL), "tracker"),
    (lambda: LowSwitching(3), "tracker"),
    (lambda: LowSwitching(FLHFTL(3), sigma2=0.0), "sigma2"),
    (lambda: LowSwitching(FLHFTL(3), delta=0.0), "delta"),
    (lambda: LowSwitching(FLHFTL(3), delta=1.0), "delta"),
    (lambda: LowSwitching(FLHFTL(3), horizon=0), "horizon"),
    (lambda: LowSwitching(FLHFTL(3), threshold="low"), "threshold"),
    (lambda: LowSwitching(FLHFTL(3), threshold=-1.0), "threshold"),
    (lambda: Oracle([[0.5, 0.5]]), "priors"),
    (lambda: Oracle(np.empty((0, 3))), "priors"),
    (lambda: Base(source_prior=[0.5, 0.5, 0.0]), "source_prior"),
    (lambda: Base(source_prior=[0.5, 0.5]), "source_prior"),
    (lambda: Base(calibrator="temperature"), "calibrator"),
    (lambda: RegressAndReweight(calibrator="temperature"), "calibrator"),
    (lambda: RegressAndReweight(tracker="FLHFTL"), "tracker"),
    (lambda: RegressAndReweight(tracker=int), "tracker"),
    (lambda: RegressAndReweight(tracker=FLHFTL(4)), "tracker"),
    (lambda: RegressAndReweight(marginals=3), "marginals"),
    (lambda: RegressAndReweight(floor=0.5), "floor"),
    (lambda: RegressAndReweight(floor=-0.1), "floor"),
    (lambda: RegressAndReweight(floor="low"), "floor"),
    (lambda: RegressAndReweight(bounds=0.1), "bounds"),
    (lambda: RegressAndReweight(bounds=(0.5, 1.0)), "bounds"),
    (lambda: RegressAndReweight(bounds=(0.0, 0.2)), "bounds"),
    (lambda: RegressAndReweight(bounds=([0.1, 0.1], 1.0)), "bounds"),
    (lambda: RegressAndReweight(bounds=(np.nan, 1.0)), "bounds"),
    (lambda: Constant([0.5, 0.5]).path(5, 3), "q"),
    (lambda: Monotone(first=[1.0, 0.0]).path(5, 3), "first"),
]


@pytest.mark.parametrize(("make", "argument"), BAD_PARAMETERS, ids=range(len(BAD_PARAMETERS)))
def test_bad_parameters_are_named(make, argument):
    with pytest.raises((ValueError, TypeError), match=argument):
        prepare(make())


STREAM = {"proba": PROBA, "y": Y, "shift": Monotone(), "n_rounds": 4}


@pytest.mark.parametrize(
    ("change", "argument"),
    [
        ({"proba": 2 * PROBA}, "proba"),
        ({"y": Y[:-1]}, "y"),
        ({"shift": Monotone}, "shift"),
        ({"shift": "monotone"}, "shift"),
        ({"shift": np.full((4, 2), 0.5)}, "shift"),
        ({"n_rounds": None}, "n_rounds"),
        ({"n_rounds": 0}, "n_rounds"),
        ({"batch_size": 0}, "batch_size"),
        ({"batch_size": 2.5}, "batch_size"),
        ({"features": np.zeros((3, 2))}, "features"),
        ({"rng": "seed"}, "rng"),
        ({"proba": PROBA[Y != 2], "y": Y[Y != 2]}, "class 2"),
    ],
)
def test_a_stream_complains_when_it_is_asked_for(change, argument):
    """Not when its first round is drawn."""
    with pytest.raises((ValueError, TypeError), match=argument):
        sample_stream(**{**STREAM, **change})


BANK_CALLS = {
    "keys": ["abc", 5, [["a"] * 60], ["a"] * 59, [None] * 60, [1.5] * 60, ["a"] * 59 + [1], [True] * 60],
    "proba": BAD["proba"],
    "y": BAD["y"],
    "idle": BAD_COUNTS,
    "rounds": BAD["rounds"],
    "level": [0.0, 1.0, "a", None, np.nan],
    "ids": [["a"] * 59, 5, [1.5] * 60, "abc"],
}


def test_the_bank_refuses_bad_input_and_stays_as_it_was():
    good = {"keys": ["a", "b"] * 30, "proba": PROBA, "y": Y, "idle": 3, "rounds": 3, "level": 0.9}
    good["ids"] = [f"i{i}" for i in range(60)]
    tried = 0
    for name, method in inspect.getmembers(Bank, inspect.isfunction):
        if name.startswith("_") or not method.__module__.startswith("baserate.bank") or name in TRUSTING:
            continue
        arguments = list(inspect.signature(method).parameters)[1:]
        for argument in arguments:
            for bad in BANK_CALLS[argument]:
                if argument == "keys" and "proba" not in arguments and isinstance(bad, list) and len(bad) == 59:
                    continue
                bank = Bank(prepare(RegressAndReweight()))
                bank.update(good["keys"], good["proba"])
                before = dumps(bank)
                with pytest.raises((ValueError, TypeError), match=argument):
                    getattr(bank, name)(**{**{a: good[a] for a in arguments}, argument: bad})
                assert dumps(bank) == before, (name, argument, bad)
                tried += 1
    assert tried > 80


@pytest.mark.parametrize(("total", "fine"), [(1.0009, True), (0.9991, True), (1.0011, False), (0.9989, False)])
def test_rows_sum_to_one_within_a_thousandth(total, fine):
    row = np.array([[0.2, 0.3, total - 0.5]])
    if fine:
        prepare(Base()).predict_proba(row)
    else:
        with pytest.raises(ValueError, match=r"proba row 0 sums to"):
            prepare(Base()).predict_proba(row)


@pytest.mark.parametrize(
    "missing",
    [
        pd.Series([0, pd.NA, 2], dtype="Int64"),
        pd.Series([0, pd.NA, 2], dtype=object),
        pd.Series([0, None, 2]),
        pl.Series([0, None, 2]),
        np.array([0, None, 2], dtype=object),
        np.ma.array([0, 1, 2], mask=[False, True, False]),
    ],
    ids=["Int64", "object", "float", "polars", "None", "masked"],
)
def test_missing_labels_in_every_form(missing):
    adapters = [prepare(RegressAndReweight(FollowTheHistory(3))) for _ in range(2)]
    adapters[0].update(PROBA[:3], missing)
    adapters[1].update(PROBA[:3], [0, -1, 2])
    assert dumps(adapters[0]) == dumps(adapters[1])


@pytest.mark.parametrize("y", [["0", "1", "2"], pd.Series(["0", "1", "2"]), [[0], [1, 2], [2]], ["spam", "ham", "ham"]])
def test_text_and_ragged_labels_are_refused_by_name(y):
    with pytest.raises((ValueError, TypeError), match=r"\by\b"):
        prepare(RegressAndReweight()).update(PROBA[:3], y)


def test_masked_probabilities_are_missing():
    with pytest.raises(ValueError, match="proba row 1 holds NaN"):
        prepare(Base()).predict_proba(np.ma.array(PROBA[:2], mask=[[False] * 3, [True] * 3]))


@pytest.mark.parametrize("n", range(1, 14))
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, -1e-9, 0.5])
def test_the_first_bad_row_is_found_wherever_it_stands(n, value):
    for i in range(n):
        for c in range(3):
            proba = np.full((n, 3), 1 / 3)
            proba[i, c] = value
            proba[i + 1 :: 2, 0] = np.nan  # later ones are not the first
            assert first_bad_row(proba, SUM_TOLERANCE) == i
    assert first_bad_row(np.full((n, 3), 1 / 3), SUM_TOLERANCE) == -1
    both = np.full((n, 3), 1 / 3)
    both[:, 0], both[:, 1] = 1 / 3 + 0.9, 1 / 3 - 0.9  # the sum is right
    assert first_bad_row(both, SUM_TOLERANCE) == 0
