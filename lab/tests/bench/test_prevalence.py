"""The benchmark of weekly shares."""

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from baserate_lab.bench.prevalence import SHAPES, SOURCE, _audited, measure, scores, table


def test_audits_and_model_hold_the_rate_in_narrower_limits_than_audits_alone():
    rows = measure("season", 2, rows=500, audits=50, broken="", quantifiers=[])
    by = {row.method: row for row in rows}
    assert by["audits and model"].coverage >= 0.8
    assert by["audits and model"].width < 0.8 * by["audits of the week"].width
    assert by["hindsight"].rmse < by["audits of the week"].rmse
    assert table(rows).count("\n") == len(rows) + 1


@pytest.mark.parametrize("shape", SHAPES)
def test_every_shape_is_calibrated_and_has_the_area(shape):
    rng = np.random.default_rng(0)
    y = (rng.random(100_000) < SOURCE).astype(int)
    p = scores(y, rng, shape=shape)[:, 1]
    assert p.mean() == pytest.approx(SOURCE, abs=0.003)
    top = p >= np.quantile(p, 0.9)
    assert y[top].mean() == pytest.approx(p[top].mean(), abs=0.02)
    assert roc_auc_score(y, p) == pytest.approx(0.85, abs=0.015)


def test_hidden_positives_score_lower():
    y = np.ones(10_000, dtype=int)
    seen, hidden = (scores(y, np.random.default_rng(0), hidden=away)[:, 1].mean() for away in (0.0, 0.6))
    assert hidden < 0.8 * seen


def test_audits_of_high_scores_have_weights_that_add_up_to_all_rows():
    rng = np.random.default_rng(0)
    score = rng.random(1000)
    chosen, weights = _audited(score, 50, 20, rng)
    assert len(set(chosen.tolist())) == 50
    assert (score[chosen] >= np.quantile(score, 0.9)).sum() == 20
    assert weights[chosen].sum() == pytest.approx(1000)
    assert sorted(set(weights.tolist())) == [5.0, 30.0]
    assert set(_audited(score, 50, 0, rng)[1].tolist()) == {20.0}
