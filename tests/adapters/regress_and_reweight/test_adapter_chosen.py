"""Labels that were chosen with known probabilities, and labels that come from one predicted class alone."""

import warnings

import numpy as np
import pytest

from baserate.adapters import RegressAndReweight
from baserate.marginals import BBSE
from baserate.state import dumps, loads
from baserate.trackers import LastSighting
from baserate.trust import SelectedLabelsWarning


def model_outputs(rng, n, share):
    y = (rng.random(n) < share).astype(int)
    odds = np.exp(2.0 * rng.normal(2.0 * y - 1.0, 1.0))
    return np.column_stack([1 / (1 + odds), odds / (1 + odds)]), y


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture
def adapter(rng):
    return RegressAndReweight(calibrator=None).fit(*model_outputs(rng, 1000, 0.5))


def told_at_random(rng, y, share):
    return np.where(rng.random(len(y)) < share, y, -1)


def test_equal_probabilities_change_nothing(adapter, rng):
    plain = loads(dumps(adapter))
    for _ in range(30):
        proba, y = model_outputs(rng, 20, 0.9)
        told = told_at_random(rng, y, 0.3)
        one, other = plain.step(proba, told), adapter.step(proba, told, y_probability=0.3)
        np.testing.assert_allclose(one.proba, other.proba, rtol=1e-9)
    weights = [found._correction.portfolio_.weights_ for found in (plain, adapter)]
    np.testing.assert_allclose(*weights, rtol=1e-9)
    assert weights[0][0] != 0.8  # which it is before the first label


def test_late_labels_with_probabilities_are_as_good_as_those_at_once(adapter, rng):
    """They say the same about the correction whenever they come; probabilities count in the mean over samples alone."""
    late, other = loads(dumps(adapter)), loads(dumps(adapter))
    adapter.set_prior([0.1, 0.9])
    late.set_prior([0.1, 0.9])
    other.set_prior([0.1, 0.9])
    proba, y = model_outputs(rng, 200, 0.9)
    chosen = np.where(y == 1, rng.uniform(0.1, 0.3, 200), rng.uniform(0.7, 1.0, 200))
    told = np.where(rng.random(200) < chosen, y, -1)
    ids = [f"{i}" for i in range(200)]
    adapter.step(proba, told, y_probability=chosen)
    for found in (late, other):
        found.step(proba, ids=ids)
    assert late.update_labels(ids, told, y_probability=chosen) == (told >= 0).sum()
    assert other.update_labels(ids, told) == (told >= 0).sum()
    counted = [found._correction.portfolio_._inverse for found in (adapter, late, other)]
    np.testing.assert_allclose(counted[0], counted[1])
    np.testing.assert_array_equal(counted[2], [0.0, 0.0])
    weights = [found._correction.portfolio_.weights_ for found in (adapter, late, other)]
    assert np.abs(weights[0] - weights[1]).max() < 0.1  # late ones are judged after the tracker has seen the round
    np.testing.assert_array_equal(weights[2], weights[1])
    mixes = [found._correction.portfolio_.discounted_[1] for found in (adapter, late, other)]
    assert mixes[0] == pytest.approx(mixes[1], abs=0.06)
    assert mixes[2] < mixes[1] - 0.1  # the rare class was asked for most of the time


def test_a_sighting_of_chosen_labels_is_unbiased():
    """Trackers that read estimates are given the class mix of the batch, not that of the rows that were chosen."""
    rng = np.random.default_rng(3)
    adapter = RegressAndReweight(LastSighting(2), BBSE(), calibrator=None).fit(*model_outputs(rng, 20_000, 0.5))
    found, plain = [], []
    for _ in range(300):
        proba, y = model_outputs(rng, 400, 0.3)
        chosen = np.where(proba[:, 1] > 0.5, 0.5, 0.02)  # mostly what is flagged
        told = np.where(rng.random(400) < chosen, y, -1)
        starts = np.array([0, 400])
        found.append(adapter.sightings(proba, told, starts, chosen)[0, 1])
        plain.append(adapter.sightings(proba, told, starts)[0, 1])
    assert np.mean(found) == pytest.approx(0.3, abs=0.012)
    assert abs(np.mean(plain) - 0.3) > 0.05


def test_a_sighting_of_all_labels_is_their_share():
    adapter = RegressAndReweight(LastSighting(2), BBSE(), calibrator=None).fit(
        [[0.9, 0.1], [0.2, 0.8]] * 50, [0, 1] * 50
    )
    proba, y = np.array([[0.9, 0.1]] * 4), np.array([0, 1, 1, 1])
    adapter.step(proba, y, y_probability=1.0)
    np.testing.assert_allclose(adapter.prior_, [0.25, 0.75])


def test_a_label_is_evidence_of_its_own_class_however_it_was_chosen(rng):
    """Labels that are chosen by the outputs leave the likelihood of the class mix as it is: no weights, no bias."""
    found = {}
    for name in ("flagged", "none"):
        rng = np.random.default_rng(8)
        adapter = RegressAndReweight(calibrator=None, gate=False).fit(*model_outputs(rng, 20_000, 0.5))
        for _ in range(300):
            proba, y = model_outputs(rng, 20, 0.2)
            told = np.where(proba[:, 1] > 0.5, y, -1) if name == "flagged" else None
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", SelectedLabelsWarning)
                adapter.step(proba, told)
        found[name] = adapter.prior_[1]
    assert found["flagged"] == pytest.approx(0.2, abs=0.03)
    assert found["none"] == pytest.approx(0.2, abs=0.03)


def flagged(proba, y):
    return np.where(proba[:, 1] > 0.5, y, -1)


def test_labels_of_one_predicted_class_alone_are_told_of_once(adapter, rng):
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        for _ in range(50):
            proba, y = model_outputs(rng, 10, 0.5)
            adapter.step(proba, flagged(proba, y))
            adapter = loads(dumps(adapter))
    (warning,) = told
    assert warning.category is SelectedLabelsWarning
    assert "predicts as class 1" in str(warning.message)
    assert "y_probability" in str(warning.message)
    assert warning.filename == __file__


def test_late_labels_of_one_predicted_class_are_told_of_too(adapter, rng):
    proba, y = model_outputs(rng, 300, 0.5)
    adapter.step(proba, ids=list(range(300)))
    with pytest.warns(SelectedLabelsWarning, match="[45]. % of its predictions"):
        adapter.update_labels(list(range(300)), flagged(proba, y))


def test_the_warning_names_the_class(rng):
    proba, y = model_outputs(rng, 1000, 0.5)
    adapter = RegressAndReweight(calibrator=None).fit(proba, np.where(y == 1, "spam", "ham"))
    proba, y = model_outputs(rng, 300, 0.5)
    with pytest.warns(SelectedLabelsWarning, match="predicts as class 'spam'"):
        adapter.step(proba, [("ham", "spam")[c] if p > 0.5 else None for c, p in zip(y, proba[:, 1], strict=True)])


@pytest.mark.parametrize(
    "case", ["at random", "both classes", "with probabilities", "few", "the class is nearly everything", "unlabelled"]
)
def test_labels_that_are_nothing_to_tell_of(case, adapter, rng):
    """Warnings are errors here."""
    for _ in range(50):
        proba, y = model_outputs(rng, 10, 0.5)
        if case == "the class is nearly everything":
            proba[rng.random(10) < 0.9] = 0.1, 0.9
        own = proba.argmax(axis=1)
        told, chosen = flagged(proba, y), None
        if case == "at random":
            told = told_at_random(rng, y, 0.2)
        elif case == "both classes":
            told = np.where((own == 1) | (rng.random(10) < 0.1), y, -1)
        elif case == "with probabilities":
            chosen = np.where(own == 1, 1.0, 0.01)
        elif case == "few":
            told = np.where(np.arange(10) == 0, told, -1) if adapter.rounds_ < 40 else None
        elif case == "the class is nearly everything":
            told = np.where(rng.random(10) < 0.3, told, -1)
        else:
            told = np.full(10, -1)
        adapter.step(proba, told, y_probability=chosen)


def test_reset_and_fit_forget_what_was_labelled(adapter, rng):
    proba, y = model_outputs(rng, 300, 0.5)
    for again in (adapter.reset, lambda: adapter.fit(*model_outputs(rng, 1000, 0.5))):
        with pytest.warns(SelectedLabelsWarning):
            adapter.step(proba, flagged(proba, y))
        again()
    with pytest.warns(SelectedLabelsWarning):
        adapter.step(proba, flagged(proba, y))


@pytest.mark.parametrize(
    ("y", "chosen", "words"),
    [
        (None, 0.5, "y_probability is given without y"),
        ([0, 1], [0.5], "y_probability has shape"),
        ([0, 1], [0.5, 0.0], "y_probability holds 0 at sample 1"),
        ([0, 1], [0.5, 2.0], "above 0 and at most 1"),
        ([0, 1], [0.5, None], "y_probability holds nan at sample 1"),
        ([0, 1], ["a", "b"], "not a number"),
        ([0, 1], 20, "y_probability holds 20 at sample 0"),
    ],
)
def test_bad_probabilities_are_refused_and_change_nothing(adapter, y, chosen, words):
    adapter.step([[0.6, 0.4], [0.3, 0.7]], ids=["a", "b"])
    before = dumps(adapter)
    with pytest.raises((ValueError, TypeError), match=words):
        adapter.step([[0.6, 0.4], [0.3, 0.7]], y, y_probability=chosen)
    if y is not None:
        with pytest.raises((ValueError, TypeError), match=words):
            adapter.update_labels(["a", "b"], y, y_probability=chosen)
    assert dumps(adapter) == before


def test_probabilities_of_unlabelled_rows_do_not_matter(adapter):
    other = loads(dumps(adapter))
    proba = [[0.6, 0.4], [0.3, 0.7]]
    adapter.step(proba, [0, -1], y_probability=[0.5, np.nan])
    other.step(proba, [0, -1], y_probability=[0.5, 7.0])
    assert dumps(adapter) == dumps(other)
