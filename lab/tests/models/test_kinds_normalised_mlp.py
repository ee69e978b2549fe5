"""An MLP on inputs that are brought to one mean and one spread: the same network as on inputs that were before."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone

from baserate.integrations.linear_head import last_layer_of
from baserate_lab.models import _kinds, fit_in_epochs, mlp
from baserate_lab.models.watching import no_watcher

RNG = np.random.default_rng(0)
Y = np.arange(120) % 3
X = (2 * np.eye(3, 4)[Y] + RNG.standard_normal((120, 4))).astype(np.float32)
NETWORK = {"hidden": (5,), "epochs": 3, "batch_size": 20}


def built():
    return _kinds.KINDS["normalised mlp"](4, mean=0.5, std=2.0, **NETWORK)


def fitted(folder, watch=no_watcher):
    return _kinds.fit(built(), X, Y, folder / "checkpoint", folder / "none", watch)


def by_hand():
    return fit_in_epochs(mlp(**NETWORK, rng=4), (X - np.float32(0.5)) / np.float32(2.0), Y)


def test_it_is_the_network_on_normalised_inputs(tmp_path):
    found, expected = fitted(tmp_path), by_hand()
    for ours, theirs in zip(found[-1].coefs_, expected.coefs_, strict=True):
        assert ours.dtype == np.float32
        np.testing.assert_array_equal(ours, theirs)
    np.testing.assert_array_equal(found.predict_proba(X), expected.predict_proba((X - 0.5) / 2))


def test_its_last_layer_sees_normalised_inputs_too(tmp_path):
    layer, expected = last_layer_of(fitted(tmp_path)), last_layer_of(by_hand())
    np.testing.assert_array_equal(layer.features(X), expected.features((X - np.float32(0.5)) / np.float32(2.0)))
    np.testing.assert_array_equal(layer.coef, expected.coef)


def test_it_goes_on_after_ctrl_c(tmp_path):
    moments = []

    def stop(moment):
        moments.append((moment.epoch, moment.epochs))
        if len(moments) == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fitted(tmp_path, stop)
    found = fitted(tmp_path, stop)
    assert moments == [(1, 3), (2, 3), (3, 3)]
    np.testing.assert_array_equal(found[-1].coefs_[0], by_hand().coefs_[0])


def test_it_can_be_pickled_and_cloned(tmp_path):
    model = fitted(tmp_path)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    assert clone(model)[0].kw_args == {"mean": 0.5, "std": 2.0}
