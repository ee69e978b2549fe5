"""Fraud: streams, costs, and that every method runs."""

import numpy as np
import pytest

from baserate_lab.bench.efficiency import fraud
from baserate_lab.bench.efficiency.cells import ALONE, DEFAULT, ORACLE, Cell
from baserate_lab.bench.efficiency.fraud import DISTORTED, EXACT, METHODS, FraudResult, cost, fraud_stream, measure

CELL = Cell("AUC 0.97", EXACT, 500, "", 0, True)


def test_cost_by_hand():
    # An alarm pays where its probability is above 1/21.
    proba = np.array([[0.96, 0.04], [0.94, 0.06], [0.96, 0.04], [0.5, 0.5]])
    assert cost(proba, np.array([0, 0, 1, 1])) == pytest.approx(1000 * (0 + 1 + 20 + 0) / 4)


def test_the_stream():
    along = fraud_stream(CELL)
    assert len(along.y) == 50_000
    assert [along.path[t] for t in (0, 166, 167, 333, 334, 499)] == [0.01, 0.01, 0.08, 0.08, 0.02, 0.02]
    thirds = [along.y[:16_700].mean(), along.y[16_700:33_400].mean(), along.y[33_400:].mean()]
    assert thirds == pytest.approx([0.01, 0.08, 0.02], abs=0.005)
    assert along.holdout_y.sum() >= 2
    assert len(along.holdout) == 500
    positive, negative = along.exact[along.y == 1, 1], along.exact[along.y == 0, 1]
    above = np.searchsorted(np.sort(negative), positive) / len(negative)
    assert above.mean() == pytest.approx(0.97, abs=0.01)


def test_distortion_keeps_the_order_and_the_rows():
    plain, other = fraud_stream(CELL), fraud_stream(CELL._replace(variant=DISTORTED))
    assert np.array_equal(plain.y, other.y)
    assert np.array_equal(plain.exact, other.exact)
    assert np.array_equal(plain.proba[:, 1].argsort(), other.proba[:, 1].argsort())
    logits = [np.log(proba[:100, 1] / proba[:100, 0]) for proba in (plain.proba, other.proba)]
    assert logits[1] == pytest.approx(logits[0] / 1.3)


@pytest.mark.parametrize("method", METHODS)
def test_every_method_runs(method):
    along = fraud_stream(CELL, rows=3_000)
    found = measure(method, along)
    assert isinstance(found, FraudResult)
    assert 0.0 < found.cost < 1_000.0
    if method != ALONE:
        assert 0.0 <= found.share_2 <= 1.0
        assert found == measure(method, along)


def test_the_oracle_is_told():
    along = fraud_stream(CELL)
    told = measure(ORACLE, along)
    assert told.mse == 0.0
    assert told.share_2 == pytest.approx(0.08)
    assert told.cost < measure(ALONE, along).cost
    assert fraud.run(CELL._replace(method=ORACLE)) == told


def test_the_default_is_the_default():
    assert repr(fraud.adapters(DEFAULT).get_params()["gate"]) == "True"
    assert fraud.adapters(fraud.UNGATED).gate is False
