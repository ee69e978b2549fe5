"""A river classifier in the wrapper: river's own checks, and what the wrapper promises beyond them."""

import copy
import pickle
import random
import subprocess
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

river = pytest.importorskip("river")
from river import checks, evaluate, linear_model, metrics, multiclass, naive_bayes, preprocessing, tree  # noqa: E402

import baserate.integrations.river as module  # noqa: E402
from baserate import RegressAndReweight  # noqa: E402
from baserate.integrations.river import RiverLabelShift  # noqa: E402
from baserate.marginals import BBSE  # noqa: E402
from baserate.trackers import FLHFTL  # noqa: E402

MODELS = {
    "two classes": lambda: RiverLabelShift(linear_model.LogisticRegression(), warm_up=50),
    "naive Bayes": lambda: RiverLabelShift(naive_bayes.GaussianNB(), warm_up=50),
    "a tree": lambda: RiverLabelShift(tree.HoeffdingTreeClassifier(), warm_up=50),
    "around a pipeline": lambda: RiverLabelShift(
        preprocessing.StandardScaler() | multiclass.OneVsRestClassifier(linear_model.LogisticRegression()), warm_up=50
    ),
    "in a pipeline": lambda: (
        preprocessing.StandardScaler() | RiverLabelShift(linear_model.LogisticRegression(), warm_up=50)
    ),
    "with every option": lambda: RiverLabelShift(
        naive_bayes.GaussianNB(), RegressAndReweight(floor=0.01), 100, 30, 20, 5, False
    ),
}


@pytest.mark.parametrize("name", MODELS)
def test_rivers_own_checks(name):
    model = MODELS[name]()
    names = set()
    for check in checks.yield_checks(model):
        check(model.clone())
        names.add(check.__name__)
    assert len(names) > 20
    assert model._unit_test_skips() == set(), "none may be left out"
    checks.check_estimator(MODELS["two classes"]())


def samples(n, share, seed=0, classes=(False, True), distance=1.5):
    rng = random.Random(seed)
    for _ in range(n):
        y = rng.choices(range(len(classes)), share)[0]
        yield {"a": rng.gauss(distance * y, 1.0)}, classes[y]


def taught(model, n=1000, share=(0.5, 0.5), **options):
    for x, y in samples(n, share, **options):
        model.learn_one(x, y)
    return model


def test_before_it_begins_predictions_are_the_classifiers_own():
    model = RiverLabelShift(naive_bayes.GaussianNB(), warm_up=200)
    alone = naive_bayes.GaussianNB()
    for x, y in samples(200, (0.5, 0.5)):
        assert model.predict_proba_one(x) == alone.predict_proba_one(x)
        assert model.prior_ == {}
        model.learn_one(x)  # without a label it teaches nothing, and moves nothing yet
        model.learn_one(x, y)
        alone.learn_one(x, y)
    assert model.adapter_ is None
    taught(model, 5)
    assert model.adapter_ is not None
    assert set(model.prior_) == {False, True}


def test_unlabelled_samples_move_the_mix_and_lower_the_error():
    model = taught(RiverLabelShift(naive_bayes.GaussianNB()))
    before = pickle.dumps(model.classifier)
    wrong = np.zeros(2)
    for x, y in samples(2000, (0.05, 0.95), seed=1):
        wrong += [model.classifier.predict_one(x) != y, model.predict_one(x) != y]
        model.learn_one(x)
    assert pickle.dumps(model.classifier) == before
    assert model.prior_[True] > 0.9
    assert wrong[1] < 0.5 * wrong[0]


def test_nan_is_no_label():
    with_none, with_nan = (taught(RiverLabelShift(naive_bayes.GaussianNB())) for _ in range(2))
    for x, _ in samples(50, (0.05, 0.95), seed=1):
        with_none.learn_one(x, None)
        with_nan.learn_one(x, float("nan"))
    assert with_nan.prior_ == with_none.prior_
    assert set(with_nan.classifier.predict_proba_one({"a": 0.0})) == {False, True}


def test_probabilities_are_those_of_bayes():
    # Without a gate: labels, of which a classifier of river sees many, would choose another correction.
    model = taught(RiverLabelShift(naive_bayes.GaussianNB(), RegressAndReweight(calibrator=None, gate=False)))
    model.adapter_.set_prior([0.2, 0.8] if model._classes == [False, True] else [0.8, 0.2])
    x = {"a": 0.4}
    own = model.classifier.predict_proba_one(x)
    source = dict(zip(model._classes, model.adapter_.source_prior_, strict=True))
    weighed = {False: own[False] * 0.2 / source[False], True: own[True] * 0.8 / source[True]}
    expected = weighed[True] / sum(weighed.values())
    assert model.predict_proba_one(x)[True] == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("track", [True, False])
def test_labelled_samples_move_the_mix_or_not(track):
    model = taught(RiverLabelShift(naive_bayes.GaussianNB(), track_labelled=track, refit_every=10_000), 205)
    start = model.prior_[True]
    taught(model, 300, (0.0, 1.0), seed=1)
    assert (model.prior_[True] > 0.9) if track else (model.prior_[True] == start)


def test_rounds_of_several_samples():
    adapter = RegressAndReweight(FLHFTL(2))
    model = taught(RiverLabelShift(naive_bayes.GaussianNB(), adapter, round_size=20, track_labelled=False))
    rounds = model.adapter_.rounds_
    mix = model.prior_
    for x, _ in samples(19, (0.1, 0.9), seed=1):
        model.learn_one(x)
    assert (model.adapter_.rounds_, model.prior_) == (rounds, mix)
    for x, _ in samples(1, (0.1, 0.9), seed=2):
        model.learn_one(x)
    assert model.adapter_.rounds_ == rounds + 1
    assert model.prior_ != mix


def test_a_class_that_comes_later():
    model = taught(RiverLabelShift(naive_bayes.GaussianNB()), classes=("ham", "spam"))
    for x, _ in samples(300, (0.1, 0.9), seed=1, classes=("ham", "spam")):
        model.learn_one(x)
    mix = model.prior_
    for _ in range(5):
        model.learn_one({"a": -6.0}, "scam")
    assert set(model.prior_) == {"ham", "spam"}
    own, proba = (predict({"a": -2.0}) for predict in (model.classifier.predict_proba_one, model.predict_proba_one))
    assert 0 < own["scam"] == proba["scam"] < 1, "it keeps what the classifier gives it"
    assert sum(proba.values()) == pytest.approx(1.0)
    assert proba["ham"] < own["ham"]
    model.track_labelled = False
    for x, y in samples(200, (0.45, 0.45, 0.1), seed=2, classes=("ham", "spam", "scam"), distance=3.0):
        model.learn_one(x, y)
    assert list(model.prior_) == ["ham", "spam", "scam"] or list(model.prior_) == ["spam", "ham", "scam"]
    assert model.prior_["spam"] / model.prior_["ham"] == pytest.approx(mix["spam"] / mix["ham"], rel=0.3)


def test_a_class_that_is_hardly_ever_seen_does_not_hold_up_the_others():
    model = RiverLabelShift(naive_bayes.GaussianNB())
    for a in (39.0, 40.0, 41.0):
        model.learn_one({"a": a}, "other")
    taught(model, classes=("ham", "spam"))
    assert set(model.prior_) == {"ham", "spam"}
    rounds = model.adapter_.rounds_
    model.learn_one({"a": 40.0})  # an unlabelled one of it moves nothing
    assert model.predict_one({"a": 40.0}) == "other"
    assert model.adapter_.rounds_ == rounds


def test_a_classifier_that_tells_nothing_apart_is_left_alone():
    class Indifferent(naive_bayes.GaussianNB):
        """Says the same of everything."""

        def predict_proba_one(self, x):
            return {"a": 0.5, "b": 0.5} if self.class_counts else {}

    model = RiverLabelShift(Indifferent(), RegressAndReweight(marginals=BBSE()))
    with pytest.warns(UserWarning, match="stay the classifier's own: the confusion matrix of this holdout is singular"):
        taught(model, 300, classes=("a", "b"))
    assert "singular" in model.refusal_
    assert model.predict_proba_one({"a": 0.0}) == {"a": 0.5, "b": 0.5}
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # once is enough
        taught(model, 300, classes=("a", "b"))


def test_in_rivers_own_loop_a_drift_costs_less():
    rng = random.Random(0)
    data = [pair for i in range(10) for pair in samples(300, (0.1, 0.9) if i % 2 else (0.9, 0.1), seed=rng.random())]
    score = {}
    for model in (naive_bayes.GaussianNB(), RiverLabelShift(naive_bayes.GaussianNB())):
        metric = evaluate.progressive_val_score(iter(data), model, metrics.LogLoss(), delay=20)
        score[type(model).__name__] = metric.get()
    assert score["RiverLabelShift"] < 0.8 * score["GaussianNB"]


def test_pickled_it_goes_on_bit_for_bit():
    model = taught(RiverLabelShift(naive_bayes.GaussianNB()), 500)
    other = pickle.loads(pickle.dumps(model))
    third = copy.deepcopy(model)
    for each in (model, other, third):
        taught(each, 300, (0.2, 0.8), seed=5)
    assert model.predict_proba_one({"a": 0.1}) == other.predict_proba_one({"a": 0.1})
    assert model.prior_ == other.prior_ == third.prior_


def test_arguments_for_the_classifier_are_handed_on():
    light, heavy = (RiverLabelShift(linear_model.LogisticRegression()) for _ in range(2))
    light.learn_one({"a": 1.0}, True)
    heavy.learn_one({"a": 1.0}, True, w=5.0)
    assert heavy.classifier.weights["a"] > light.classifier.weights["a"]


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ((preprocessing.StandardScaler(),), TypeError, "expected a classifier of river"),
        ((naive_bayes.GaussianNB(), "auto"), TypeError, "expected a RegressAndReweight, or None"),
        ((naive_bayes.GaussianNB(), None, 19), ValueError, "holdout_size is 19"),
        ((naive_bayes.GaussianNB(), None, 20, 0), ValueError, "warm_up is 0"),
        ((naive_bayes.GaussianNB(), None, 20, 20, 0), ValueError, "refit_every is 0"),
        ((naive_bayes.GaussianNB(), None, 20, 20, 1, 0), ValueError, "round_size is 0"),
    ],
)
def test_wrong_arguments(arguments, error, message):
    with pytest.raises(error, match=message):
        RiverLabelShift(*arguments)


def test_without_river_it_says_what_to_install():
    script = "import sys; sys.modules['river'] = None\nimport baserate.integrations.river"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert "ModuleNotFoundError: this needs river; run: pip install 'baserate[river]'" in done.stderr


def test_public_names():
    assert set(module.__all__) == {"RiverEstimator", "RiverLabelShift"}


def test_threads_may_share_it():
    rng = np.random.default_rng(0)
    samples = [({"a": float(rng.normal(2.0 * y))}, bool(y)) for y in rng.integers(2, size=400)]
    model = RiverLabelShift(naive_bayes.GaussianNB(), refit_every=1000)
    for x, y in samples[:250]:
        model.learn_one(x, y)
    before = model.adapter_.rounds_

    def work(sample):
        model.learn_one(sample[0])
        return len(model.predict_proba_one(sample[0]))

    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(work, samples)) == {2}
    assert model.adapter_.rounds_ == before + 400
    assert pickle.loads(pickle.dumps(model)).guard is not model.guard
