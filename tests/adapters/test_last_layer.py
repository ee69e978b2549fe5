"""What methods that move a last layer share: their risk and its gradient, what they refuse, what they keep."""

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import NotFittedError

from baserate.adapters import ATLAS, UOGD, RetrainLastLayer
from baserate.adapters._last_layer import risk_and_gradient
from baserate.integrations import LastLayer
from baserate.marginals import BBSE, MLLS
from baserate.trackers import FollowTheHistory

from ..state.tampered import tampered
from . import naive_layers as naive
from .small_layer import CENTRES, RADIUS, RNG, UNCLIPPED, B, D, K, W, X, Y, batches


def test_risk_and_gradient_are_those_of_the_transcription_and_of_finite_differences():
    heads = np.stack([W, 3.0 * RNG.standard_normal((K, D))])
    for q in (np.array([0.2, 0.3, 0.5]), np.array([1.2, 0.1, -0.3]), np.eye(3)[1]):
        risks, gradients = risk_and_gradient(heads, q, X, Y, np.bincount(Y))
        for head, risk, gradient in zip(heads, risks, gradients, strict=True):
            assert risk == pytest.approx(naive.risk(head, q, X, Y))
            np.testing.assert_allclose(gradient, naive.risk_gradient(head, q, X, Y), atol=1e-12)
            for direction in RNG.standard_normal((4, K, D)):
                up, down = (naive.risk(head + s * direction, q, X, Y) for s in (1e-5, -1e-5))
                assert (gradient * direction).sum() == pytest.approx((up - down) / 2e-5, abs=1e-7)


def test_the_estimated_risk_is_unbiased():
    """Over many batches, the mean of the estimated risk and gradient is that of the true class mix."""
    shares = np.array([0.1, 0.2, 0.7])
    rng = np.random.default_rng(0)
    adapter = UOGD(W, marginals=UNCLIPPED).fit(X, Y)
    # Samples are drawn from the holdout itself, so that the confusion matrix is exact, and only the sampling is random.
    members = [np.flatnonzero(c == Y) for c in range(K)]
    rows = [[rng.choice(members[c]) for c in rng.choice(K, p=shares, size=5)] for _ in range(4000)]
    proba = [np.array([naive.softmax(W @ x) for x in X[r]]) for r in rows[:4000]]
    estimates = np.array([adapter.marginals_.estimate(p) for p in proba])
    head = np.stack([2 * W])
    truth = risk_and_gradient(head, shares, X, Y, np.bincount(Y))[1]
    mean = np.mean([risk_and_gradient(head, q, X, Y, np.bincount(Y))[1] for q in estimates], axis=0)
    spread = np.std(estimates, axis=0).max() / np.sqrt(len(estimates))
    assert np.abs(mean - truth).max() < 4 * spread * np.abs(X).max()
    clipped = np.array([BBSE().fit(np.array([naive.softmax(W @ x) for x in X]), Y).estimate(p) for p in proba])
    assert np.abs(estimates.mean(axis=0) - shares).max() < 4 * spread < np.abs(clipped.mean(axis=0) - shares).max()


@pytest.mark.parametrize("method", [UOGD, ATLAS, RetrainLastLayer])
def test_a_steady_shift_is_learned(method):
    """Fitted on many of class 0, shown almost only class 2: samples that were undecided go to class 2."""
    adapter = method(W, B).fit(X, Y)
    undecided = (CENTRES[0] + CENTRES[2])[np.newaxis] / 2
    before = adapter.predict_proba(undecided)[0]
    for batch in batches(60):
        adapter.update(batch)
    after = adapter.predict_proba(undecided)[0]
    assert after[2] / after[0] > 1.5 * before[2] / before[0]


@pytest.mark.parametrize("method", [UOGD, ATLAS, RetrainLastLayer])
def test_labels_are_used_where_there_are_some(method):
    blind, told = (method(W, B).fit(X, Y) for _ in range(2))
    for batch in batches(5, shares=(1.0, 0.0, 0.0)):
        blind.update(batch)
        told.update(batch, np.full(len(batch), 2))
    assert told.predict_proba(X)[:, 2].mean() > blind.predict_proba(X)[:, 2].mean()


def test_methods_that_track_no_mix_say_so():
    step = UOGD(W).fit(X, Y).step(X[:3])
    assert np.isnan(step.prior).all()
    assert np.isfinite(RetrainLastLayer(W).fit(X, Y).step(X[:3]).prior).all()


def test_a_model_in_the_place_of_weights_is_explained():
    forest = RandomForestClassifier(n_estimators=2).fit(X, Y)
    with pytest.raises(TypeError, match=r"coef is RandomForestClassifier; .*RegressAndReweight"):
        UOGD(forest).fit(X, Y)


@pytest.mark.parametrize("method", [UOGD, ATLAS, RetrainLastLayer])
@pytest.mark.parametrize(
    ("params", "word"),
    [
        ({"coef": W[:1]}, "coef has shape"),
        ({"coef": W[0]}, "coef has shape"),
        ({"coef": np.where(W > 0, np.nan, W)}, "coef row"),
        ({"coef": W, "intercept": B[:2]}, "intercept has 2"),
        ({"coef": W, "intercept": [0, np.inf, 0]}, "intercept holds"),
        ({"coef": W[:, :2]}, "X has 4 columns; expected 2"),
    ],
)
def test_a_bad_layer_is_refused(method, params, word):
    with pytest.raises(ValueError, match=word):
        method(**params).fit(X, Y)


@pytest.mark.parametrize(
    ("adapter", "word"),
    [
        (UOGD(W, step_size=0.0), "step_size"),
        (UOGD(W, radius=0.5 * RADIUS), "radius"),
        (UOGD(W, horizon=0), "horizon"),
        (UOGD(0 * W), "coef is all zero"),
        (ATLAS(W, step_sizes=[]), "step_sizes"),
        (ATLAS(W, step_sizes=[0.1, -0.1]), "step_sizes"),
        (ATLAS(W, step_sizes=[[0.1]]), "step_sizes"),
        (ATLAS(W, meta_rate=-1.0), "meta_rate"),
        (ATLAS(W, meta_rate=np.inf), "meta_rate"),
        (ATLAS(W, step_sizes=[0.1, np.nan]), "step_sizes"),
        (RetrainLastLayer(W, epochs=0), "epochs"),
        (RetrainLastLayer(W, step_size=-1.0), "step_size"),
        (RetrainLastLayer(W, momentum=2.0), "momentum"),
        (RetrainLastLayer(W, tracker=FollowTheHistory(4)), "tracker follows 4"),
    ],
)
def test_bad_parameters_are_refused(adapter, word):
    with pytest.raises(ValueError, match=word):
        adapter.fit(X, Y)
    assert not hasattr(adapter, "source_head_")


def test_a_class_missing_from_the_holdout():
    with pytest.raises(ValueError, match="y has no sample of class 1"):
        UOGD(W).fit(X[Y != 1], Y[Y != 1])


@pytest.mark.parametrize("method", [UOGD, ATLAS, RetrainLastLayer])
def test_features_that_are_all_zero_move_nothing(method):
    adapter = method(W, marginals=MLLS()).fit(np.zeros((6, D)), [0, 1, 2, 0, 1, 2])
    adapter.update(np.zeros((2, D)))
    assert np.isfinite(adapter.head_[0]).all()
    np.testing.assert_allclose(adapter.predict_proba(np.zeros((1, D))), 1 / 3)


def test_what_head_gives_belongs_to_the_caller():
    adapter = UOGD(W, B).fit(X, Y)
    before = adapter.predict_proba(X)
    for part in adapter.head_:
        part[...] = 7.0
    np.testing.assert_array_equal(adapter.predict_proba(X), before)
    given = W.copy()
    adapter = UOGD(given).fit(X, Y)
    before = adapter.predict_proba(X)
    given[...] = 0.0
    np.testing.assert_array_equal(adapter.predict_proba(X), before)


def test_a_round_without_samples_counts():
    adapter = UOGD(W).fit(X, Y)
    adapter.update(np.empty((0, D)))
    adapter.update(X[:2])
    assert adapter.rounds_ == 2


def test_parameters_take_effect_with_the_next_fit():
    adapter = UOGD(W, B).fit(X, Y)
    before = adapter.predict_proba(X)
    adapter.set_params(intercept=None, coef=W[:, :2])
    np.testing.assert_array_equal(adapter.predict_proba(X), before)
    with pytest.raises(ValueError, match="X has 4 columns; expected 2"):
        adapter.fit(X, Y)


def test_a_class_missing_from_the_holdout_of_an_estimator_that_would_not_mind():
    with pytest.raises(ValueError, match="y has no sample of class 1"):
        UOGD(W, marginals=MLLS()).fit(X[Y != 1], Y[Y != 1])


@pytest.mark.parametrize("method", [ATLAS, RetrainLastLayer])
def test_what_is_not_fitted_says_so(method):
    name = "weights_" if method is ATLAS else "tracker_"
    with pytest.raises(NotFittedError, match="call fit"):
        getattr(method(W), name)


def test_a_whole_layer_in_the_place_of_weights_is_explained():
    layer = LastLayer(lambda X: X, W, B)
    with pytest.raises(TypeError, match=r"\(layer.coef, layer.intercept"):
        UOGD(layer).fit(X, Y)
    with pytest.raises(ValueError, match="coef row 2 holds nan in column 3"):
        UOGD(np.where(np.arange(12).reshape(3, 4) == 11, np.nan, W)).fit(X, Y)
    with pytest.raises(ValueError, match=r"X row 3 holds 1e\+10 in column 1"):
        UOGD(W).fit(np.where((np.arange(len(X)) == 3)[:, None] & (np.arange(D) == 1), 1e10, X), Y)
    with pytest.raises(ValueError, match="at least 1 feature"):
        UOGD(np.empty((3, 0))).fit(np.empty((43, 0)), Y)


@pytest.mark.parametrize(
    ("method", "nonsense"),
    [
        (UOGD, {"_heads": np.zeros((5, K, D))}),
        (UOGD, {"_heads": np.full((1, K, D), np.nan)}),
        (UOGD, {"_heads": np.zeros((1, K, D + 1))}),
        (UOGD, {"_features": X[:, :2]}),
        (UOGD, {"_labels": Y[:-1]}),
        (UOGD, {"_sizes": np.array([1, 1, 1])}),
        (UOGD, {"_n_features": 2}),
        (ATLAS, {"_log_weights": np.zeros(2)}),
        (ATLAS, {"_heads": np.zeros((9, K, D)), "_log_weights": np.zeros(9)}),
        (ATLAS, {"_log_weights": np.full(6, np.nan)}),
        (RetrainLastLayer, {"_mix": 5}),
        (RetrainLastLayer, {"_trained": np.zeros((K, 2))}),
        (RetrainLastLayer, {"_curvatures": np.zeros(2)}),
    ],
)
def test_a_state_that_does_not_fit_is_refused(method, nonsense):
    fitted = method(W).fit(X, Y)
    tampered(fitted)
    with pytest.raises(ValueError, match=r"holds|does not fit"):
        tampered(fitted, **nonsense)
