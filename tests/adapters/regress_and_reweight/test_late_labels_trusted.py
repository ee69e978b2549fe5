"""Late labels in the estimated accuracy and the band: as if they had come with their rounds."""

import numpy as np
import pytest

from baserate import RegressAndReweight, dumps, loads


def outputs(rng, n, share, noise=1.0):
    y = (rng.random(n) < share).astype(int)
    odds = np.exp(2.0 * rng.normal(2.0 * y - 1.0, noise))
    return np.column_stack([1 / (1 + odds), odds / (1 + odds)]), y


def run(late, *, noise=2.0, y_probability=None, tracker=None, seed=0):
    """100 rounds of 20 rows, a fifth of them labelled at once, or all at the end in another order.

    The stream is broken, so that what labels say differs from what the model says.
    """
    rng = np.random.default_rng(seed)
    adapter = RegressAndReweight(gate=False, alpha=None).fit(*outputs(rng, 1000, 0.5))
    told = []
    for t in range(100):
        proba, y = outputs(rng, 20, 0.2, noise)
        known = rng.random(20) < 0.2
        names = [f"{t}-{i}" for i in range(20)]
        if late:
            adapter.step(proba, ids=names)
            told += [(name, int(label)) for name, label, k in zip(names, y, known, strict=True) if k]
        else:
            adapter.step(proba, np.where(known, y, -1), y_probability=y_probability)
    if late:
        told = [told[i] for i in rng.permutation(len(told))]
        if y_probability is None:
            adapter.update_labels(*zip(*told, strict=True))
        else:
            adapter.update_labels(*zip(*told, strict=True), y_probability=[y_probability] * len(told))
    return adapter


def test_they_count_in_accuracy_and_band():
    late, at_once = run(late=True), run(late=False)
    np.testing.assert_allclose(late.estimated_accuracy(), at_once.estimated_accuracy(), atol=0.03)
    # What was tracked meanwhile differs, and the band contains it; its other end is by labels.
    assert late.prior_interval()[1, 1] == pytest.approx(at_once.prior_interval()[1, 1], abs=0.03)
    low, high = late.prior_interval()[1]
    assert low <= 0.2 <= high
    assert late.prior_interval(labels=False)[1, 1] != high


def test_sums_are_the_same_but_for_the_order():
    """Labels move the corrections that rows are predicted with; how many there are, and of which class, is the same."""
    found = []
    for late in (False, True):
        rng = np.random.default_rng(3)
        adapter = RegressAndReweight(gate=False, alpha=None, bounds=([0.4, 0.6], [0.4, 0.6])).fit(
            *outputs(rng, 1000, 0.5)
        )
        waiting: dict[int, tuple[list[str], np.ndarray]] = {}
        for t in range(60):
            proba, y = outputs(rng, 100, 0.3)
            known = rng.random(100) < 0.1
            if late:
                adapter.step(proba, ids=[f"{t}-{i}" for i in range(100)])
                waiting[t] = [f"{t}-{i}" for i in np.flatnonzero(known)], y[known]
                if t == 40:  # 15 rounds late; the others come at the end
                    adapter.update_labels(*waiting.pop(25))
            else:
                adapter.step(proba, np.where(known, y, -1))
        if late:
            for names, labels in waiting.values():
                adapter.update_labels(names, labels)
        found.append(adapter)
    at_once, late = found
    np.testing.assert_allclose(late._monitor._mix._labelled[:, 0], at_once._monitor._mix._labelled[:, 0], rtol=1e-9)
    np.testing.assert_allclose(late._monitor._mix._labelled[:, 2], at_once._monitor._mix._labelled[:, 2], rtol=1e-9)
    ours, theirs = (adapter._monitor._accuracy._labelled[:, :2] for adapter in (late, at_once))
    np.testing.assert_allclose(ours, theirs, rtol=1e-9)


def test_with_their_probability_they_weigh_the_same():
    alike, known = (run(late=True, y_probability=p).estimated_accuracy() for p in (None, 0.2))
    np.testing.assert_allclose(alike, known, atol=0.03)


def test_they_resume():
    adapter = run(late=True)
    rng = np.random.default_rng(9)
    proba, y = outputs(rng, 50, 0.2)
    adapter.step(proba, ids=[f"new-{i}" for i in range(50)])
    again = loads(dumps(adapter))
    for each in (adapter, again):
        each.update_labels([f"new-{i}" for i in range(50)], y)
    np.testing.assert_array_equal(adapter.prior_interval(), again.prior_interval())
    assert adapter.estimated_accuracy() == again.estimated_accuracy()


def test_after_a_refit_labels_of_the_old_model_say_nothing_of_the_new():
    rng = np.random.default_rng(1)
    adapter = RegressAndReweight().fit(*outputs(rng, 1000, 0.5))
    proba, y = outputs(rng, 200, 0.2)
    adapter.step(proba, ids=[f"{i}" for i in range(200)])
    adapter.refit(*outputs(rng, 1000, 0.5))
    before = adapter.estimated_accuracy()
    assert adapter.update_labels([f"{i}" for i in range(200)], y) == 200
    np.testing.assert_array_equal(adapter.estimated_accuracy(), before)


def test_a_known_mix_ends_what_labels_said():
    adapter = run(late=False)
    adapter.set_prior([0.5, 0.5])
    np.testing.assert_array_equal(adapter.prior_interval(), adapter.prior_interval(labels=False))


@pytest.mark.parametrize("level", [0.0, 1.0, np.nan])
def test_levels_are_checked_with_labels_too(level):
    with pytest.raises(ValueError, match="level"):
        run(late=False).prior_interval(level)


def test_limits_hold_though_the_classes_have_changed():
    """The band that relies on label shift hardly ever covers; the one by labels does."""
    covered, without = 0, 0
    for seed in range(60):
        adapter = run(late=True, seed=seed)
        low, high = adapter.prior_interval()[1]
        covered += low <= 0.2 <= high
        low, high = adapter.prior_interval(labels=False)[1]
        without += low <= 0.2 <= high
    assert covered >= 49
    assert without <= 30
