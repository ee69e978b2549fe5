"""MomentTest: its distance by hand, its power where cells see nothing, its error probability, and its state."""

import numpy as np
import pytest
from scipy.stats import f

from baserate.state import dumps, loads
from baserate.trust.assumption.findings import to_findings
from baserate.trust.assumption.hull import HullTest
from baserate.trust.assumption.moments import MomentTest, look, moments

from .four_classes import K, outputs, unseen


def fitted(rng, n=1000, k=K):
    y = np.arange(n) % k
    return MomentTest().fit(outputs(rng, y), y)


def shown(test, rows):
    for start in range(0, len(rows), 250):
        test.add(np.ascontiguousarray(rows[start : start + 250]))
    return test


def test_one_mean_of_two_classes_by_hand():
    """The mix explains one function, so that of two functions one degree of freedom is left."""
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], [300, 200])
    values = rng.standard_normal((500, 2)) + np.array([[0.0, 0.0], [2.0, 0.0]])[y]
    found = moments(values, y, 2, np.arange(2))
    seen, n = np.array([1.0, 0.25]), 400.0
    got = look(seen, n, found)
    # The first function alone tells the mix, nearly: half of each class; the second one is what is left.
    mix = np.array([0.5, 0.5])
    common = np.cov(values[y == 0].T, bias=True) * 300 + np.cov(values[y == 1].T, bias=True) * 200
    own = [np.cov(values[y == c].T, bias=True) * size for c, size in enumerate((300, 200))]
    covariances = [(own[c] + 20.0 * common / 498) / (size - 1 + 20.0) for c, size in enumerate((300, 200))]
    between = 0.25 * np.outer(found.means[1] - found.means[0], found.means[1] - found.means[0])
    stream = (0.5 * covariances[0] + 0.5 * covariances[1] + between) / n
    total = stream + 0.25 * covariances[0] / 300 + 0.25 * covariances[1] / 200
    gap = seen - mix @ found.means
    direction = np.linalg.solve(total, found.means[1] - found.means[0])
    step = direction @ gap / (direction @ (found.means[1] - found.means[0]))
    gap = gap - step * (found.means[1] - found.means[0])
    squared = float(gap @ np.linalg.solve(total, gap))
    assert found.tails < 1.3
    assert got.p == pytest.approx(float(f.sf(squared, 1, 450)), rel=0.3)
    assert got.residual == pytest.approx(gap, abs=0.02)


def test_tails_are_those_of_the_residuals():
    rng = np.random.default_rng(0)
    y = np.arange(4000) % 2
    normal = moments(rng.standard_normal((4000, 3)), y, 2, np.arange(3))
    heavy = moments(rng.standard_t(5, (4000, 3)), y, 2, np.arange(3))
    assert normal.tails == pytest.approx(1.0, abs=0.1)
    assert heavy.tails > 1.5


def test_an_unseen_class_between_others_is_found_where_cells_see_nothing():
    found = np.zeros(2)
    for seed in range(10):
        rng = np.random.default_rng(seed)
        y = np.arange(800) % K
        proba = outputs(rng, y)
        tests = [MomentTest().fit(proba, y), HullTest().fit(proba, y)]
        rows = unseen(rng, 4000, 0.06)
        found += [shown(test, rows).log_evidence > np.log(20.0) for test in tests]
    assert found[0] >= 8
    assert found[1] <= found[0] - 3


@pytest.mark.parametrize("mix", [[0.25] * 4, [0.85, 0.05, 0.05, 0.05], [0.0, 0.0, 0.0, 1.0]])
def test_label_shift_gives_little_evidence(mix):
    alarms = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        test = fitted(rng, 600)
        alarms += shown(test, outputs(rng, rng.choice(K, size=6000, p=mix))).log_evidence > np.log(20.0)
    assert alarms <= 6


@pytest.mark.parametrize("k", [2, 4, 12])
def test_saved_and_loaded_it_goes_on(k):
    rng = np.random.default_rng(0)
    y = np.arange(60 * k) % k
    logits = 3.0 * np.eye(k)[y] + rng.standard_normal((len(y), k))
    rows = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    test = MomentTest().fit(rows, y)
    twin = loads(dumps(test.fit(rows, y)))
    other = np.exp(1.5 * logits) / np.exp(1.5 * logits).sum(axis=1, keepdims=True)
    for one in (test, twin):
        shown(one, np.tile(other, (5, 1)))
    assert test.log_evidence > 0.0
    assert dumps(test) == dumps(twin) == dumps(loads(dumps(twin)))
    test.start()
    assert dumps(test) == dumps(MomentTest().fit(rows, y))


def test_of_a_long_stream_fewer_samples_are_taken():
    rng = np.random.default_rng(0)
    test = shown(fitted(rng), outputs(rng, rng.integers(K, size=5000)))
    assert test._sizes.tolist() == [5000, 1000]
    shown(test, outputs(rng, rng.integers(K, size=4000)))
    assert test._sizes.tolist() == [6008, 0]  # 16 parts of 63, with which the window is full


def test_products_take_more_than_two_classes_and_a_holdout_that_is_large():
    rng = np.random.default_rng(0)
    assert [len(of.places) for of in fitted(rng, 1000).classes()] == [2 * K, K + K * (K + 1) // 2]
    assert [len(of.places) for of in fitted(rng, 100).classes()] == [2 * K]


def test_what_moved_is_said():
    rng = np.random.default_rng(0)
    test = fitted(rng)
    shown(test, outputs(rng, rng.integers(K, size=1000), noise=1.6))
    assert len(test.findings) == 1
    finding = to_findings(test.findings, np.zeros((0, 0)))[0]
    assert finding.predicted is None
    assert "log-probability of class" in finding.score
    assert abs(finding.share - finding.expected) > 2.0 * finding.error
    assert str(finding).startswith(f"the mean {finding.score} is too ")


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("_sums", np.zeros((2, 5))),
        ("_sums", np.full((2, K + K * (K + 1) // 2), 1e9)),
        ("_sizes", np.array([5000, 0])),
        ("_sizes", np.array([100, 2000])),
        ("_labels", np.zeros(1000, dtype=np.int64)),
        ("_looks", 300),
        ("log_evidence", float("nan")),
        ("_findings", np.array([[0, 2.0, -1, 0, 0.1, 0.1, 0.1, 1.0]])),
        ("_findings", np.array([[-1, -7.0, -1, 0, 0.1, 0.1, 0.1, 1.0]])),
    ],
)
def test_a_damaged_state_is_refused(name, wrong):
    test = fitted(np.random.default_rng(0))
    loads(dumps(test))
    setattr(test, name, wrong)
    with pytest.raises(ValueError, match="MomentTest"):
        loads(dumps(test))
