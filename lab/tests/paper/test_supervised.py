"""The theory of the supervised half, measured; all of it is `make reproduce-supervised`."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from baserate.learners import TrainByWeights
from baserate.trackers import FLHFTL, FollowTheHistory, LastSighting
from baserate_lab.paper.rates import slope
from baserate_lab.paper.supervised import __main__, calls, identity, marginals, problems, regret, running, tables

K = problems.N_CLASSES

# The class mix, from labels alone


@pytest.fixture(scope="module")
def errors():
    return marginals.run((marginals.PAPER_LENGTH,), n_seeds=20)


@pytest.mark.parametrize(("tracker", "most"), [("FLH-FTL", 0.85), ("FLH-FTL (window)", 0.75)])
def test_flh_ftl_knows_the_mix_better_than_the_history(errors, tracker, most):
    shares = marginals.ratios(errors)[0, list(marginals.TRACKERS).index(tracker)]
    assert (shares <= most).all()
    assert (shares > 0.5).all()  # a tracker that looked ahead would be far better


def test_the_frequencies_are_noisier_than_the_truth(errors):
    # The noise of a round is not known before it: it adds its variance, about half of that of the uniform mix.
    added = errors[0, :, :, 0] - errors[0, :, :, 1]
    assert added.mean() == pytest.approx(0.5 * 0.9 / marginals.BATCH_SIZE, rel=0.15)


def test_predictions_come_before_sightings():
    sightings = np.eye(3)[[0, 1, 2]]
    tracker = marginals.bound(LastSighting(3), 3)
    np.testing.assert_allclose(marginals.played(tracker, sightings), [[1 / 3] * 3, [1, 0, 0], [0, 1, 0]])


def test_trackers_are_as_in_a_learner():
    rng = np.random.default_rng(0)
    learner = TrainByWeights(K, LogisticRegression(), FLHFTL(K, experts="window"), floor=1e-9)
    y = rng.integers(K, size=(6, 20))
    sightings = np.array([np.bincount(labels, minlength=K) / 20 for labels in y])
    predictions = marginals.played(marginals.bound(FLHFTL(K, experts="window"), K), sightings)
    for labels, prediction in zip(y, predictions, strict=True):
        np.testing.assert_allclose(learner.prior_, prediction, atol=1e-8)
        learner.update(rng.standard_normal((20, 2)), labels)


# How often Algorithm 4 trains


@pytest.fixture(scope="module")
def trainings():
    return calls.run(calls.LENGTHS[:6], n_seeds=2)


def test_calls_stay_within_the_theorem(trainings):
    """Up to a logarithm, which the bound hides; and the share of the bound that is used does not grow."""
    lengths = calls.LENGTHS[:6]
    for (path, threshold), counts in trainings.items():
        bound = np.array([calls.order(path, n) * np.log2(n) for n in lengths])
        used = counts.mean(axis=1) / bound
        assert used.max() < 0.7, (path, threshold)
        assert used[-1] < 1.3 * used[:-1].max(), (path, threshold)


def test_calls_on_a_step_are_two_runs_of_powers_of_two(trainings):
    for n, counts in zip(calls.LENGTHS, trainings["step", "calibrated"], strict=False):
        assert (counts <= 2 * np.log2(n) + 1).all()
        assert (counts > np.log2(n) + 1).all()  # the step was seen


def test_the_calibrated_threshold_sees_what_the_theory_is_too_slow_for(trainings):
    assert (trainings["steps", "calibrated"][2:5] > 4 * trainings["steps", "theory"][2:5]).all()


def test_calls_grow_like_their_bound(trainings):
    fitted = {path: slope(trainings[path, "calibrated"], calls.LENGTHS[:6]).value for path in problems.PATHS}
    assert fitted["step"] < 1 / 3
    assert fitted["ramp"] < 1 / 3 + 0.2
    assert 0.5 < fitted["steps"] < 1


def test_a_stream_that_stands_still_is_trained_on_a_logarithmic_number_of_times():
    found = calls.run_still(128, n_runs=40)
    assert len(found) == len(calls.STILL) * 2
    for threshold in calls.THRESHOLDS:
        counts = np.concatenate([found[mix, threshold] for mix in calls.STILL])
        assert len(counts) == 200
        assert calls.few(counts, 128) >= 1 - calls.DELTA
        assert np.median(counts) == 8  # after 1, 2, 4, ..., 128 rounds


def test_few_is_one_more_than_the_logarithm():
    assert calls.few(np.array([11, 12, 3, 11]), 1024) == 0.75


def test_the_thresholds_are_those_of_the_theorem_and_the_defaults():
    theory, calibrated = calls.tracker("theory", 100), calls.tracker("calibrated", 100)
    assert (theory.threshold, theory.horizon, theory.sigma2, theory.delta) == ("theory", 100, 1 / 50, 0.05)
    assert (calibrated.threshold, calibrated.horizon, calibrated.sigma2) == ("calibrated", None, None)


def test_a_call_is_a_switch():
    path = np.tile(np.eye(10)[0], (64, 1))  # no noise: after the first round the prediction never changes
    assert calls.count(path, "calibrated", np.random.default_rng(0)) == 1


# The appendix's identity


def test_a_saturated_model_trained_by_weights_is_the_reweighted_one():
    """Exactly, whatever was expected: by TrainByWeights along a stream, with a tracker that errs."""
    rng = np.random.default_rng(0)
    model = identity.MODELS["saturated"]
    learner = TrainByWeights(K, model, FollowTheHistory(K))
    X, y, expected = [], [], []
    judged = np.arange(6.0)[:, np.newaxis]
    distances = []
    for _ in range(12):
        labels = rng.choice(K, size=30, p=rng.dirichlet(np.ones(K)))
        values = rng.integers(5, size=(30, 1)).astype(float)  # the sixth value is never seen
        X, y, expected = [*X, values], [*y, labels], [*expected, np.tile(learner.prior_, (30, 1))]
        learner.update(values, labels)
        seen = np.concatenate(X), np.concatenate(y)
        mix, by_weights = learner.prior_, learner.predict_proba(judged)
        for scheme in identity.SCHEMES:
            weights = identity.uniform_weights(seen[1], np.concatenate(expected), scheme)
            reweighted = identity.by_way_of_uniform(model, *seen, weights, mix, judged)
            distances.append(np.abs(reweighted - by_weights).max())
    exact, by_counts = np.reshape(distances, (12, 2)).T
    assert exact.max() < 1e-10
    assert by_counts.min() > 1e-3  # other weights, another table


def test_a_table_minimises_the_weighted_loss():
    rng = np.random.default_rng(0)
    X, y, weights = rng.integers(2, size=(50, 1)), rng.integers(K, size=50), rng.random(50)
    model = identity.ConditionalTable(2).fit(X, y, sample_weight=weights)

    def loss(table):
        return -(weights * np.log(table[X[:, 0], y])).sum()

    for _ in range(20):
        other = model.table_ * np.exp(0.1 * rng.standard_normal((2, K)))
        assert loss(other / other.sum(axis=1, keepdims=True)) > loss(model.table_)


@pytest.fixture(scope="module")
def disagreements():
    return identity.run(lengths=identity.LENGTHS[::2], n_seeds=5)


def test_the_values_of_the_saturated_model_have_their_shares():
    y = np.repeat(np.arange(K), 20_000)
    X = identity._draw("saturated", y, np.random.default_rng(0))
    shares = [np.bincount(X[y == c, 0].astype(int), minlength=6) / 20_000 for c in range(K)]
    np.testing.assert_allclose(shares, identity._VALUES, atol=0.01)


def test_saturated_models_agree(disagreements):
    assert disagreements["saturated"][:, :, 0, 0].max() < 1e-10
    assert disagreements["saturated"][:, :, 0, 1].max() == 0


@pytest.mark.parametrize("scheme", range(len(identity.SCHEMES)))
def test_well_specified_models_agree_with_enough_samples(disagreements, scheme):
    distances = disagreements["well specified"][:, :, scheme, 0]
    assert slope(distances, identity.LENGTHS[::2]).value < -0.35
    assert distances[-1].max() < 0.005


def test_misspecified_models_do_not_agree_however_many_samples_there_are(disagreements):
    distances = disagreements["misspecified"][:, :, 0, 0].mean(axis=1)
    assert distances[-1] > 0.5 * distances[0]
    assert distances[-1] > 10 * disagreements["well specified"][-1, :, 0, 0].mean()
    assert disagreements["misspecified"][-1, :, 0, 1].min() > 0.02  # other labels, too
    assert disagreements["misspecified"][-1, :, 0, 2].min() > 0.005  # and weighted ERM is the better of the two


def test_weights_of_the_uniform_mix_by_hand():
    y = np.array([0, 1, 1])
    expected = np.array([[0.5, 0.5], [0.5, 0.5], [0.8, 0.2]])
    np.testing.assert_allclose(identity.uniform_weights(y, expected, "the identity's"), [1.0, 1.0, 2.5])
    np.testing.assert_allclose(identity.uniform_weights(y, expected, "class counts"), [1.5, 0.75, 0.75])


# Dynamic regret


@pytest.fixture(scope="module")
def regrets():
    return regret.run(["step"], ["with FLH-FTL", "told the truth", "unweighted"], (32, 64, 128), n_seeds=2)


@pytest.mark.parametrize("method", ["with FLH-FTL", "told the truth"])
def test_regret_grows_no_faster_than_its_bound(regrets, method):
    fitted = slope(regrets["step", method], (32, 64, 128))
    assert fitted.value <= 2 / 3 + 0.05
    assert (regrets["step", method] > 0).all()


def test_regret_of_one_weight_for_all_grows_linearly(regrets):
    values = regrets["step", "unweighted"].mean(axis=1)
    assert values[2] - values[1] > 1.6 * (values[1] - values[0])  # what the start cost is not in it
    assert values[2] > 2 * regrets["step", "with FLH-FTL"][2].mean()


def test_nothing_is_better_than_the_best_hypothesis():
    path = problems.PATHS["step"](2, K)
    best = regret._best_losses("step", 2)
    X, y = regret._pool()
    for q, losses in zip(path, best, strict=True):
        for weights in (np.ones(K), problems.skewed(K) * K, np.array([1.0, 2.0, 0.5])):
            other = LogisticRegression().fit(X, y, sample_weight=weights[y]).predict_proba(X)
            assert q @ regret._class_losses(other, y) >= q @ losses - 1e-9
    assert np.abs(best[0] - best[1]).min() > 0.1  # and it moves


def test_orders_by_hand():
    step = problems.PATHS["step"](64, 10)
    assert np.abs(np.diff(step, axis=0)).sum() == pytest.approx(0.8 * 1.8)
    assert calls.order("step", 64) == pytest.approx(4 * 1.44 ** (2 / 3))
    assert regret.order("step", 64) == pytest.approx(16 * (0.8 * 4 / 3) ** (1 / 3) + 8)


# All of it


def test_paths_keep_something_of_every_class():
    for name, make in problems.PATHS.items():
        path = make(256, 10)
        assert path.shape == (256, 10), name
        assert path.min() == pytest.approx(0.02, abs=0.001)  # of a ramp, the end is not reached
        np.testing.assert_allclose(path.sum(axis=1), 1)
        np.testing.assert_allclose(path[0], 0.1, atol=0.01)


def test_cells_come_back_with_what_was_found():
    assert running.run_all(divmod, [(7, 2), (9, 5)], "") == [((7, 2), (3, 1)), ((9, 5), (1, 4))]


@pytest.fixture
def made_up():
    rng = np.random.default_rng(0)
    n_calls, n_rounds, n_identity = len(calls.LENGTHS), len(regret.LENGTHS), len(identity.LENGTHS)
    return (
        rng.random((len(marginals.LENGTHS), 2, 3, 2)) + 1,
        {(path, t): rng.random((n_calls, 2)) + 1 for path in problems.PATHS for t in calls.THRESHOLDS},
        {model: rng.random((n_identity, 2, 2, 3)) + 1 for model in identity.MODELS},
        {(path, m): rng.random((n_rounds, 2)) + 1 for path in regret.REGRET_PATHS for m in regret.METHODS},
    )


def test_the_tables_can_be_made(made_up):
    errors, trainings, disagreements, regrets = made_up
    disagreements["saturated"][:, :, 0] = 0.0
    table = tables.marginals_table(errors)
    assert list(table.columns[0].cells) == list(marginals.TRACKERS)
    assert next(iter(table.columns[2].cells)) == "1.00"
    assert list(tables.calls_table(trainings).columns[-1].cells) == ["1/3"] * 4 + ["2/3"] * 2
    shares = tables.still_table({("uniform", "theory"): np.array([11, 12])}).columns[2]
    assert (shares.header, list(shares.cells)) == ("share with at most 11", ["50.0 %"])
    found = tables.identity_table(disagreements)
    assert next(iter(found.columns[3].cells)) == "< 1e-10"
    assert "n = 51,200" in found.columns[3].header
    assert list(tables.regret_table(regrets).columns[-1].cells) == ["2/3"] * 4 + ["5/6"] * 4


def test_the_command_prints_and_draws(monkeypatch, tmp_path, capsys, made_up):
    asked = []

    def answer(found):
        return lambda **options: asked.append(options["n_seeds"]) or found

    for module, found in zip((marginals, calls, identity, regret), made_up, strict=True):
        monkeypatch.setattr(module, "run", answer(found))
    monkeypatch.setattr(calls, "run_still", lambda n_jobs: {("uniform", "theory"): np.array([11])})
    __main__.main(["--figure", str(tmp_path / "all.svg"), "--seeds", "3", "--jobs", "1"])
    assert asked == [3] * 4
    assert capsys.readouterr().out.count("┏") == 5
    text = (tmp_path / "all.svg").read_text()
    assert text.startswith("<?xml")
    for name in (*marginals.TRACKERS, *regret.METHODS, "theory threshold", "well specified", "misspecified"):
        assert name in text
    with pytest.raises(SystemExit):
        __main__.main(["--seeds", "1"])
    assert "--seeds is 1; give 2 at least" in capsys.readouterr().err
