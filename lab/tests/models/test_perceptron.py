"""The MLP trained epoch by epoch: the published rule, and a training that can be stopped anywhere."""

import signal
import threading
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import coo_array, csr_array
from scipy.special import softmax
from sklearn.base import clone
from sklearn.neural_network import MLPClassifier

from baserate_lab.models import fit_in_epochs, mlp

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


def test_epochs_differ_in_the_order_of_samples(monkeypatch):
    batches, plain = [], MLPClassifier._backprop

    def seen(model, X, *rest):
        batches.append(X.tobytes())
        return plain(model, X, *rest)

    monkeypatch.setattr(MLPClassifier, "_backprop", seen)
    model = fit_in_epochs(mlp((5,), epochs=4, batch_size=20, rng=0), X, Y)
    assert len(batches) == 20
    assert len(set(batches)) == 20
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
    for name in ("loss_curve_", "loss_", "best_loss_", "t_", "n_iter_", "random_state", "n_layers_", "out_activation_"):
        assert getattr(model, name) == getattr(whole, name), name
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
    # Where the tests were started in the background, Ctrl-C is ignored.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    timer = threading.Timer(0.5, signal.raise_signal, [signal.SIGINT])
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            fit_in_epochs(model, big_X, big_Y, checkpoint=tmp_path / "run")
    finally:
        timer.join()
        signal.signal(signal.SIGINT, before)
    assert not (tmp_path / "run").exists()


def test_losses_that_rise_again_are_resumed_as_they_were(tmp_path):
    """The best loss is not the last."""
    whole = fit_in_epochs(mlp((5,), epochs=6, step_size=3.0, batch_size=20, rng=1), X, Y)
    assert whole.loss_ != whole.best_loss_
    model = mlp((5,), epochs=6, step_size=3.0, batch_size=20, rng=1)
    with pytest.raises(KeyboardInterrupt):
        fit_in_epochs(model, X, Y, checkpoint=tmp_path / "run", watch=Stop(5))
    for _ in range(2):  # goes on, and reads what is finished
        fit_in_epochs(model, X, Y, checkpoint=tmp_path / "run")
        assert (model.loss_, model.best_loss_) == (whole.loss_, whole.best_loss_)


def interrupted_late(monkeypatch):
    """Ctrl-C in the last lines of an epoch, after its loss was noted."""
    plain = MLPClassifier._update_no_improvement_count

    def interrupt(*_):
        monkeypatch.setattr(MLPClassifier, "_update_no_improvement_count", plain)
        raise KeyboardInterrupt

    monkeypatch.setattr(MLPClassifier, "_update_no_improvement_count", interrupt)


def test_ctrl_c_in_the_last_lines_of_an_epoch_is_not_lost(tmp_path, monkeypatch):
    interrupted_late(monkeypatch)
    model = mlp((5,), epochs=3, batch_size=20, rng=1)
    with pytest.raises(KeyboardInterrupt):
        fit_in_epochs(model, X, Y, checkpoint=tmp_path / "run")
    assert not (tmp_path / "run").exists()
    fit_in_epochs(model, X, Y, checkpoint=tmp_path / "run")
    interrupted_late(monkeypatch)  # as a checkpoint is put into a new model
    with pytest.raises(KeyboardInterrupt):
        fit_in_epochs(mlp((5,), epochs=3, batch_size=20, rng=1), X, Y, checkpoint=tmp_path / "run")


def test_other_warnings_are_no_ctrl_c(monkeypatch):
    def warn(*_):
        warnings.warn("something else", UserWarning, stacklevel=1)

    monkeypatch.setattr(MLPClassifier, "_update_no_improvement_count", warn)
    with pytest.raises(UserWarning, match="something else"):  # an error, as all warnings are in tests
        fit_in_epochs(mlp((5,), epochs=1, batch_size=20), X, Y)


@pytest.mark.parametrize("form", [pd.DataFrame, np.ndarray.tolist, csr_array, coo_array])
def test_other_forms_of_samples(tmp_path, form):
    samples, names = form(X), [f"class {y}" for y in Y]
    whole = fit_in_epochs(mlp((5,), epochs=3, batch_size=20, rng=1), X, np.array(names))
    model = mlp((5,), epochs=3, batch_size=20, rng=1)
    with pytest.raises(KeyboardInterrupt):
        fit_in_epochs(model, samples, np.array(names, dtype=object), checkpoint=tmp_path / "run", watch=Stop(1))
    # Equal data are the same data, wherever they lie in memory.
    again, objects = form(X.copy()), np.array([f"class {y}" for y in Y], dtype=object)
    fit_in_epochs(model, again, objects, checkpoint=tmp_path / "run")
    np.testing.assert_allclose(model.predict_proba(again), whole.predict_proba(X), atol=1e-9)


def test_names_of_runs_see_the_values_of_labels_and_of_sparse_samples(tmp_path):
    names = np.array([f"class {y}" for y in Y], dtype=object)
    model = mlp((5,), epochs=1, batch_size=20)
    fit_in_epochs(model, csr_array(X), names, checkpoint=tmp_path / "run")
    moved = csr_array(X)
    moved.indices[:3] = moved.indices[:3][::-1].copy()
    for samples, labels in ((csr_array(2 * X), names), (moved, names), (csr_array(X), np.roll(names, 1))):
        with pytest.raises(ValueError, match="belongs to a training with other data"):
            fit_in_epochs(model, samples, labels, checkpoint=tmp_path / "run")


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


@pytest.mark.parametrize("lost", ["run", "losses", "weight0", "weight3", "velocity1"])
def test_a_checkpoint_that_lacks_something_is_damaged(tmp_path, lost):
    fit_in_epochs(mlp((5,), epochs=1, batch_size=20), X, Y, checkpoint=tmp_path / "run")
    with np.load(tmp_path / "run") as stored:
        kept = {name: stored[name] for name in stored.files if name != lost}
    with (tmp_path / "run").open("wb") as file:
        np.savez(file, **kept)
    with pytest.raises(ValueError, match=r"damaged.*delete it"):
        fit_in_epochs(mlp((5,), epochs=1, batch_size=20), X, Y, checkpoint=tmp_path / "run")


def test_a_checkpoint_holds_what_it_should_and_nothing_else(tmp_path):
    fit_in_epochs(mlp((5,), epochs=1, batch_size=20), X, Y, checkpoint=tmp_path / "run")
    with np.load(tmp_path / "run") as stored:
        parts = {f"{part}{i}" for part in ("weight", "velocity") for i in range(4)}
        assert set(stored.files) == {"run", "losses", *parts}


def test_what_a_checkpoint_would_not_keep_is_refused():
    for other in ({"solver": "adam"}, {"learning_rate": "adaptive"}, {"early_stopping": True}):
        with pytest.raises(ValueError, match="expected solver='sgd'"):
            fit_in_epochs(mlp((5,), epochs=1).set_params(**other), X, Y)
    with pytest.raises(TypeError, match="random_state is None"):
        fit_in_epochs(mlp((5,), epochs=1).set_params(random_state=None), X, Y)
