"""Dynamic regret, measured."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from baserate_lab.paper.rates import slope
from baserate_lab.paper.supervised import calls, problems, regret

K = problems.N_CLASSES


@pytest.fixture(scope="module")
def regrets():
    return regret.run_regret(["step"], ["with FLH-FTL", "told the truth", "unweighted"], (32, 64, 128), n_seeds=2)


@pytest.mark.parametrize("method", ["with FLH-FTL", "told the truth"])
def test_regret_grows_no_faster_than_its_bound(regrets, method):
    fitted = slope(regrets["step", method], (32, 64, 128))
    assert fitted.value <= 2 / 3 + 0.05
    assert (regrets["step", method] > 0).all()


def test_regret_of_one_weight_for_all_grows_linearly(regrets):
    values = regrets["step", "unweighted"].mean(axis=1)
    assert values[2] - values[1] > 1.6 * (values[1] - values[0])  # what the start cost is not in it
    assert values[2] > 2 * regrets["step", "with FLH-FTL"][2].mean()


def test_nothing_is_better_than_the_best_hypothesis():
    path = problems.PATHS["step"](2, K)
    best = regret._best_losses("step", 2)
    X, y = regret._pool()
    for q, losses in zip(path, best, strict=True):
        for weights in (np.ones(K), problems.skewed(K) * K, np.array([1.0, 2.0, 0.5])):
            other = LogisticRegression().fit(X, y, sample_weight=weights[y]).predict_proba(X)
            assert q @ regret._class_losses(other, y) >= q @ losses - 1e-9
    assert np.abs(best[0] - best[1]).min() > 0.1  # and it moves


def test_orders_by_hand():
    step = problems.PATHS["step"](64, 10)
    assert np.abs(np.diff(step, axis=0)).sum() == pytest.approx(0.8 * 1.8)
    assert calls.order("step", 64) == pytest.approx(4 * 1.44 ** (2 / 3))
    assert regret.order("step", 64) == pytest.approx(16 * (0.8 * 4 / 3) ** (1 / 3) + 8)
