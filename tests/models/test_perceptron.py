"""The MLP trained epoch by epoch: the published rule, and a training that can be stopped anywhere."""

import signal
import threading

import numpy as np
import pytest
from scipy.special import softmax
from sklearn.base import clone

from baserate.models import fit_in_epochs, mlp

RNG = np.random.default_rng(0)
Y = np.arange(90) % 3
X = np.eye(3)[Y] + 0.5 * RNG.standard_normal((90, 3))


def bits(model):
    return [array.tobytes() for array in model.coefs_ + model.intercepts_]


def test_one_batch_is_a_step_of_gradient_descent_with_weight_decay():
    """After one full batch: w - 0.5 (gradient + l2 w), with the gradient by finite differences."""
    model = fit_in_epochs(mlp((4,), epochs=1, step_size=0.5, l2=0.2, batch_size=90, rng=3), X, Y)
    start = mlp((4,), epochs=1, step_size=1e-300, batch_size=90, rng=3)
    fit_in_epochs(start, X, Y)
    w1, w2, b1, b2 = *start.coefs_, *start.intercepts_

    def loss(w):
        proba = softmax(np.maximum(X @ w + b1, 0) @ w2 + b2, axis=1)
        return -np.log(proba[np.arange(90), Y]).mean()

    gradient = np.zeros_like(w1)
    for i in np.ndindex(*w1.shape):
        step = np.zeros_like(w1)
        step[i] = 1e-6
        gradient[i] = (loss(w1 + step) - loss(w1 - step)) / 2e-6
    np.testing.assert_allclose(model.coefs_[0], w1 - 0.5 * (gradient + 0.2 * w1), atol=1e-7)


def test_momentum_is_plain():
    """Two epochs of one batch: the second step adds 0.9 of the first."""
    runs = [
        fit_in_epochs(mlp((4,), epochs=epochs, momentum=momentum, l2=0, batch_size=90, rng=0), X, Y).coefs_[0]
        for epochs, momentum in ((1, 0.9), (2, 0.9), (2, 0.0))
    ]
    start = fit_in_epochs(mlp((4,), epochs=1, step_size=1e-300, l2=0, batch_size=90, rng=0), X, Y).coefs_[0]
    first, second, without = runs
    np.testing.assert_allclose(second - without, 0.9 * (first - start), atol=1e-12)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_one_epoch_is_that_of_scikit_learn():
    model = mlp((5,), epochs=1, batch_size=20, rng=4)
    assert bits(fit_in_epochs(model, X, Y)) == bits(clone(model).fit(X, Y))


def test_epochs_differ_in_the_order_of_samples():
    """With the weights held still, the losses of batches in a fixed order would repeat."""
    model = fit_in_epochs(mlp((5,), epochs=3, batch_size=20, rng=0), X, Y)
    assert len(set(model.loss_curve_)) == 3
    assert model.random_state == 0


class Stop:
    """Interrupts after some epochs, as Ctrl-C would."""

    def __init__(self, after):
        self.after, self.moments = after, []

    def __call__(self, moment):
        self.moments.append(moment)
        if len(self.moments) == self.after:
            raise KeyboardInterrupt


@pytest.mark.parametrize("after", [1, 3, 5])
def test_interrupted_and_resumed_is_bit_identical(tmp_path, after):
    whole = fit_in_epochs(mlp((5, 4), epochs=6, batch_size=20, rng=1), X, Y)
    model = mlp((5, 4), epochs=6, batch_size=20, rng=1)
    with pytest.raises(KeyboardInterrupt):
        fit_in_epochs(model, X, Y, checkpoint=tmp_path / "run", watch=Stop(after))
    assert not hasattr(model, "coefs_")
    rest = Stop(99)
    fit_in_epochs(model, X, Y, checkpoint=tmp_path / "run", watch=rest)
    assert [moment.epoch for moment in rest.moments] == list(range(after + 1, 7))
    assert bits(model) == bits(whole)
    assert model.loss_curve_ == whole.loss_curve_
    np.testing.assert_array_equal(model.predict_proba(X), whole.predict_proba(X))


def test_a_finished_training_is_read_not_repeated(tmp_path):
    whole = fit_in_epochs(mlp((5,), epochs=2, batch_size=20, rng=1), X, Y, checkpoint=tmp_path / "run")
    watcher = Stop(1)
    again = fit_in_epochs(mlp((5,), epochs=2, batch_size=20, rng=1), X, Y, checkpoint=tmp_path / "run", watch=watcher)
    assert watcher.moments == []
    assert bits(again) == bits(whole)


def test_ctrl_c_within_an_epoch_is_not_taken_for_its_end(tmp_path):
    """scikit-learn swallows it, and would leave half an epoch in the checkpoint."""
    big_X, big_Y = np.tile(X, (4000, 1)), np.tile(Y, 4000)
    model = mlp((50,), epochs=200, batch_size=20, rng=1)
    timer = threading.Timer(0.5, signal.raise_signal, [signal.SIGINT])
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        fit_in_epochs(model, big_X, big_Y, checkpoint=tmp_path / "run")
    timer.join()
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("change", ["data", "labels", "parameter", "seed"])
def test_a_checkpoint_of_another_run_is_refused(tmp_path, change):
    fit_in_epochs(mlp((5,), epochs=1, batch_size=20, rng=1), X, Y, checkpoint=tmp_path / "run")
    model = mlp((5,), epochs=2 if change == "parameter" else 1, batch_size=20, rng=2 if change == "seed" else 1)
    data = X + 1 if change == "data" else X
    labels = Y[::-1] if change == "labels" else Y
    with pytest.raises(ValueError, match="belongs to a training with other data"):
        fit_in_epochs(model, data, labels, checkpoint=tmp_path / "run")


def test_a_damaged_checkpoint_is_said_to_be_so(tmp_path):
    (tmp_path / "run").write_bytes(b"not an archive")
    with pytest.raises(ValueError, match=r"damaged.*delete it"):
        fit_in_epochs(mlp((5,), epochs=1, batch_size=20), X, Y, checkpoint=tmp_path / "run")


def test_what_a_checkpoint_would_not_keep_is_refused():
    with pytest.raises(ValueError, match="expected solver='sgd'"):
        fit_in_epochs(mlp((5,), epochs=1).set_params(solver="adam"), X, Y)
    with pytest.raises(TypeError, match="random_state is None"):
        fit_in_epochs(mlp((5,), epochs=1).set_params(random_state=None), X, Y)
