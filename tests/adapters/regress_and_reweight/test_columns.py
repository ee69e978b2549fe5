"""Scores, frames and class labels: whatever the form, the same adapter."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from baserate import Bank, RegressAndReweight
from baserate.state import dumps, loads
from baserate.trust import HoldoutWarning

RNG = np.random.default_rng(0)


def model_outputs(n, shares):
    """An honest model's probabilities, and labels."""
    k = len(shares)
    y = RNG.choice(k, n, p=shares)
    odds = np.exp(RNG.normal(size=(n, k)) + 2.0 * np.eye(k)[y]) * shares
    return odds / odds.sum(axis=1, keepdims=True), y


PROBA, Y = model_outputs(600, [0.5, 0.3, 0.2])
TWO, TWO_Y = model_outputs(400, [0.7, 0.3])
NAMES = np.array(["ham", "spam", "eggs"])  # the columns' classes, which are not sorted
COLUMNS = [f"p_{name}" for name in NAMES]
FRAMES = {
    "pandas": lambda data, columns: pd.DataFrame(data, columns=columns),
    "polars": lambda data, columns: pl.DataFrame(data, schema=columns),
}


@pytest.fixture(params=FRAMES)
def frame(request):
    return FRAMES[request.param]


def test_scores_are_the_second_of_two_classes():
    both, scores = RegressAndReweight().fit(TWO, TWO_Y), RegressAndReweight().fit(TWO[:, 1], TWO_Y)
    np.testing.assert_allclose(scores.source_prior_, both.source_prior_, atol=1e-12)
    for rows in (slice(0, 50), slice(50, 51), slice(50, 50)):
        given, expected = scores.step(TWO[rows, 1], TWO_Y[rows]), both.step(TWO[rows], TWO_Y[rows])
        assert given.proba.shape == (rows.stop - rows.start, 2)
        np.testing.assert_allclose(given.proba, expected.proba, atol=1e-9)
    scores.refit(TWO[:, 1].tolist(), TWO_Y)
    scores.update(pd.Series(TWO[:5, 1]), ids=list("abcde"))
    np.testing.assert_allclose(scores.prior_, both.refit(TWO, TWO_Y).prior_, atol=0.05)
    np.testing.assert_array_equal(
        scores.predict_proba(pl.Series(TWO[:9, 1])),
        scores.predict_proba(np.column_stack([1.0 - TWO[:9, 1], TWO[:9, 1]])),
    )


@pytest.mark.parametrize(
    ("scores", "message"),
    [
        (100 * TWO[:, 1], "percentages, divide them by 100"),
        (np.log(TWO[:, 1] / TWO[:, 0]), r"logits or margins, give their sigmoid, 1 / \(1 \+ np.exp\(-scores\)\)"),
        (np.where(np.arange(400) == 7, np.nan, TWO[:, 1]), "proba holds nan at sample 7"),
        (TWO_Y, r"like predicted classes; .* model.predict_proba\(X\)\[:, 1\]"),
        (TWO[:5, 1], "proba has shape .5,., which is one score per sample, and y has 400 labels"),
        (TWO[:, 1:], "or the probability of the second class in one dimension"),
    ],
)
def test_what_are_no_scores(scores, message):
    with pytest.raises(ValueError, match=message):
        RegressAndReweight().fit(scores, TWO_Y)


def test_scores_are_for_two_classes():
    adapter = RegressAndReweight().fit(PROBA, Y)
    with pytest.raises(ValueError, match="enough for 2 classes, here are 3"):
        adapter.step(PROBA[:, 1])


def test_columns_of_frames_go_by_name(frame):
    adapter, plain = RegressAndReweight().fit(frame(PROBA, COLUMNS), Y), RegressAndReweight().fit(PROBA, Y)
    assert adapter.columns_ == COLUMNS
    assert adapter.classes_.tolist() == [0, 1, 2]
    again = loads(dumps(adapter))
    mixed = frame(PROBA[:20][:, [2, 0, 1]], [COLUMNS[c] for c in (2, 0, 1)])
    expected = plain.step(PROBA[:20], Y[:20]).proba
    for one in (adapter, again):
        np.testing.assert_array_equal(one.predict_proba(mixed), expected)
        np.testing.assert_array_equal(one.step(mixed, Y[:20]).proba, expected)
        one.update(PROBA[20:30])  # an array goes by position
        one.refit(frame(PROBA[:, [2, 0, 1]], [COLUMNS[c] for c in (2, 0, 1)]), Y)
    plain.update(PROBA[20:30])
    plain.refit(PROBA, Y)
    np.testing.assert_array_equal(adapter.prior_, plain.prior_)
    np.testing.assert_array_equal(again.prior_, plain.prior_)
    assert dumps(plain) == dumps(RegressAndReweight().fit(PROBA, Y).set_state(plain.get_state()))
    bank = Bank(RegressAndReweight().fit(frame(PROBA, COLUMNS), Y))
    np.testing.assert_array_equal(bank.predict_proba(["a"] * 20, mixed), bank.predict_proba(["a"] * 20, PROBA[:20]))


def test_other_columns_are_refused_by_name(frame):
    adapter = RegressAndReweight().fit(frame(PROBA, COLUMNS), Y)
    before = dumps(adapter)
    with pytest.raises(ValueError, match=r"proba lacks 'p_eggs' and has 'p_cheese' besides; expected .* 'p_ham'"):
        adapter.step(frame(PROBA, ["p_ham", "p_spam", "p_cheese"]))
    with pytest.raises(ValueError, match=r"has 'id' besides.*frame\[adapter.columns_\]"):
        adapter.update(frame(np.column_stack([PROBA, Y]), [*COLUMNS, "id"]))
    assert dumps(adapter) == before


def test_frames_without_names_are_arrays():
    adapter = RegressAndReweight().fit(pd.DataFrame(PROBA), Y)
    assert adapter.columns_ is None
    adapter.step(pd.DataFrame(PROBA, columns=COLUMNS))
    with pytest.raises(ValueError, match="two columns named 'p'"):
        RegressAndReweight().fit(pd.DataFrame(TWO, columns=["p", "p"]), TWO_Y)


def test_a_later_fit_forgets_the_names():
    adapter = RegressAndReweight().fit(pd.DataFrame(PROBA, columns=COLUMNS), NAMES[Y])
    adapter.fit(TWO, TWO_Y)
    assert adapter.columns_ is None
    assert adapter.classes_.tolist() == [0, 1]
    assert dumps(adapter) == dumps(RegressAndReweight().fit(TWO, TWO_Y))


@pytest.mark.parametrize("names", [NAMES, np.array(["0", "1", "2"]), np.array([3, 1, 2])], ids=str)
def test_labels_by_the_names_of_columns(names, frame):
    columns = [f"p_{name}" for name in names]
    adapter, plain = RegressAndReweight().fit(frame(PROBA, columns), names[Y]), RegressAndReweight().fit(PROBA, Y)
    assert adapter.classes_.tolist() == names.tolist()
    for one in (adapter, loads(dumps(adapter))):
        step, expected = one.step(PROBA[:40], names[Y[:40]]), plain.predict_proba(PROBA[:40])
        np.testing.assert_array_equal(step.proba, expected)
        np.testing.assert_array_equal(step.labels, names[expected.argmax(axis=1)])
        assert 0.0 < np.mean(step.labels != names[Y[:40]]) < 0.4, "labels can be compared with labels"
    plain.update(PROBA[:40], Y[:40])
    np.testing.assert_array_equal(adapter.prior_, plain.prior_)


def test_labels_in_sorted_order():
    """As the columns of scikit-learn's models are."""
    order = np.argsort(NAMES)
    adapter = RegressAndReweight().fit(PROBA[:, order], NAMES[Y])
    assert adapter.classes_.tolist() == sorted(NAMES)
    labels = NAMES[Y[:40]].astype(object)
    labels[::2] = None
    adapter.step(PROBA[:40][:, order], labels, ids=list(range(40)))
    assert adapter.waiting_ == 20
    assert adapter.update_labels([0, 2, 4], [NAMES[Y[0]], None, NAMES[Y[4]]]) == 2
    with pytest.raises(ValueError, match="y holds 'cheese', which is none of the classes 'eggs', 'ham', 'spam'"):
        adapter.update_labels([6], ["cheese"])
    bank = Bank(adapter)
    bank.update(["a"] * 40, PROBA[:40][:, order], labels)
    numbered = Bank(RegressAndReweight().fit(PROBA[:, order], np.argsort(order)[Y]))
    columns = np.where(labels == None, -1, np.argsort(order)[Y[:40]])  # noqa: E711
    numbered.update(["a"] * 40, PROBA[:40][:, order], columns)
    np.testing.assert_array_equal(bank.prior(["a"]), numbered.prior(["a"]))


def test_truth_values():
    adapter, plain = RegressAndReweight().fit(TWO, TWO_Y == 1), RegressAndReweight().fit(TWO, TWO_Y)
    step = adapter.step(TWO[:50], TWO_Y[:50] == 1)
    np.testing.assert_array_equal(step.proba, plain.step(TWO[:50], TWO_Y[:50]).proba)
    assert step.labels.dtype == bool
    assert loads(dumps(adapter)).classes_.tolist() == [False, True]


def test_classes_change_with_a_model():
    adapter = RegressAndReweight().fit(TWO, np.array(["a", "b"])[TWO_Y])
    adapter.set_prior([0.2, 0.8])
    adapter.refit(PROBA, np.array(["a", "b", "c"])[Y], previous=[0, 1, None])
    assert adapter.classes_.tolist() == ["a", "b", "c"]
    assert adapter.prior_[1] > adapter.prior_[0]
    with pytest.raises(ValueError, match="'d', which is none of the classes 'a', 'b', 'c'"):
        adapter.refit(PROBA, np.array(["a", "b", "d"])[Y])


def test_a_class_without_samples_is_named():
    with pytest.raises(ValueError, match="no sample of class 'eggs'"):
        RegressAndReweight().fit(pd.DataFrame(PROBA, columns=COLUMNS)[Y < 2], NAMES[Y[Y < 2]])


def test_a_state_with_two_columns_of_one_name_is_refused():
    adapter = RegressAndReweight().fit(pd.DataFrame(PROBA, columns=COLUMNS), Y)
    adapter.columns_ = ["p_ham", "p_ham", "p_eggs"]
    with pytest.raises(ValueError, match="two columns, or two classes, of one name"):
        loads(dumps(adapter))


@pytest.mark.parametrize(
    ("proba", "y", "name"),
    [
        (TWO, TWO_Y, "1"),
        (TWO, np.where(TWO_Y == 1, "spam", "ham"), "'spam'"),
        (pd.DataFrame(TWO, columns=["p_good", "p_bad"]), TWO_Y, "'p_bad'"),
    ],
    ids=["numbers", "labels", "columns"],
)
def test_warnings_name_classes(proba, y, name):
    rows = np.sort(np.concatenate([np.flatnonzero(TWO_Y == 1)[:8], np.flatnonzero(TWO_Y == 0)]))
    with pytest.warns(HoldoutWarning) as told:
        adapter = RegressAndReweight().fit(
            proba.iloc[rows] if isinstance(proba, pd.DataFrame) else proba[rows], y[rows]
        )
    said = [str(warning.message) for warning in told]
    assert any(f"fewer than 10 samples of class {name};" in message for message in said), said
    assert loads(dumps(adapter)).assumption_untested_ == ""


@pytest.mark.parametrize("kind", [list, tuple, np.array, pd.Series, pl.Series], ids=lambda kind: kind.__module__)
def test_classes_are_called_as_is_wished(kind):
    rows = np.r_[np.flatnonzero(TWO_Y == 1)[:8], np.flatnonzero(TWO_Y == 0)]
    names = kind(["fine", "fraud"])
    with pytest.warns(HoldoutWarning, match="fewer than 10 samples of class 'fraud'"):
        adapter = RegressAndReweight().fit(TWO[rows], TWO_Y[rows], names=names)
    with pytest.warns(HoldoutWarning, match="fewer than 10 samples of class 'fraud'"):
        adapter.refit(TWO[rows], TWO_Y[rows], names=names)
    assert adapter.classes_.tolist() == [0, 1], "that is all that names are for"
    with pytest.raises(ValueError, match="names has 3 entries; expected 2"):
        adapter.fit(TWO, TWO_Y, names=["a", "b", "c"])
    with pytest.raises(ValueError, match="names has 3 entries; expected 2"):
        adapter.refit(TWO, TWO_Y, names=["a", "b", "c"])


@pytest.mark.parametrize("kind", [list, np.array], ids=lambda kind: kind.__module__)
def test_names_that_are_the_labels_say_which_column_is_which(kind):
    texts = np.where(TWO_Y == 1, "fraud", "good")  # in sorted order the first column would be fraud
    adapter = RegressAndReweight().fit(TWO, texts, names=kind(["good", "fraud"]))
    numbered = RegressAndReweight().fit(TWO, TWO_Y)
    assert adapter.classes_.tolist() == ["good", "fraud"]
    np.testing.assert_array_equal(adapter.source_prior_, numbered.source_prior_)
    np.testing.assert_array_equal(adapter.predict_proba(TWO), numbered.predict_proba(TWO))
    assert loads(dumps(adapter)).refit(TWO, texts).classes_.tolist() == ["good", "fraud"]


def test_names_that_are_no_labels_are_for_messages_only():
    texts = np.where(TWO_Y == 1, "b", "a")
    adapter = RegressAndReweight().fit(TWO, texts, names=["b or so", "a or so"])
    assert adapter.classes_.tolist() == ["a", "b"]


@pytest.mark.parametrize("kind", [np.asarray, list, pd.Series])
def test_one_score_could_be_either_column_of_a_frame(kind):
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=200)
    p = np.clip(rng.normal(0.2 + 0.6 * y, 0.1), 0.01, 0.99)
    adapter = RegressAndReweight().fit(pd.DataFrame({"p_fraud": p, "p_ok": 1 - p}), np.where(y == 1, "fraud", "ok"))
    with pytest.raises(ValueError, match="fitted on the columns 'p_fraud', 'p_ok', of which either could be meant"):
        adapter.step(kind(p[:10]))
    assert adapter.rounds_ == 0
