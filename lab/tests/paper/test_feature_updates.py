"""Online Feature Updates, on a tiny network."""

import copy

import numpy as np
import pytest

from baserate.adapters import RegressAndReweight
from baserate.calibrators import TemperatureScaling
from baserate.evaluation import evaluate
from baserate.shifts import Sinusoidal, sample_stream
from baserate.trackers import FollowTheFixedWindow, LastSighting
from baserate_lab.paper import feature_updates
from baserate_lab.paper.feature_updates import OnlineFeatureUpdates, _minimise_entropy

torch = pytest.importorskip("torch")
K, D = 3, 6


class Tiny(torch.nn.Module):
    def __init__(self, width=8):
        super().__init__()
        self.inner = torch.nn.Linear(D, width)
        self.head = torch.nn.Linear(width, K)

    def features(self, x):
        return torch.relu(self.inner(x))

    def forward(self, x):
        return self.head(self.features(x))


def data(n, seed, turn=0.0):
    """Three clouds; `turn` moves all of them, so that features learnt on others fit less well."""
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(n) % K)
    return (2.0 * np.eye(K, D)[y] + 0.7 * rng.normal(size=(n, D)) + turn).astype(np.float32), y


@pytest.fixture(scope="module")
def network():
    torch.manual_seed(0)
    made, (X, y) = Tiny(), data(600, 0)
    optimiser = torch.optim.Adam(made.parameters(), lr=0.02)
    for _ in range(150):
        optimiser.zero_grad()
        torch.nn.functional.cross_entropy(made(torch.from_numpy(X)), torch.from_numpy(y)).backward()
        optimiser.step()
    return made.eval()


def adapter(tracker=FollowTheFixedWindow):
    return RegressAndReweight(tracker, calibrator=TemperatureScaling(), gate=False)


def weights(network):
    return {name: weight.detach().numpy().copy() for name, weight in network.named_parameters()}


def stream(network, turn=0.0, n_rounds=40):
    X, y = data(900, 2, turn)
    proba = torch.softmax(network(torch.from_numpy(X)), dim=1).detach().numpy().astype(float)
    proba /= proba.sum(axis=1, keepdims=True)
    return list(sample_stream(proba, y, Sinusoidal(), n_rounds=n_rounds, batch_size=10, features=X, rng=3))


def test_before_the_first_update_it_is_the_adapter_on_the_network(network):
    X, y = data(300, 1)
    made = OnlineFeatureUpdates(network, adapter(), every=10_000, refit=False).fit(X, y)
    proba = torch.softmax(network(torch.from_numpy(X)), dim=1).detach().numpy().astype(float)
    alone = adapter().fit(proba / proba.sum(axis=1, keepdims=True), y)
    batches = stream(network)
    np.testing.assert_allclose(evaluate(made, batches).prior, evaluate(alone, batches).prior, atol=1e-5)
    assert evaluate(made, batches).error_rate == pytest.approx(evaluate(alone, batches).error_rate, abs=0.003)


def test_updates_come_every_so_many_samples_and_after_the_prediction(network):
    X, y = data(300, 1)
    made = OnlineFeatureUpdates(network, adapter(), every=30).fit(X, y)
    batches = stream(network)
    for i, batch in enumerate(batches[:9]):
        expected = made.predict_proba(batch.features)
        np.testing.assert_array_equal(made.step(batch.features).proba, expected)
        assert made.updates_ == (i + 1) // 3


def test_the_network_that_was_given_is_never_changed(network):
    before = weights(network)
    X, y = data(300, 1)
    made = OnlineFeatureUpdates(network, adapter(), every=20, step_size=0.1).fit(X, y)
    for batch in stream(network)[:6]:
        made.update(batch.features)
    for name, weight in weights(network).items():
        np.testing.assert_array_equal(weight, before[name])
    assert any((weight != before[name]).any() for name, weight in weights(made.network_).items())


def test_entropy_falls_and_the_head_stays(network):
    moved, (X, _) = copy.deepcopy(network), data(100, 5, turn=0.3)

    def entropy():
        logs = torch.log_softmax(moved(torch.from_numpy(X)), dim=1)
        return float(-(logs.exp() * logs).sum(dim=1).mean().detach())

    before, head = entropy(), moved.head.weight.detach().numpy().copy()
    _minimise_entropy(moved, X, 0.05, 5)
    assert entropy() < before
    np.testing.assert_array_equal(moved.head.weight.detach().numpy(), head)


class Images(Tiny):
    """The same, of small square images; what is up tells the turn."""

    def features(self, x):
        return super().features(x.flatten(1)[:, :D])


def test_turns_of_images_are_told_better_and_the_head_stays():
    torch.manual_seed(1)
    rng = np.random.default_rng(0)
    images = rng.normal(size=(80, 3, 3, 1)).astype(np.float32)
    images[:, 0] += 2.0
    network = Images()
    turned, turns = feature_updates._turned(images)
    np.testing.assert_array_equal(turned[80:160], np.rot90(images, axes=(1, 2)))
    assert np.bincount(turns).tolist() == [80] * 4
    head = feature_updates._head_of_turns(network, images, 1.0)
    before = weights(network)

    def loss():
        logits = head(network.features(feature_updates._to_tensor(turned)))
        return float(torch.nn.functional.cross_entropy(logits, torch.from_numpy(turns)).detach())

    first = loss()
    assert first < np.log(4)
    feature_updates._tell_turns(network, head, images, 0.05, 5)
    assert loss() < first
    np.testing.assert_array_equal(network.head.weight.detach().numpy(), before["head.weight"])
    assert (network.inner.weight.detach().numpy() != before["inner.weight"]).any()
    with pytest.raises(ValueError, match="square images"):
        feature_updates._turned(images[:, :2])


def test_the_loss_of_turns_moves_the_features_along_the_stream():
    torch.manual_seed(2)
    rng = np.random.default_rng(3)
    y = rng.permutation(np.arange(60) % K)
    images = (2.0 * np.eye(K, 9)[y] + 0.5 * rng.normal(size=(60, 9))).astype(np.float32).reshape(60, 3, 3, 1)
    network = Images().eval()
    with torch.no_grad():
        network.inner.weight[:K, :K] += 2 * torch.eye(K)  # the classes are told apart
        network.head.weight[:, :K] += 2 * torch.eye(K)
    made = OnlineFeatureUpdates(network, adapter(), every=20, loss="rotation", step_size=0.05).fit(images, y)
    for first in (0, 10, 20, 30):
        made.update(images[first : first + 10])
    assert made.updates_ == 2
    assert (weights(made.network_)["inner.weight"] != weights(network)["inner.weight"]).any()


def test_without_steps_the_layer_is_fitted_once(network, monkeypatch):
    X, y = data(300, 1)
    made = OnlineFeatureUpdates(network, adapter(), every=10, steps=0).fit(X, y)
    fits, plain = [], OnlineFeatureUpdates._refit_head
    monkeypatch.setattr(OnlineFeatureUpdates, "_refit_head", lambda self: fits.append(1) or plain(self))
    for batch in stream(network)[:5]:
        made.update(batch.features)
    assert (made.updates_, len(fits)) == (5, 1)


def test_the_class_mix_is_kept_over_an_update(network):
    X, y = data(300, 1)
    made = OnlineFeatureUpdates(network, adapter(), every=100, step_size=0.0).fit(X, y)
    batches = stream(network)
    for batch in batches[:9]:
        made.update(batch.features)
    before = made.prior_
    made.update(batches[9].features)
    assert made.updates_ == 1
    assert np.abs(made.prior_ - before).max() < 0.1
    assert np.abs(made.prior_ - made.adapter_.source_prior_).max() > 0.1


def test_the_layer_is_fitted_to_other_samples_than_the_confusion_matrix(network):
    X, y = data(300, 1)
    made = OnlineFeatureUpdates(network, adapter(), every=10).fit(X, y)
    rows = {row.tobytes() for row in made._train[0]}, {row.tobytes() for row in made._holdout[0]}
    assert rows[0].isdisjoint(rows[1])
    assert rows[0] | rows[1] == {row.tobytes() for row in X}
    given = data(120, 9)
    made = OnlineFeatureUpdates(network, adapter(), every=10).fit(X, y, train=given)
    assert (len(made._train[1]), len(made._holdout[1])) == (120, 300)


def test_the_layer_is_fitted_to_the_labelled_samples(network):
    """The last layer was spoilt after training: the features still tell the classes apart."""
    spoilt = copy.deepcopy(network)
    with torch.no_grad():
        spoilt.head.weight += torch.from_numpy(
            np.random.default_rng(4).normal(0, 1.5, spoilt.head.weight.shape)
        ).float()
    errors = {}
    for refit in (False, True):
        made = OnlineFeatureUpdates(spoilt, adapter(), every=10, steps=0, refit=refit)
        errors[refit] = evaluate(made.fit(*data(300, 1), train=data(600, 8)), stream(network)).error_rate
    assert errors[True] < 0.1
    assert errors[False] > errors[True] + 0.05


def test_any_tracker_may_be_on_top(network):
    X, y = data(300, 1)
    priors = [
        evaluate(OnlineFeatureUpdates(network, adapter(tracker), every=50).fit(X, y), stream(network)[:10]).prior
        for tracker in (FollowTheFixedWindow, LastSighting)
    ]
    assert not np.array_equal(*priors)


def test_what_is_wrong_is_refused(network):
    X, y = data(30, 1)
    with pytest.raises(ValueError, match="fewer than two samples of a class; give train"):
        OnlineFeatureUpdates(network).fit(X[:4], np.array([0, 1, 2, 2]))
    with pytest.raises(ValueError, match="rows of numbers"):
        OnlineFeatureUpdates(network).fit(np.arange(30.0), y)
    for name, value in {"every": 0, "steps": -1, "step_size": -1.0, "c": 0.0, "loss": "moco"}.items():
        with pytest.raises((TypeError, ValueError), match=name):
            OnlineFeatureUpdates(network, **{name: value}).fit(X, y)
