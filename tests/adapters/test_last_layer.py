"""UOGD, ATLAS and RetrainLastLayer: gradients by finite differences, rounds against plain transcriptions."""

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression

from baserate.adapters import ATLAS, UOGD, RegressAndReweight, RetrainLastLayer
from baserate.adapters._last_layer import risk_and_gradient
from baserate.integrations import LastLayer
from baserate.marginals import BBSE, MLLS
from baserate.trackers import FLHFTL, FollowTheHistory, LastSighting

from . import naive_layers as naive

RNG = np.random.default_rng(5)
K, D = 3, 4
Y = np.concatenate([np.arange(K), RNG.choice(K, p=[0.5, 0.3, 0.2], size=40)])
CENTRES = 1.5 * RNG.standard_normal((K, D))
X = CENTRES[Y] + RNG.standard_normal((len(Y), D))
W = 0.5 * CENTRES
B = np.array([0.3, -0.1, 0.0])
UNCLIPPED = BBSE(clip=False)
RADIUS = float(np.linalg.norm(W))
ONES = np.column_stack([X, np.ones(len(X))])
WB = np.column_stack([W, B])


def batches(n_rounds, seed=0, shares=(0.1, 0.1, 0.8)):
    rng = np.random.default_rng(seed)
    labels = rng.choice(K, p=shares, size=(n_rounds, 6))
    return [CENTRES[y] + rng.standard_normal((6, D)) for y in labels]


def with_ones(batch):
    return np.column_stack([batch, np.ones(len(batch))])


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


@pytest.mark.parametrize("intercept", [None, B])
def test_uogd_is_its_transcription(intercept):
    start, holdout = (W, X) if intercept is None else (WB, ONES)
    radius = float(np.linalg.norm(start)) * 1.02
    adapter = UOGD(W, intercept, UNCLIPPED, step_size=0.4, radius=radius).fit(X, Y)
    stream = batches(15)
    expected = naive.uogd(
        start, holdout, Y, stream if intercept is None else [with_ones(b) for b in stream], 0.4, radius
    )
    lengths = [np.linalg.norm(head) for head in expected]
    assert max(lengths) == pytest.approx(radius)  # the ball is left, and entered again
    assert min(lengths[1:]) < radius - 1e-6
    for batch, head in zip(stream, expected, strict=False):
        rows = batch if intercept is None else with_ones(batch)
        proba = np.array([naive.softmax(head @ x) for x in rows])
        np.testing.assert_allclose(adapter.step(batch).proba, proba, atol=1e-10)
    coef, offsets = adapter.head_
    np.testing.assert_allclose(coef, expected[-1][:, :D], atol=1e-10)
    np.testing.assert_allclose(offsets, np.zeros(K) if intercept is None else expected[-1][:, D], atol=1e-10)


def test_atlas_is_its_transcription():
    steps = [0.1, 0.3, 0.9]
    adapter = ATLAS(W, None, UNCLIPPED, step_sizes=steps, meta_rate=0.7).fit(X, Y)
    stream = batches(15)
    expected, weights = naive.atlas(W, X, Y, stream, steps, RADIUS, 0.7)
    for batch, head in zip(stream, expected, strict=False):
        proba = np.array([naive.softmax(head @ x) for x in batch])
        np.testing.assert_allclose(adapter.step(batch).proba, proba, atol=1e-10)
    np.testing.assert_allclose(adapter.weights_, weights, atol=1e-10)
    assert adapter.weights_.max() > 0.4


def test_atlas_with_one_step_size_is_uogd_bit_for_bit():
    one = ATLAS(W, B, step_sizes=[0.37]).fit(X, Y)
    uogd = UOGD(W, B, step_size=0.37).fit(X, Y)
    for batch in batches(300):
        assert one.step(batch).proba.tobytes() == uogd.step(batch).proba.tobytes()
    assert one.head_[0].tobytes() == uogd.head_[0].tobytes()


def test_the_step_size_of_uogd():
    """D / (G sqrt(T)), with D twice the length of the layer and G sqrt(2) times the largest mean length of a class."""
    bound = np.sqrt(2) * max(np.linalg.norm(ONES[c == Y], axis=1).mean() for c in range(K))
    length = np.linalg.norm(WB)
    for horizon, radius in ((100, None), (900, 3 * length)):
        step = 2 * (radius or length) / (bound * np.sqrt(horizon))
        rule = UOGD(W, B, horizon=horizon, radius=radius).fit(X, Y)
        told = UOGD(W, B, step_size=step, radius=radius).fit(X, Y)
        for batch in batches(10):
            np.testing.assert_allclose(rule.step(batch).proba, told.step(batch).proba, rtol=1e-9)


def test_the_step_sizes_of_atlas():
    """1 + ceil(log2(1 + 2 T) / 2) of them, doubling from D sigma / (2 G sqrt(k T)); meta rate 2 sqrt(log(m) / T)."""
    bound = np.sqrt(2) * max(np.linalg.norm(X[c == Y], axis=1).mean() for c in range(K))
    C = np.array([np.mean([naive.softmax(W @ x) for x in X[c == Y]], axis=0) for c in range(K)]).T
    sigma = np.linalg.svd(C)[1].min()
    steps = 2 * RADIUS * sigma / (2 * bound * np.sqrt(K * 1000)) * 2.0 ** np.arange(7)
    rule = ATLAS(W, horizon=1000).fit(X, Y)
    told = ATLAS(W, step_sizes=steps, meta_rate=2 * np.sqrt(np.log(7) / 1000)).fit(X, Y)
    assert len(rule.weights_) == 7
    for batch in batches(10):
        np.testing.assert_allclose(rule.step(batch).proba, told.step(batch).proba, rtol=1e-9)


def test_without_a_horizon_uogd_halves_its_step_when_the_guess_is_reached():
    guessed, early = UOGD(W).fit(X, Y), UOGD(W, horizon=128).fit(X, Y)
    stream = batches(129)
    for batch in stream[:128]:
        assert guessed.step(batch).proba.tobytes() == early.step(batch).proba.tobytes()
    before = guessed.head_[0]
    guessed.update(stream[128])
    early.update(stream[128])
    q = guessed.marginals_.estimate(np.array([naive.softmax(W @ x) for x in stream[128]]))
    gradient = naive.risk_gradient(before, q, X, Y)
    bound = np.sqrt(2) * max(np.linalg.norm(X[c == Y], axis=1).mean() for c in range(K))
    moved = naive.into_ball(before - 2 * RADIUS / (bound * np.sqrt(512)) * gradient, RADIUS)
    np.testing.assert_allclose(guessed.head_[0], moved, atol=1e-12)
    assert not np.allclose(early.head_[0], moved, atol=1e-6)


def test_without_a_horizon_atlas_gets_a_slower_copy_when_the_guess_is_reached():
    adapter = ATLAS(W).fit(X, Y)
    stream = batches(129)
    for batch in stream[:128]:
        adapter.update(batch)
    assert len(adapter.weights_) == 6
    shares, mean = adapter.weights_, adapter.head_[0]
    adapter.update(stream[128])
    assert len(adapter.weights_) == 7
    assert adapter.weights_[0] == pytest.approx(1 / 7, rel=0.05)
    np.testing.assert_allclose(adapter.weights_[1:] / (6 / 7), shares, rtol=0.05)
    # The newcomer started from the mean, and took one step, the smallest.
    q = adapter.marginals_.estimate(np.array([naive.softmax(W @ x) for x in stream[128]]))
    step = adapter._step_sizes()
    np.testing.assert_allclose(step[1] / step[0], 2.0)
    moved = naive.into_ball(mean - step[0] * naive.risk_gradient(mean, q, X, Y), RADIUS)
    np.testing.assert_allclose(adapter._heads[0], moved, atol=1e-12)


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


def test_retraining_is_gradient_descent_on_the_reweighted_holdout():
    adapter = RetrainLastLayer(W, None, FollowTheHistory(K), epochs=7, step_size=0.3, momentum=0.5).fit(X, Y)
    watch = RegressAndReweight(FollowTheHistory(K), calibrator=None)
    watch.fit(np.array([naive.softmax(W @ x) for x in X]), Y)
    for batch in batches(4):
        np.testing.assert_allclose(adapter.prior_, watch.prior_, atol=1e-12)
        adapter.update(batch)
        watch.update(np.array([naive.softmax(W @ x) for x in batch]))
        head, velocity = np.zeros((K, D)), np.zeros((K, D))
        for _ in range(7):
            velocity = 0.5 * velocity - 0.3 * naive.risk_gradient(head, watch.prior_, X, Y)
            head = head + velocity
        np.testing.assert_allclose(adapter.head_[0], head, atol=1e-10)


def test_retraining_finds_the_minimum_with_enough_steps():
    """By default the steps are accelerated and safe: they lead to the optimum of the re-weighted risk."""
    rng = np.random.default_rng(1)
    y = rng.integers(K, size=200)
    noisy = CENTRES[y] + 2.5 * rng.standard_normal((200, D))
    adapter = RetrainLastLayer(W, np.zeros(K), FLHFTL(K), epochs=2000).fit(noisy, y)
    adapter.update(noisy[:20])
    best = LogisticRegression(C=1e9, max_iter=10_000, tol=1e-10)
    best.fit(noisy, y, sample_weight=200 * (adapter.prior_ / np.bincount(y))[y])
    np.testing.assert_allclose(adapter.predict_proba(noisy), best.predict_proba(noisy), atol=2e-3)


@pytest.mark.parametrize("scale", [1e-4, 1.0, 1e4])
def test_retraining_is_safe_whatever_the_scale_of_the_features(scale):
    """Without intercepts, features of another scale give layers of another scale, and the same predictions."""
    adapter, scaled = (RetrainLastLayer(W / s, epochs=50).fit(s * X, Y) for s in (1.0, scale))
    adapter.update(X[:20])
    scaled.update(scale * X[:20])
    np.testing.assert_allclose(scaled.predict_proba(scale * X), adapter.predict_proba(X), atol=1e-9)
    q = adapter.prior_
    assert naive.risk(adapter.head_[0], q, X, Y) < 0.5 * np.log(K)


def test_until_the_first_round_is_over_the_trained_layer_predicts():
    adapter = RetrainLastLayer(W, B).fit(X, Y)
    expected = np.array([naive.softmax(WB @ x) for x in ONES])
    np.testing.assert_allclose(adapter.predict_proba(X), expected, atol=1e-12)
    np.testing.assert_allclose(adapter.prior_, np.bincount(Y) / len(Y))
    assert isinstance(adapter.tracker_, FLHFTL)


def test_the_tracker_passed_in_is_not_moved():
    tracker = LastSighting(K)
    adapter = RetrainLastLayer(W, tracker=tracker, epochs=1).fit(X, Y)
    adapter.update(X[:5])
    assert not np.array_equal(adapter.tracker_.predict(), tracker.predict())
    np.testing.assert_array_equal(tracker.predict(), np.full(K, 1 / K))


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


def test_a_refused_refit_changes_nothing():
    adapter = RetrainLastLayer(W, B).fit(X, Y)
    adapter.update(X[:5])
    before = adapter.predict_proba(X)
    for bad in ((X[:, :2], Y), (X, Y[:-1]), (np.full_like(X, np.nan), Y), (X[Y != 0], Y[Y != 0])):
        with pytest.raises(ValueError, match=r"X|y"):
            adapter.fit(*bad)
        np.testing.assert_array_equal(adapter.predict_proba(X), before)


def test_default_retraining_is_nesterovs_descent():
    """A step of one over the curvature of the re-weighted loss, from a point that looks ahead."""
    adapter = RetrainLastLayer(W, None, FollowTheHistory(K), epochs=7).fit(X, Y)
    adapter.update(batches(1)[0])
    q = adapter.prior_
    bound = sum(q[c] * np.linalg.norm(X[c == Y], 2) ** 2 / len(X[c == Y]) / 2 for c in range(K))
    head = before = np.zeros((K, D))
    for t in range(1, 8):
        ahead = head + (t - 2) / (t + 1) * (head - before)
        head, before = ahead - naive.risk_gradient(ahead, q, X, Y) / bound, head
    np.testing.assert_allclose(adapter.head_[0], head, atol=1e-10)


def test_retraining_with_more_features_than_samples():
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(K), 5)
    wide = np.column_stack([CENTRES[y], rng.standard_normal((15, 60))])
    start = np.column_stack([W, np.zeros((K, 60))])
    adapter = RetrainLastLayer(start, epochs=5).fit(wide, y)
    expected = [np.linalg.norm(wide[c == y], 2) ** 2 / 10 for c in range(K)]
    np.testing.assert_allclose(adapter._curvatures, expected)


@pytest.mark.parametrize("scale", [1e-4, 1.0])
def test_retraining_with_a_class_without_features(scale):
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(K), 20)
    x = (CENTRES[y] + rng.standard_normal((60, D))) * (y > 0)[:, np.newaxis]
    adapter = RetrainLastLayer(W / scale).fit(scale * x, y)
    adapter.update(scale * x[20:30])
    assert adapter.predict_proba(scale * x[20:40])[:, 1].mean() > 0.6


def test_retraining_uses_the_estimator_it_is_given():
    plain, other = (RetrainLastLayer(W, marginals=m, epochs=1).fit(X, Y) for m in (None, MLLS()))
    assert isinstance(plain.marginals_, BBSE)
    assert isinstance(other.marginals_, MLLS)
    for adapter in (plain, other):
        adapter.update(batches(1)[0])
    assert not np.allclose(plain.prior_, other.prior_)


@pytest.mark.parametrize("method", [UOGD, ATLAS, RetrainLastLayer])
def test_features_that_are_all_zero_move_nothing(method):
    adapter = method(W, marginals=MLLS()).fit(np.zeros((6, D)), [0, 1, 2, 0, 1, 2])
    adapter.update(np.zeros((2, D)))
    assert np.isfinite(adapter.head_[0]).all()
    np.testing.assert_allclose(adapter.predict_proba(np.zeros((1, D))), 1 / 3)


def test_atlas_with_an_estimator_that_has_no_confusion_matrix():
    without, told = ATLAS(W, marginals=MLLS(), horizon=64).fit(X, Y), ATLAS(W, horizon=64).fit(X, Y)
    np.testing.assert_allclose(without._step_sizes() * told.marginals_.sigma_min_, told._step_sizes())


def test_atlas_never_loses_its_weights():
    """Risks so large that all weights would vanish, or be infinite, after a few rounds."""
    adapter = ATLAS(W, step_sizes=[0.1, 50.0], meta_rate=1e6).fit(X, Y)
    for batch in batches(20):
        adapter.update(batch)
    assert adapter.weights_.sum() == pytest.approx(1.0)
    assert np.isfinite(adapter._log_weights).all() or adapter.weights_.max() == 1.0


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


def test_labels_may_be_known_of_some_samples_only():
    """One batch of which half is labelled: counted and estimated, by their numbers."""
    batch = batches(1)[0]
    adapter = UOGD(W, step_size=0.4, radius=100.0).fit(X, Y)
    adapter.update(batch, [2, -1, 2, -1, np.nan, 0])
    unknown = np.array([naive.softmax(W @ x) for x in batch[[1, 3, 4]]])
    q = (np.array([1.0, 0.0, 2.0]) + 3 * adapter.marginals_.estimate(unknown)) / 6
    np.testing.assert_allclose(adapter.head_[0], W - 0.4 * naive.risk_gradient(W, q, X, Y), atol=1e-12)


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


def test_a_radius_that_was_rounded_is_fine():
    UOGD(W, radius=np.nextafter(np.linalg.norm(W), 0.0)).fit(X, Y)


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
        (RetrainLastLayer, {"_watch": 5}),
        (RetrainLastLayer, {"_trained": np.zeros((K, 2))}),
        (RetrainLastLayer, {"_curvatures": np.zeros(2)}),
    ],
)
def test_a_state_that_does_not_fit_is_refused(method, nonsense):
    state = method(W).fit(X, Y).get_state()
    method(W).set_state(state)
    with pytest.raises(ValueError, match=r"holds|does not fit"):
        method(W).set_state({**state, **nonsense})
