"""Models whose outputs are exactly calibrated."""

import numpy as np
import pytest

from baserate_lab.bench.efficiency.score_models import CASES, ScoreModel, two_classes


def test_the_posterior_by_hand():
    model = ScoreModel(np.array([[0.0], [2.0]]), np.array([0.75, 0.25]))

    class Still:
        def standard_normal(self, shape):
            return np.zeros(shape)

    # A score at the centre of class 0 has density ratio exp(-2) for class 1, one at that of class 1 exp(2).
    odds = np.array([np.exp(-2), np.exp(2)]) / 3
    assert model.outputs(np.array([0, 1]), Still())[:, 1] == pytest.approx(odds / (1 + odds))


@pytest.mark.parametrize("case", CASES)
def test_outputs_are_calibrated_for_the_source(case):
    rng = np.random.default_rng(0)
    model, mix = CASES[case](rng)
    assert mix.sum() == pytest.approx(1.0)
    proba, y = model.draw(model.source, 40_000, rng)
    assert proba.mean(axis=0) == pytest.approx(model.source, abs=0.01)
    # Among rows with a given largest output, so many are of that class.
    top = proba.max(axis=1)
    assert (proba.argmax(axis=1) == y).mean() == pytest.approx(top.mean(), abs=0.01)


def test_how_often_the_models_are_right():
    right = {}
    for case in list(CASES)[3:]:
        found = []
        for seed in range(20):
            rng = np.random.default_rng(seed)
            model, _ = CASES[case](rng)
            even = np.full(len(model.source), 1 / len(model.source))
            proba, y = model.draw(even, 2_000, rng)
            found.append(((proba / model.source).argmax(axis=1) == y).mean())
        right[case] = np.mean(found)
    five, medium, strong = right.values()
    assert 0.5 < five < 0.6
    assert 0.7 < medium < 0.8
    assert 0.92 < strong < 0.98


def test_a_setting_of_two_classes():
    model, mix = two_classes(1.5, 0.1, 0.3)(np.random.default_rng(0))
    assert model.source.tolist() == [0.9, 0.1]
    assert mix.tolist() == [0.7, 0.3]
    assert model.centres.tolist() == [[0.0], [1.5]]
