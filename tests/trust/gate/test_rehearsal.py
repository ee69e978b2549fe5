"""A correction that is tried out on the holdout first."""

import numpy as np
import pytest

from baserate.trust.gate.rehearsal import HALF, WEIGHTS, belief, effective_samples, rehearse, standard_errors

EVEN, MORE = np.array([0.5, 0.5]), np.array([0.1, 0.9])


def rehearsed(row, per_class):
    """Rehearse a model that says the same of every sample, with so many samples of each class."""
    y = np.array([0, 1] * per_class)
    return rehearse(np.tile(row, (len(y), 1)), y, np.full(2, float(per_class)), EVEN, MORE)


def test_the_rehearsal_counts_samples_by_the_tracked_mix():
    """A class is better off with the correction only if it becomes more frequent."""
    assert rehearsed([0.55, 0.45], 1000) == 1.0
    # Leans to class 1 by mistake: moving on to 1 is right for a mix that has more of it.
    assert rehearsed([0.45, 0.55], 1000) == 1.0
    # Outputs that already are as sure of class 1 as the mix makes them: any correction is too much.
    assert rehearsed([0.1, 0.9], 1000) == 0.0
    half = np.sqrt(MORE) / np.sqrt(MORE).sum()
    assert rehearsed(half, 1000) == 0.5
    assert set(WEIGHTS) >= {0.0, 0.5, 1.0}


@pytest.mark.parametrize(("times", "part"), [(1, 0.75), (50, 0.1)])
def test_a_few_labels_speak_less_against_the_correction_than_many(times, part):
    """Three of ten samples of class 0 look as if they could be of class 1, and none of class 1 looks like them."""
    rows = [[0.95, 0.05]] * 7 + [[0.55, 0.45]] * 3 + [[0.05, 0.95]] * 10
    y = np.tile(np.repeat([0, 1], 10), times)
    assert rehearse(np.tile(rows, (times, 1)), y, np.full(2, 10.0 * times), EVEN, np.array([0.2, 0.8])) == part


def test_belief_is_half_at_seventy_five_effective_samples():
    assert belief(HALF) == 0.5
    assert HALF == 75.0
    assert belief(30.0) > 0.99 > 0.01 > belief(170.0)


def test_effective_samples_are_those_of_the_classes_that_the_mix_has():
    assert effective_samples(np.array([30.0, 100.0]), np.array([1.0, 0.0])) == 30.0
    assert effective_samples(np.array([15.0, 15.0]), np.array([0.5, 0.5])) == 30.0
    assert effective_samples(np.array([20.0, 80.0]), np.array([0.2, 0.8])) == pytest.approx(100.0)


def test_standard_errors_are_those_of_differences_of_re_weighted_means():
    """Many holdouts, and how much the difference varies among them."""
    rng = np.random.default_rng(0)
    y, tracked = np.repeat([0, 1], [40, 10]), np.array([0.3, 0.7])
    counts, found, said = np.array([40.0, 10.0]), [], []
    for _ in range(2000):
        shared = rng.normal(size=50)
        values = np.stack([shared + y, 2.0 * shared + rng.normal(size=50)])
        found.append((values[1] - values[0]) @ (tracked / counts)[y])
        said.append(standard_errors(values, y, counts, tracked)[1, 0] ** 2)
    assert np.sqrt(np.mean(said)) == pytest.approx(np.std(found), rel=0.05)


def test_near_the_mix_of_the_holdout_a_difference_within_noise_is_tolerated():
    """Three samples of class 0 look as if they could be of class 1; without them nothing speaks against it."""

    def part(per_class, unsure, tracked):
        sure = [1.0 - 1e-6, 1e-6]
        rows = [sure] * (per_class - unsure) + [[0.55, 0.45]] * unsure + [sure[::-1]] * per_class
        y, counts = np.repeat([0, 1], per_class), np.full(2, float(per_class))
        return rehearse(np.array(rows), y, counts, EVEN, np.array(tracked))

    assert part(100, 0, [0.45, 0.55]) == 1.0
    assert part(100, 3, [0.45, 0.55]) == 1.0  # 1.7 standard errors
    assert part(100, 5, [0.45, 0.55]) < 1.0  # 2.2
    assert part(1000, 30, [0.45, 0.55]) < 1.0
    assert part(100, 3, [0.2, 0.8]) < 1.0  # worth 147 of 200 samples: 0.8 standard errors are tolerated


@pytest.mark.parametrize("seed", range(12))
def test_it_is_as_the_formulas_have_it(seed):
    rng = np.random.default_rng(seed)
    k, n = 4, 80 + 60 * (seed % 3)
    proba = rng.dirichlet(np.full(k, 0.5), n)
    y = np.concatenate([np.arange(k), rng.integers(0, k, n - k)])
    counts, source = np.bincount(y).astype(float), np.full(k, 1 / k)
    tracked = rng.dirichlet(np.full(k, 10.0))
    effective = 1 / (tracked**2 / counts).sum()
    share = 1 / (1 + (effective / 75) ** 6)
    by_label, by_model = [], []
    for part in WEIGHTS:
        posterior = proba * (tracked / source) ** part
        posterior /= posterior.sum(axis=1, keepdims=True)
        wrong = 1 - np.eye(k)[posterior.argmax(axis=1)]
        both = [-np.log(posterior), wrong]
        by_label.append([loss[np.arange(n), y] for loss in both])
        by_model.append([((loss * proba / proba.sum(axis=0)) @ tracked).sum() for loss in both])

    def worse(j, i, which):
        """By how much part j is worse than part i beyond the tolerance."""
        told = by_label[j][which] - by_label[i][which]
        mean = sum(tracked[c] * told[y == c].mean() for c in range(k))
        error = np.sqrt(sum(tracked[c] ** 2 * told[y == c].var(ddof=1) / counts[c] for c in range(k)))
        expected = by_model[j][which] - by_model[i][which]
        return (1 - share) * (mean - 2 * (effective / n) ** 3 * error) + share * expected

    expected = max(
        part
        for j, part in enumerate(WEIGHTS)
        if all(worse(j, i, 0) <= 1e-6 and worse(j, i, 1) <= 0.01 for i in range(j))
    )
    assert rehearse(proba, y, counts, source, tracked) == expected


def test_a_class_that_the_model_never_names_counts_by_its_labels_alone():
    proba = np.tile([0.6, 0.4, 0.0], (30, 1))
    y = np.repeat(np.arange(3), 10)
    assert rehearse(proba, y, np.full(3, 10.0), np.full(3, 1 / 3), np.array([0.2, 0.7, 0.1])) in WEIGHTS


def test_where_few_samples_tell_more_than_a_quarter_has_to_be_shown_to_be_better():
    """Three quarters of the correction are best, and by more than three standard errors only if samples abound."""

    def part(times, *, thin):
        rows = np.repeat([[0.97, 0.03], [0.97, 0.03], [0.995, 0.005]], [1400 * times, 9 * times, 3 * times], axis=0)
        counts = times * np.array([1400.0, 12.0])
        y = np.repeat([0, 1], [1400 * times, 12 * times])
        return rehearse(rows, y, counts, counts / counts.sum(), np.array([0.8, 0.2]), thin=thin)

    assert [part(times, thin=False) for times in (4, 40)] == [0.75, 0.75]
    assert [part(times, thin=True) for times in (4, 40)] == [0.5, 0.75]
