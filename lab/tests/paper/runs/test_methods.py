"""The methods are set up as in the published runs."""

import numpy as np
import pytest

from baserate.adapters import ROGD, Base, OptimalFixed, Oracle, RegressAndReweight, RetrainLastLayer
from baserate.calibrators import TemperatureScaling, VectorScaling
from baserate.evaluation import evaluate
from baserate.marginals import BBSE, MLLS, RLLS
from baserate.trackers import FLHFTL, FollowTheFixedWindow, FollowTheHistory, LastSighting
from baserate_lab.paper.published import Lagged, PublishedATLAS, PublishedROGD, PublishedUOGD, published_step_sizes
from baserate_lab.paper.runs import base_models
from baserate_lab.paper.runs.adapting import _stream, run_adapting
from baserate_lab.paper.runs.cells import PaperCell
from baserate_lab.paper.runs.methods import CALIBRATED, METHODS, PAPER, Setting

ROUNDS = 80
LIPSCHITZ, UOGD_LIPSCHITZ = 0.7, 2.5


@pytest.fixture
def setting():
    base = base_models.load("synthetic", "linear", 0, 0.8, True)
    rows = base_models.choose_holdout(base.holdout_y, 240, np.random.default_rng(0))
    stream = _stream(("synthetic", "linear", 0, 0.8, True), "ber", 0, 10, ROUNDS)
    told = base.holdout[rows], base.holdout_y[rows]
    return Setting(stream, *told, "BBSE", "temperature", LIPSCHITZ, UOGD_LIPSCHITZ, base.layer)


def same(ours, theirs, setting):
    """Bit for bit, along the whole stream."""
    one, other = (evaluate(method.fit(setting.holdout, setting.holdout_y), setting.stream) for method in (ours, theirs))
    np.testing.assert_array_equal(one.prior, other.prior)
    np.testing.assert_array_equal(one.log_loss, other.log_loss)
    return one


@pytest.mark.parametrize(
    ("method", "tracker"),
    [
        ("FLH-FTL", lambda: Lagged(FLHFTL(3, experts="window"))),
        ("FLH-FTL (no lag)", lambda: FLHFTL(3, experts="window")),
        ("FLH-FTL (literal)", lambda: FLHFTL(3)),
        ("FTH", lambda: FollowTheHistory(3)),
        ("FTFWH", lambda: FollowTheFixedWindow(3)),
        ("BBSE", lambda: LastSighting(3)),
    ],
)
def test_the_tracker_behind_the_label(setting, method, tracker):
    same(METHODS[method](setting), RegressAndReweight(tracker(), BBSE(), TemperatureScaling(), gate=False), setting)


def test_the_lag_is_of_one_round(setting):
    lagged = same(METHODS["FLH-FTL"](setting), METHODS["FLH-FTL"](setting), setting)
    prompt = evaluate(METHODS["FLH-FTL (no lag)"](setting).fit(setting.holdout, setting.holdout_y), setting.stream)
    np.testing.assert_array_equal(lagged.prior[1:], prompt.prior[:-1])
    assert not np.array_equal(lagged.prior, prompt.prior)


@pytest.mark.parametrize(("marginal", "kind"), [("BBSE", BBSE), ("MLLS", MLLS), ("RLLS", RLLS)])
def test_the_estimator_is_the_one_that_is_named(setting, marginal, kind):
    named = setting._replace(marginal=marginal)
    same(
        METHODS["FTH"](named), RegressAndReweight(FollowTheHistory(3), kind(), TemperatureScaling(), gate=False), named
    )
    for method in ("ROGD", "UOGD", "ATLAS", "RT-FLH-FTL"):
        assert type(METHODS[method](named).marginals) is kind


def test_the_oracle_is_told_the_labels_of_each_batch(setting):
    found = evaluate(METHODS["Oracle"](setting).fit(setting.holdout, setting.holdout_y), setting.stream)
    np.testing.assert_array_equal(found.prior, found.frequencies)
    assert found.mse_to_frequencies == 0
    assert found.mse > 0
    assert run_adapting(PaperCell("synthetic", "linear", "ber", 240, "Oracle", 1, n_rounds=30)).mse == 0


def test_the_best_in_hindsight_knows_this_stream(setting):
    same(METHODS["OFC"](setting), OptimalFixed.from_stream(setting.stream, calibrator=TemperatureScaling()), setting)


def test_rogd_has_the_published_constant(setting):
    theirs = PublishedROGD(BBSE(), TemperatureScaling(), lipschitz=LIPSCHITZ, horizon=ROUNDS)
    same(METHODS["ROGD"](setting), theirs, setting)


def test_with_even_classes_rogd_as_run_is_rogd_while_nothing_is_ruled_out(setting):
    """The joint confusion matrix is a third of the conditional one, and so is the constant."""
    # A constant so large that no share comes near zero; the gradients are below 10 then, and not shortened.
    large = setting._replace(lipschitz=50.0)
    ours = METHODS["ROGD"](large).fit(large.holdout, large.holdout_y)
    theirs = ROGD(BBSE(), TemperatureScaling(), lipschitz=3 * 50.0, horizon=ROUNDS)
    theirs.fit(large.holdout, large.holdout_y)
    for one, other in zip(evaluate(ours, large.stream).prior, evaluate(theirs, large.stream).prior, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9)


def test_the_last_layer_moves_by_the_published_steps(setting):
    joint = np.zeros((3, 3))
    for proba, y in zip(setting.holdout, setting.holdout_y, strict=True):
        joint[:, y] += proba / len(setting.holdout_y)
    steps = published_step_sizes(setting.layer.coef, UOGD_LIPSCHITZ, np.linalg.eigvals(joint).real.min(), ROUNDS)
    uogd, atlas, retrain = (METHODS[method](setting) for method in ("UOGD", "ATLAS", "RT-FLH-FTL"))
    assert (type(uogd), type(atlas), type(retrain)) == (PublishedUOGD, PublishedATLAS, RetrainLastLayer)
    assert uogd.step_size == pytest.approx(steps["step_size"])
    assert atlas.step_sizes == pytest.approx(steps["step_sizes"])
    for method in (uogd, atlas, retrain):
        np.testing.assert_array_equal(method.coef, setting.layer.coef)
        assert method.intercept is None  # as this layer was trained
    assert isinstance(retrain.tracker, Lagged)
    assert retrain.tracker.tracker.experts == "window"


@pytest.mark.parametrize("method", ["UOGD", "ATLAS", "RT-FLH-FTL"])
def test_a_layer_that_was_trained_with_intercepts_keeps_them(setting, method):
    given = np.array([0.0, -1.0, 2.0])
    shifted = setting._replace(layer=setting.layer._replace(intercept=given))
    np.testing.assert_array_equal(METHODS[method](shifted).intercept, given)


def test_a_confusion_matrix_without_information_still_gives_steps(setting):
    blind = setting._replace(holdout=np.full((240, 3), 1 / 3))
    least = published_step_sizes(setting.layer.coef, UOGD_LIPSCHITZ, 1e-3 / 3, ROUNDS)["step_sizes"]
    assert METHODS["ATLAS"](blind).step_sizes == pytest.approx(least)


def test_the_network_is_left_alone(setting):
    for calibrator in ("temperature", "vector"):
        assert type(METHODS["Base"](setting._replace(calibrator=calibrator))) is Base


def test_the_forest_is_calibrated_and_else_left_alone(setting):
    source = np.bincount(setting.holdout_y, minlength=3) / 240
    vector = setting._replace(calibrator="vector")
    calibrated = VectorScaling().fit(setting.holdout, setting.holdout_y)
    found = same(METHODS[CALIBRATED](vector), Oracle(np.tile(source, (ROUNDS, 1)), calibrator=VectorScaling()), vector)
    wrong = [(calibrated.transform(batch.proba).argmax(axis=1) != batch.y).sum() for batch in setting.stream]
    np.testing.assert_array_equal(found.wrong, wrong)
    assert isinstance(METHODS["FTH"](vector).calibrator, VectorScaling)


def test_the_forest_of_the_table_is_run_so():
    """Vector scaling changes which class is the most probable, for a forest that is unsure of the first class."""
    of = PaperCell("mnist", "forest", "ber", 240, "Base", 0, n_rounds=100)
    base = base_models.load("mnist", "forest", 0, 0.8, False)
    rows = base_models.choose_holdout(base.holdout_y, 240, np.random.default_rng([0, 0]))
    calibrated = VectorScaling().fit(base.holdout[rows], base.holdout_y[rows])
    stream = _stream(("mnist", "forest", 0, 0.8, False), "ber", 0, 10, 100)
    wrong = {
        name: np.mean([(say(batch.proba).argmax(axis=1) != batch.y).mean() for batch in stream])
        for name, say in (("calibrated", calibrated.transform), ("raw", lambda proba: proba))
    }
    assert wrong["calibrated"] != wrong["raw"]
    assert run_adapting(of).error == pytest.approx(100 * wrong["raw"])
    assert run_adapting(of._replace(method=CALIBRATED)).error == pytest.approx(100 * wrong["calibrated"])


def test_the_rows_of_the_papers_tables():
    assert PAPER == ("Base", "OFC", "Oracle", "FTH", "FTFWH", "ROGD", "UOGD", "ATLAS", "FLH-FTL")
