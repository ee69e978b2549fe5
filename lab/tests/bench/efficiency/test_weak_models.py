"""Weak models: streams drawn from a pool of outputs."""

import numpy as np
import pytest

from baserate import RegressAndReweight
from baserate_lab.bench.efficiency import weak_models
from baserate_lab.bench.efficiency.cells import DEFAULT, Cell, mixture
from baserate_lab.bench.efficiency.weak_models import pool_stream
from baserate_lab.bench.trackers.sets import SetLogits, holdout

CELL = Cell("newsgroups", "Bernoulli drawn", 10, "", 0, True)


def test_rows_are_of_the_classes_of_the_path(monkeypatch):
    y = np.random.default_rng(0).integers(0, 4, 200)
    sure = SetLogits(np.eye(4), np.arange(4), 1000.0 * np.eye(4)[y], y)  # outputs are the labels
    monkeypatch.setattr(weak_models, "load", lambda _: sure)
    pool_stream.cache_clear()
    along = pool_stream(CELL._replace(n=1_000), rounds=50)
    pool_stream.cache_clear()
    seen = along.proba.reshape(50, 1_000, 4).mean(axis=1)
    assert seen == pytest.approx(along.path, abs=0.06)
    assert along.path.std(axis=0).max() > 0.06  # it moves


def test_the_number_is_that_of_the_adapter(monkeypatch):
    along = pool_stream(CELL, rounds=30)
    learnt = holdout(CELL.case, 0, "", 0)
    adapter = RegressAndReweight(mixture(20, light=False), calibrator=learnt.calibrator, gate=False)
    adapter.fit(learnt.proba, learnt.y)
    squared = []
    for q, rows in zip(along.path, np.split(along.proba, 30), strict=True):
        squared.append(((adapter.step(rows).prior - q) ** 2).sum())
    monkeypatch.setattr(weak_models, "pool_stream", lambda _: along)
    assert weak_models.run(CELL._replace(method=DEFAULT)).mse == pytest.approx(np.mean(squared))


def test_all_models_have_outputs():
    for case in weak_models.MODELS:
        along = pool_stream(CELL._replace(case=case), rounds=3)
        assert along.proba.sum(axis=1) == pytest.approx(np.ones(30))
