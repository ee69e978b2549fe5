"""The supervised runs, on a data set so small that a network learns it at once."""

import numpy as np
import pytest

from baserate import datasets
from baserate.datasets import Dataset
from baserate.learners import ContinualTraining, ContinualTrainingResampled, TrainByWeights
from baserate.paper.runs import learning
from baserate.paper.runs.cells import Cell
from baserate.trackers import FLHFTL, FollowTheHistory

K, PER_CLASS = 3, 60


@pytest.fixture(autouse=True)
def tiny(monkeypatch):
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(K), PER_CLASS)
    images = rng.integers(0, 60, size=(len(y), 2, 3))
    images[np.arange(len(y)), 0, y] += 195
    X = images.astype(np.uint8)
    data = Dataset(X, y, X[:0], y[:0], ("a", "b", "c"), "made up")
    monkeypatch.setattr(datasets, "load", lambda name: {"tiny": data}[name])
    learning._stream.cache_clear()
    yield data
    learning._stream.cache_clear()


def cell(method, seed=0, n_rounds=8):
    return Cell("tiny", "mlp", "ber", 0, method, seed, batch_size=6, n_rounds=n_rounds)


def stream(seed=0, n_rounds=8):
    return learning._stream("tiny", seed, 6, n_rounds)


class Spy:
    """Is always sure of class 1."""

    def predict_proba(self, X):
        return np.tile([0.0, 1.0, 0.0], (len(X), 1))

    def update(self, X, y):
        pass

    def partial_fit(self, X, y, classes=None):
        pass

    def predict(self, X):
        return np.ones(len(X), dtype=int)


def test_pixels_are_between_nought_and_one(tiny):
    found, k = stream()
    assert k == K
    for batch in found:
        np.testing.assert_array_equal(batch.features, tiny.source_X[batch.rows].reshape(6, -1).astype(np.float32) / 255)
        assert batch.features.dtype == np.float32
        np.testing.assert_array_equal(batch.y, tiny.source_y[batch.rows])


def test_what_is_no_image_is_taken_as_it_is(tiny, monkeypatch):
    floats = tiny._replace(source_X=tiny.source_X.astype(np.float64))
    monkeypatch.setattr(datasets, "load", lambda _: floats)
    batch = stream()[0][0]
    np.testing.assert_array_equal(batch.features, floats.source_X[batch.rows].reshape(6, -1))


def test_no_sample_comes_twice_and_a_stream_that_runs_out_ends_early():
    found, _ = stream(n_rounds=200)
    rows = np.concatenate([batch.rows for batch in found])
    assert len(set(rows)) == len(rows) > 6 * 5
    assert len(found) < K * PER_CLASS // 6


def test_streams_differ_between_seeds_and_not_between_calls():
    one = np.concatenate([batch.rows for batch in stream()[0]])
    learning._stream.cache_clear()
    np.testing.assert_array_equal(one, np.concatenate([batch.rows for batch in stream()[0]]))
    assert not np.array_equal(one, np.concatenate([batch.rows for batch in stream(1)[0]]))


def test_the_learners_in_the_papers_order():
    path, net = np.full((5, K), 1 / K), Spy()
    built = {name: build(K, net, path, 7) for name, build in learning.LEARNERS.items()}
    assert [(name, type(learner)) for name, learner in built.items()] == [
        ("CT", ContinualTraining),
        ("CT-RS/FTH", ContinualTrainingResampled),
        ("CT-RS/FLH-FTL", ContinualTrainingResampled),
        ("w-ERM", TrainByWeights),
    ]
    assert all((learner.n_classes, learner.estimator, learner.rng) == (K, net, 7) for learner in built.values())
    assert type(built["CT-RS/FTH"].tracker) is FollowTheHistory
    assert type(built["CT-RS/FLH-FTL"].tracker) is FLHFTL
    assert built["CT-RS/FLH-FTL"].tracker.experts == "window"
    assert built["w-ERM"].priors is path
    assert built["w-ERM"].by == "sampling"


def test_a_learner_is_given_the_true_path_the_network_and_the_seed(monkeypatch):
    told = {}

    def build(*given):
        told["given"] = given
        return Spy()

    monkeypatch.setitem(learning.LEARNERS, "w-ERM", build)
    found = learning.run(cell("w-ERM", seed=4))
    k, network, path, seed = told["given"]
    rounds, _ = stream(4)
    assert (k, seed) == (K, 4)
    np.testing.assert_array_equal(path, [batch.q for batch in rounds])
    assert path.shape == (8, K)
    assert (network.hidden_layer_sizes, network.random_state) == ((100, 100, 20), 4)
    labels = np.concatenate([batch.y for batch in rounds])
    assert found.error == pytest.approx(100 * (labels != 1).mean())
    assert found[4:] == (None, None, None)


@pytest.mark.parametrize("method", learning.LEARNERS)
def test_the_same_cell_gives_the_same_bits_and_only_a_tracked_mix_has_an_mse(method):
    first = learning.run(cell(method, n_rounds=4))
    learning._stream.cache_clear()
    learning.run(cell("CT", seed=1, n_rounds=2))
    assert learning.run(cell(method, n_rounds=4))._replace(seconds=first.seconds) == first
    tracked = method.startswith("CT-RS")
    assert ((first.mse is not None), (first.mse_true is not None)) == (tracked, tracked)
    assert first.seconds > 0


def test_they_learn():
    """Chance is wrong on two thirds of an even mix; the first of eight rounds is chance."""
    assert learning.run(cell("CT", n_rounds=20)).error < 35
