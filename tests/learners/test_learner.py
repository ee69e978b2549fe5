"""What CT and CT-RS share: training that goes on, fails, resumes, and what they refuse."""

import copy

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression, SGDClassifier

from baserate.learners import ContinualTraining, ContinualTrainingResampled
from baserate.learners._examples import ClassMeans
from baserate.state import dumps, loads

from ..state.made_by_hand import edited
from .numbered_samples import NUMBERED, K, Y
from .small_net import small_net
from .stub_models import Fixed, Hopeless, Interrupted, Knowing, Mute, Tired, rounds

BOTH = [ContinualTraining, ContinualTrainingResampled]


@pytest.mark.parametrize("cls", BOTH)
@pytest.mark.parametrize(("epoch", "steps"), [({}, 30), ({"epoch_steps": 1}, 3), ({"epoch_steps": 7}, 21)])
def test_an_epoch_may_be_any_number_of_batches(cls, epoch, steps):
    """Whatever the size of the pool; after an epoch validation decides, for which three of them are the least."""
    learner = cls(K, Fixed(), batch_size=100, rng=0, **epoch)
    learner.update(np.zeros((5000, 1)), np.arange(5000) % K)
    assert [len(y) for _, y in learner.model_.batches] == steps * [100]


@pytest.mark.parametrize("cls", BOTH)
def test_later_rounds_do_not_reach_back(cls):
    stream = list(rounds(6, 30, K))
    clean, poisoned = (cls(K, SGDClassifier(loss="log_loss"), rng=0) for _ in range(2))
    for t, (X, y) in enumerate(stream):
        same = clean.predict_proba(X).tobytes() == poisoned.predict_proba(X).tobytes()
        assert same == (t <= 3)
        clean.update(X, y)
        poisoned.update(X, y if t < 3 else (y + 1) % K)


@pytest.mark.parametrize("cls", BOTH)
def test_training_goes_on_from_the_model_of_the_round_before(cls):
    learner = cls(K, Knowing(Y), batch_size=2, patience=1, epoch_steps=None, rng=0)
    for t in range(3):
        learner.update(NUMBERED[:20], Y[:20])
        assert len(learner.model_.batches) == learner.gradient_steps_ == sum([10, 16, 24][: t + 1])
    assert learner.estimator.batches == []


@pytest.mark.parametrize("cls", BOTH)
def test_a_model_that_has_come_to_nothing_gives_way_to_a_fresh_one(cls):
    learner = cls(K, Hopeless(Y, per_round=10), patience=1, rng=0)
    learner.update(NUMBERED[:200], Y[:200])
    assert learner.gradient_steps_ == len(learner.model_.batches) == 10
    learner.update(NUMBERED[200:400], Y[200:400])
    assert learner.gradient_steps_ == 30  # trained on, found to be no better than a guess, and trained anew
    assert len(learner.model_.batches) == 10
    assert {int(x) for X, _ in learner.model_.batches for x in X[:, 0]} & set(range(200))  # on all samples so far
    # One that is no better either does not take its place.
    learner = cls(K, Fixed(), patience=1, rng=0)
    for t in (1, 2):
        learner.update(NUMBERED[:200], Y[:200])
        assert (learner.gradient_steps_, len(learner.model_.batches)) == (20 * t, 10 * t)
    # Where there is only one class, one label for all is all there is to know.
    learner = cls(K, Fixed((1.0, 0.0, 0.0)), patience=1, rng=0)
    learner.update(NUMBERED[:200], np.zeros(200, dtype=int))
    assert learner.gradient_steps_ == 10


@pytest.mark.parametrize("cls", BOTH)
def test_an_empty_round_advances_and_trains_nothing(cls):
    learner = cls(K, Fixed(), rng=0)
    np.testing.assert_allclose(learner.predict_proba(NUMBERED[:2]), 1 / K)
    learner.update(NUMBERED[:20], Y[:20])
    before = learner.gradient_steps_, learner.model_
    learner.update(np.empty((0, 1)), [])
    assert learner.rounds_ == 2
    assert (learner.gradient_steps_, learner.model_) == before
    assert learner.predict_proba(np.empty((0, 1))).shape == (0, K)


@pytest.mark.parametrize("cls", BOTH)
def test_ctrl_c_gets_through_and_changes_nothing(cls):
    learner = cls(K, Interrupted(), rng=0)
    with pytest.raises(KeyboardInterrupt):
        learner.update(NUMBERED[:20], Y[:20])
    assert learner.rounds_ == 0
    assert learner.model_ is None


@pytest.mark.parametrize("cls", BOTH)
def test_a_training_that_fails_half_way_leaves_the_model_as_it_was(cls):
    learner = cls(K, Tired(15), patience=1, rng=0)
    learner.update(NUMBERED[:20], Y[:20])
    model, before = learner.model_, learner.predict_proba([[0.0]])
    with pytest.raises(RuntimeError, match="no more"):
        learner.update(NUMBERED[:20], Y[:20])
    assert learner.model_ is model
    assert len(model.batches) == learner.gradient_steps_ == 10
    assert learner.rounds_ == 1
    np.testing.assert_array_equal(learner.predict_proba([[0.0]]), before)


@pytest.mark.parametrize("cls", BOTH)
def test_a_net_resumes_with_its_model_handed_over(cls):
    stream = list(rounds(6, 30, K))
    net = small_net()  # no warning says that its batches are too large
    running = cls(K, net, max_epochs=5, rng=0)
    for X, y in stream[:3]:
        running.update(X, y)
    data, kept = dumps(running), copy.deepcopy(running.model_)
    resumed = loads(data, estimator=small_net(), model_=kept)
    for X, y in stream[3:]:
        assert resumed.predict_proba(X).tobytes() == running.predict_proba(X).tobytes()
        running.update(X, y)
        resumed.update(X, y)
    with pytest.raises(ValueError, match="model_=model"):
        loads(data, estimator=small_net())


@pytest.mark.parametrize("cls", BOTH)
def test_a_model_gone_astray_is_named(cls):
    learner = cls(K, Fixed((np.nan, 0.5, 0.5)), rng=0)
    learner.update(NUMBERED[:20], Y[:20])
    with pytest.raises(ValueError, match="the estimator's output row 0 holds NaN"):
        learner.predict_proba([[0.0]])


@pytest.mark.parametrize("cls", BOTH)
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"estimator": LogisticRegression()}, "estimator .* has no partial_fit"),
        ({"estimator": SGDClassifier(loss="hinge")}, "estimator .* has no predict_proba"),
        ({"estimator": SGDClassifier}, "estimator is the class SGDClassifier"),
        (
            {"estimator": Mute()},
            "expected a classifier with partial_fit and predict and predict_proba. It has no predict",
        ),
        ({"n_classes": 1}, "n_classes"),
        ({"max_epochs": 0}, "max_epochs"),
        ({"patience": 0}, "patience"),
        ({"batch_size": 0}, "batch_size"),
        ({"epoch_steps": 0}, "epoch_steps"),
        ({"rng": -1}, "rng"),
    ],
)
def test_bad_parameters_are_named(cls, arguments, message):
    with pytest.raises((ValueError, TypeError), match=message):
        cls(**{"n_classes": K, "estimator": SGDClassifier(loss="log_loss"), **arguments})


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda saved: saved["params"].update(epoch_steps=2**40), "a training without end"),
        (lambda saved: saved["state"].update(model_=None), "has no model where there must be one"),
        (lambda saved: saved["state"].update(n_classes=2), "n_classes, which does not belong there"),
        (lambda saved: saved["state"]["model_"]["state"].clear(), "or not at all"),
        (lambda saved: saved["params"].update(max_pool=15), "other samples than it would have kept"),
    ],
)
def test_a_crafted_state_is_refused(change, said):
    learner = ContinualTraining(3, ClassMeans(), max_epochs=2, rng=0)
    for X, y in rounds(3, 30, 3):
        learner.update(X, y)
    with pytest.raises(ValueError, match=said):
        loads(edited(learner, change))


def test_features_whose_squares_overflow_are_refused():
    with pytest.raises(ValueError, match="beyond 1e\\+150; scale the features"):
        ContinualTraining(2, ClassMeans()).update([[1e200], [0.0]], [0, 1])
