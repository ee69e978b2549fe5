"""One batch: EM on it, and what is measured."""

import numpy as np
import pytest

from baserate_lab.bench.efficiency import one_batch
from baserate_lab.bench.efficiency.cells import ALONE, DEFAULT, LIGHT, ORACLE, Cell
from baserate_lab.bench.efficiency.one_batch import DRAWN, MAP, ONE_CLASS, most_probable, run

TEN = "ten classes, well separated"


def test_the_most_probable_mix_cannot_be_improved():
    drawn = one_batch.one_batch(Cell(TEN, DRAWN, 100, "", 0, True))
    q = most_probable(drawn.proba, drawn.source)

    def log_posterior(mix):
        return np.log(drawn.proba / drawn.source @ mix).sum() + drawn.source @ np.log(mix)

    rng = np.random.default_rng(0)
    assert q.min() > 0.0
    assert q.sum() == pytest.approx(1.0)
    for size in (1e-4, 1e-2):
        for _ in range(50):
            other = (1 - size) * q + size * rng.dirichlet(np.ones(10))
            assert log_posterior(other) < log_posterior(q)


def test_a_batch_of_one_class():
    cell = Cell(TEN, ONE_CLASS, 1_000, MAP, 0, True)
    found = run(cell)
    assert found.largest > 0.99
    assert found.accuracy > 0.99
    assert run(cell._replace(method=ALONE)).largest == pytest.approx(0.1)
    assert run(cell._replace(method=ORACLE)).mse == 0.0
    light = run(cell._replace(method=LIGHT))
    assert 0.1 < light.largest < found.largest


@pytest.mark.parametrize("method", one_batch.METHODS)
def test_it_depends_on_the_cell_alone(method):
    cell = Cell("5 % to 40 %, distance 3", DRAWN, 100, method, 3, True)
    once = run(cell)
    one_batch.one_batch.cache_clear()
    assert run(cell) == once
    if method not in (ORACLE, ALONE):
        assert run(cell._replace(seed=4)) != once


def test_the_batch_is_used_for_its_own_labels():
    cell = Cell("5 % to 40 %, distance 3", DRAWN, 1_000, DEFAULT, 0, True)
    assert run(cell).accuracy > run(cell._replace(method=ALONE)).accuracy
