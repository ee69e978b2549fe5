"""EM on a sliding window, our own and QuaPy's."""

import numpy as np
import pytest

from baserate.marginals import MLLS
from baserate_lab.bench.efficiency.score_models import two_classes
from baserate_lab.bench.efficiency.windows import EVERY, quapy_emq, sliding_window_em

SETTING = two_classes(2.0, 0.1, 0.4)(np.random.default_rng(0))
SOURCE = SETTING.model.source


def rows(n, seed=0):
    return SETTING.model.draw(SETTING.mix, n, np.random.default_rng(seed))[0]


def test_the_mix_is_the_most_likely_one_of_the_last_rows():
    proba = rows(1_000)
    used = sliding_window_em(proba, SOURCE, 300, 100)
    assert len(used) == 10
    assert used[0] == pytest.approx(SOURCE)
    estimator = MLLS(base="prior", source_prior=SOURCE).fit()
    assert used[2] == pytest.approx(estimator.estimate(proba[:200]), abs=1e-4)
    assert used[9] == pytest.approx(estimator.estimate(proba[600:900]), abs=1e-4)


def test_a_share_that_vanished_comes_back():
    rng = np.random.default_rng(1)
    none, _ = SETTING.model.draw(np.array([1.0, 0.0]), 2_000, rng)
    used = sliding_window_em(np.concatenate([none, rows(600)]), SOURCE, 500, 100)
    assert used[20][1] < 0.05
    assert used[-1][1] == pytest.approx(0.4, abs=0.1)


def test_quapy_says_the_same_every_few_rounds():
    proba = rows(1_200)
    theirs = quapy_emq(proba, SOURCE, 500, 100)
    ours = sliding_window_em(proba, SOURCE, 500, 100)
    assert theirs.shape == ours.shape
    assert theirs[1 + EVERY] == pytest.approx(ours[1 + EVERY], abs=0.01)
    assert np.array_equal(theirs[1], theirs[EVERY])
    assert not np.array_equal(theirs[EVERY], theirs[EVERY + 1])
