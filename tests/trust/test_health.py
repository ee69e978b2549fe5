"""health: each fault of a holdout is named, with its classes; a good holdout is not complained of."""

import numpy as np
import pytest

from baserate.trust import health, merge_classes

from .simulated import holdout, labels, outputs


def kinds(*args, **kwargs):
    return [problem.kind for problem in health(*args, **kwargs)]


def test_a_good_holdout_has_no_problems():
    """400 of them: at a significance of 0.001 a test, none to three complaints are expected."""
    complaints = 0
    for seed in range(400):
        complaints += len(health(*holdout(np.random.default_rng(seed), 300)))
    assert complaints <= 4


def test_a_missing_class_is_named():
    rng = np.random.default_rng(0)
    y = labels(rng, 200, [0.5, 0.0, 0.5])
    (problem,) = health(outputs(rng, y), y)
    assert problem.kind == "missing"
    assert problem.classes == (1,)
    assert "class 1" in str(problem)


def test_a_class_with_few_samples_is_named():
    rng = np.random.default_rng(0)
    y = np.array([0] * 100 + [1] * 9 + [2] * 100)
    found = [p for p in health(outputs(rng, y), y, source_prior=np.full(3, 1 / 3)) if p.kind == "small"]
    assert [p.classes for p in found] == [(1,)]
    enough = np.array([0] * 100 + [1] * 10 + [2] * 100)
    assert "small" not in kinds(outputs(rng, enough), enough, source_prior=np.full(3, 1 / 3))


def test_a_large_slack_is_a_small_holdout():
    proba, y = holdout(np.random.default_rng(0), 300)
    assert kinds(proba, y, slack=[0.05, 0.05, 0.05]) == []
    (problem,) = health(proba, y, slack=[0.1, 0.1, 0.1])
    assert problem.kind == "small"
    assert "15 percentage points" in problem.message


def test_confused_classes_are_named_and_can_be_merged():
    rng = np.random.default_rng(0)
    y = np.arange(400) % 4
    three = outputs(rng, np.where(y == 3, 1, y))
    proba = np.column_stack([three[:, 0], three[:, 1] / 2, three[:, 2], three[:, 1] / 2])
    proba[:, [0, 2]] /= 1.0
    proba /= proba.sum(axis=1, keepdims=True)
    (problem,) = [p for p in health(proba, y) if p.kind == "confused"]
    assert problem.classes == (1, 3)
    assert "merge_classes(proba, [(1, 3)])" in problem.message
    merged = merge_classes(proba, [problem.classes])
    assert "confused" not in kinds(merged.proba, merged.mapping[y])
    assert merged.mapping.tolist() == [0, 1, 2, 1]


def two_classes(share, distance, n=20_000, seed=0):
    """Calibrated probabilities of two classes, the second that rare, with means of the scores that far apart."""
    rng = np.random.default_rng(seed)
    y = (rng.random(n) < share).astype(int)
    log_odds = np.log(share / (1 - share)) + distance * rng.normal(distance * y) - distance**2 / 2
    p = 1 / (1 + np.exp(-log_odds))
    return np.column_stack([1 - p, p]), y


@pytest.mark.parametrize("likelihood", [True, False])
def test_two_classes_are_not_to_be_merged(likelihood):
    (problem,) = health(*two_classes(0.3, 0.2), names=["good", "fraud"], likelihood=likelihood)
    assert (problem.kind, problem.classes) == ("confused", (0, 1))
    assert "classes 'good', 'fraud' apart" in problem.message
    assert "merge" not in problem.message
    assert "one class" not in problem.message
    assert ("default tracker" in problem.message) != likelihood


@pytest.mark.parametrize("share", [0.5, 0.1, 0.02])
def test_by_likelihood_a_rare_class_is_judged_like_a_common_one(share):
    assert kinds(*two_classes(share, 1.0), likelihood=True) == []
    assert kinds(*two_classes(share, 0.3), likelihood=True) == ["confused"]
    assert kinds(*two_classes(share, 1.0)) == (["confused"] if share == 0.02 else [])


def test_by_likelihood_the_source_prior_counts_and_not_the_mix_of_the_holdout():
    """Probabilities for 2 % of fraud, on a holdout of which half is fraud."""
    proba, y = two_classes(0.02, 1.0, 100_000)
    half = (y == 1) | (np.cumsum(y == 0) <= (y == 1).sum())
    prior = [0.98, 0.02]
    assert kinds(proba[half], y[half], source_prior=prior, likelihood=True) == []
    assert kinds(proba[half], y[half], source_prior=prior) == ["confused"]


def test_by_likelihood_copies_are_noticed_all_the_same():
    y = np.arange(400) % 4
    three = outputs(np.random.default_rng(0), np.where(y == 3, 1, y))
    proba = np.column_stack([three[:, 0], three[:, 1] / 2, three[:, 2], three[:, 1] / 2])
    (problem,) = [p for p in health(proba, y, likelihood=True) if p.kind == "confused"]
    assert problem.classes == (1, 3)
    assert "more than 1,000 times" in problem.message
    assert "merge_classes(proba, [(1, 3)])" in problem.message


def test_of_two_classes_none_is_dropped_or_merged():
    few = health(*two_classes(0.01, 2.0, 300, seed=1))
    assert next(p.message for p in few if p.kind == "small").endswith("Label more of it.")
    (missing,) = health([[0.9, 0.1]] * 30, [0] * 30)
    assert missing.message.endswith("Label some.")


def test_a_known_sigma_min_decides():
    proba, y = holdout(np.random.default_rng(0), 300)
    assert kinds(proba, y, sigma_min=0.2) == []
    (problem,) = health(proba, y, sigma_min=0.01)
    assert problem.kind == "confused"
    assert "100 times" in problem.message


@pytest.mark.parametrize(("sharpness", "word"), [(3.0, "too sure"), (0.3, "not sure enough")])
def test_dishonest_confidence_is_noticed_and_its_direction(sharpness, word):
    proba, y = holdout(np.random.default_rng(0), 1000, sharpness)
    found = [p for p in health(proba, y) if p.kind == "calibration"]
    assert any(word in p.message for p in found)
    honest, _ = holdout(np.random.default_rng(0), 1000)
    assert kinds(proba, y, calibrated=honest) == []


def test_a_biased_model_is_noticed_with_its_classes():
    proba, y = holdout(np.random.default_rng(0), 1000)
    biased = proba * [3.0, 1.0, 1.0]
    found = [p for p in health(biased / biased.sum(axis=1, keepdims=True), y) if p.kind == "calibration"]
    assert 0 in found[0].classes
    assert "class 0" in found[0].message


def test_another_source_prior_is_no_fault_of_the_model():
    rng = np.random.default_rng(0)
    y = labels(rng, 1000, [0.7, 0.15, 0.15])
    proba = outputs(rng, y)  # made for an even mix
    assert "calibration" in kinds(proba, y)
    assert kinds(proba, y, source_prior=np.full(3, 1 / 3)) == []


def test_merging_adds_columns_and_keeps_the_order():
    merged = merge_classes([[0.1, 0.2, 0.3, 0.25, 0.15]], [(4, 1), (2, 3)])
    assert merged.proba == pytest.approx(np.array([[0.1, 0.35, 0.55]]))
    assert merged.mapping.tolist() == [0, 1, 2, 2, 1]
    nothing = merge_classes([[0.4, 0.6]], [])
    assert nothing.mapping.tolist() == [0, 1]


@pytest.mark.parametrize(
    ("groups", "message"),
    [([(1,)], "at least two"), ([(0, 1), (1, 2)], "twice"), ([(0, 0)], "twice"), ([(0, 7)], "unknown label 7")],
)
def test_bad_groups_are_refused(groups, message):
    with pytest.raises(ValueError, match=message):
        merge_classes([[0.2, 0.3, 0.5]], groups)


def test_bad_input_is_refused():
    proba, y = holdout(np.random.default_rng(0), 30)
    with pytest.raises(ValueError, match="calibrated has 29 rows"):
        health(proba, y, calibrated=proba[:29])
    with pytest.raises(ValueError, match="sigma_min"):
        health(proba, y, sigma_min=-1.0)
    with pytest.raises(ValueError, match="slack"):
        health(proba, y, slack=[0.1])


def test_there_is_no_shift_of_more_than_everything():
    proba, y = holdout(np.random.default_rng(0), 300)
    (found,) = health(proba, y, slack=[0.8, 0.8, 0.8])
    assert "changes of the class mix cannot be told" in found.message
    assert "120" not in found.message


@pytest.mark.parametrize(("calibrated", "advice"), [(False, "use a calibrator"), (True, "pass calibrator=None")])
def test_nobody_is_told_to_do_what_was_done(calibrated, advice):
    proba, y = np.tile([[0.7, 0.3], [0.4, 0.6]], (20, 1)), np.tile([0, 1], 20)
    found = health(
        proba, y, proba**0.5 / (proba**0.5).sum(axis=1, keepdims=True) if calibrated else proba, slack=[0.3, -0.3]
    )
    blind = next(problem for problem in found if "calibration error" in problem.message)
    assert advice in blind.message
