"""The supervised runs, on a data set so small that a network learns it at once."""

import numpy as np
import pytest

from baserate.datasets import Dataset
from baserate.integrations import LastLayer
from baserate.learners import ContinualTraining, ContinualTrainingResampled, LazyTrainByWeights, TrainByWeights
from baserate.trackers import FLHFTL, FollowTheHistory
from baserate_lab import datasets
from baserate_lab.models import Features
from baserate_lab.paper.runs import learning
from baserate_lab.paper.runs.cells import PaperCell

K, PER_CLASS = 3, 60


@pytest.fixture(autouse=True)
def tiny(monkeypatch):
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(K), PER_CLASS)
    images = rng.integers(0, 60, size=(len(y), 2, 3))
    images[np.arange(len(y)), 0, y] += 195
    X = images.astype(np.uint8)
    data = Dataset(X, y, X, y, ("a", "b", "c"), "made up")
    monkeypatch.setattr(learning, "N_COMPONENTS", 3)
    monkeypatch.setattr(datasets, "load", lambda name: {"tiny": data}[name])
    learning._stream.cache_clear()
    yield data
    learning._stream.cache_clear()


LINEAR = ("TrainByWeights", "Lazy", "Lazy, literal")


def cell(method, seed=0, n_rounds=8, shift="ber"):
    model = "logistic" if method in LINEAR else "mlp"
    return PaperCell("tiny", model, shift, 0, method, seed, batch_size=6, n_rounds=n_rounds)


def stream(seed=0, n_rounds=8):
    return learning._stream("tiny", "mlp", "ber", seed, 6, n_rounds)


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
    found, k, _ = stream()
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
    found, _, _ = stream(n_rounds=200)
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
    net.fit = lambda X, y, sample_weight=None: net
    built = {name: build(K, net, path, 7) for name, build in learning.LEARNERS.items()}
    assert [(name, type(learner)) for name, learner in built.items()] == [
        ("CT", ContinualTraining),
        ("CT-RS/FTH", ContinualTrainingResampled),
        ("CT-RS/FLH-FTL", ContinualTrainingResampled),
        ("w-ERM", TrainByWeights),
        ("CT-RS", ContinualTrainingResampled),
        ("CT-RS, 25 % pool", ContinualTrainingResampled),
        ("TrainByWeights", TrainByWeights),
        ("Lazy", LazyTrainByWeights),
        ("Lazy, literal", LazyTrainByWeights),
    ]
    assert [getattr(learner, "epoch_steps", None) for learner in built.values()] == [
        1,
        1,
        1,
        None,
        10,
        10,
        None,
        None,
        None,
    ]
    assert [name for name, learner in built.items() if learner.max_pool is not None] == ["CT-RS, 25 % pool"]
    assert built["CT-RS, 25 % pool"].max_pool == 2500
    assert built["Lazy"].reweight
    assert not built["Lazy, literal"].reweight
    assert built["TrainByWeights"].priors is None
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
    found = learning.run_learning(cell("w-ERM", seed=4))
    k, network, path, seed = told["given"]
    rounds, _, _ = stream(4)
    assert (k, seed) == (K, 4)
    np.testing.assert_array_equal(path, [batch.q for batch in rounds])
    assert path.shape == (8, K)
    assert (network.hidden_layer_sizes, network.random_state) == ((100, 100, 20), 4)
    labels = np.concatenate([batch.y for batch in rounds])
    assert found.error == pytest.approx(100 * (labels != 1).mean())
    last = np.concatenate([batch.y for batch in rounds[-2:]])  # a quarter of eight rounds
    assert found.end_error == pytest.approx(100 * (last != 1).mean())
    assert found._replace(end_error=None)[4:] == (None,) * 6


@pytest.mark.parametrize("method", learning.LEARNERS)
def test_the_same_cell_gives_the_same_bits_and_only_a_tracked_mix_has_an_mse(method):
    first = learning.run_learning(cell(method, n_rounds=4))
    learning._stream.cache_clear()
    learning.run_learning(cell("CT", seed=1, n_rounds=2))
    assert learning.run_learning(cell(method, n_rounds=4))._replace(seconds=first.seconds) == first
    tracked = method not in ("CT", "w-ERM")
    assert ((first.mse is not None), (first.mse_true is not None)) == (tracked, tracked)
    assert first.seconds > 0
    assert first.steps > 0
    assert (first.calls is not None) == (method in (*LINEAR, "w-ERM"))


def test_principal_components_are_those_of_samples_outside_the_stream(tiny, monkeypatch):
    monkeypatch.setattr(learning, "N_COMPONENTS", 2)
    target = np.random.default_rng(1).integers(0, 256, size=(50, 2, 3)).astype(np.uint8)
    target[:, 1, 1] = 7  # what never varies there is no part of any component
    monkeypatch.setattr(datasets, "load", lambda _: tiny._replace(target_X=target))
    learning._stream.cache_clear()
    batch = learning._stream("tiny", "logistic", "mon", 0, 6, 3)[0][0]
    rows = target.reshape(50, 6).astype(np.float64) / 255
    axes = np.linalg.svd(rows - rows.mean(axis=0))[2][:2]
    expected = (tiny.source_X[batch.rows].reshape(6, 6) / 255 - rows.mean(axis=0)) @ axes.T
    np.testing.assert_allclose(np.abs(batch.features), np.abs(expected), atol=1e-5)
    assert batch.features.dtype == np.float64


def test_shifts():
    even, last = np.full(K, 1 / K), np.eye(K)[0]
    gradual = [batch.q for batch in learning._stream("tiny", "mlp", "mon", 0, 6, 5)[0]]
    assert len({tuple(q) for q in gradual}) == len(gradual)
    sudden = [batch.q for batch in learning._stream("tiny", "mlp", "ber", 0, 6, 5)[0]]
    assert all(np.allclose(q, even) or np.allclose(q, last) for q in sudden)


def test_validation_samples_can_be_set_apart(tiny):
    """They are in no round and are never trained on, and all of the stream is."""
    found, _, (X, y) = learning._stream("tiny", "mlp", "ber", 0, 6, 8, 12)
    assert (X.shape, y.shape) == ((12, 6), (12,))
    whole = sorted(row.tobytes() for row in learning._rows(tiny.source_X))
    apart = [row.tobytes() for row in X]
    streamed = [row.tobytes() for batch in found for row in batch.features]
    rest = list(whole)
    for row in (*apart, *streamed):
        rest.remove(row)  # each is there, and drawn once
    learner = learning.LEARNERS["CT-RS"](K, Spy(), None, 0)
    learner._pool = learning.ValidatedApart.on(X, y, K)
    assert learner.predict_proba(found[0].features).tolist() == [[1 / K] * K] * 6  # nothing was seen
    for batch in found:
        learner.update(batch.features, batch.y)
    pool = learner._pool
    assert pool.held.sum() == 12
    np.testing.assert_array_equal(pool.X[pool.held], X)
    np.testing.assert_array_equal(pool.y[~pool.held], np.concatenate([batch.y for batch in found]))
    np.testing.assert_array_equal(pool.multiplicity(), 1)


@pytest.mark.parametrize("method", ["CT", "CT-RS/FTH", "w-ERM"])
def test_a_cell_with_a_holdout_validates_on_it(method, monkeypatch):
    made, build = [], learning.LEARNERS[method]
    monkeypatch.setitem(learning.LEARNERS, method, lambda *given: made.append(build(*given)) or made[-1])
    found = learning.run_learning(cell(method, n_rounds=4)._replace(holdout=30))
    (learner,) = made
    assert learner._pool.held.sum() == 30
    assert found.steps > 0
    learning.run_learning(cell(method, n_rounds=4))
    assert len(made[-1]._pool.y) == 0  # evaluated is a copy of it


def test_the_last_layer_of_a_trained_network_goes_on_learning(monkeypatch):
    """The samples are ones that the network was not trained on; the layer starts as it was trained."""
    rng = np.random.default_rng(0)
    y = rng.permutation(np.repeat(np.arange(K), PER_CLASS))
    X = (np.eye(K)[y] + 0.2 * rng.normal(size=(len(y), K))).astype(np.float32)
    layer = LastLayer(lambda rows: rows, 3 * np.eye(K)[[1, 0, 2]], np.zeros(K))  # mistakes two classes
    seen = Features(X[:90], y[:90], X[90:], y[90:], layer)
    monkeypatch.setattr(learning, "features", lambda dataset, model, progress: seen)
    learning._stream.cache_clear()
    one = PaperCell("cifar10", learning.LAST_LAYER, "mon", 0, "CT", 0, batch_size=6, n_rounds=20)
    samples, labels, k = learning._samples("cifar10", learning.LAST_LAYER)
    assert (len(samples), len(labels), k) == (3 * PER_CLASS, 3 * PER_CLASS, K)
    model = learning._model(one)
    assert (model.predict(X) == layer.coef.argmax(axis=0)[y]).mean() > 0.9
    found = learning.run_learning(one)
    assert found.error > found.end_error  # it has learnt
    assert found.end_error < 10


def test_they_learn():
    """Chance is wrong on two thirds of an even mix; the first of eight rounds is chance."""
    assert learning.run_learning(cell("CT", n_rounds=20)).error < 35
