"""AutoCalibrator: chooses a calibration map by cross-validation."""

from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from baserate.calibrators._softmax import normalise_rows
from baserate.calibrators._softmax_map import SoftmaxMap, log_likelihoods
from baserate.calibrators.bcts import BCTS
from baserate.calibrators.temperature import TemperatureScaling
from baserate.calibrators.vector import VectorScaling
from baserate.protocols import FloatArray, IntArray
from baserate.state import Component
from baserate.state.declarations import Fields, Maybe, Number, Part, Saved, Saves, Text, Whole
from baserate.validation import check_fitted, check_holdout, check_proba

# Maps from the simplest on, and the number of samples per class from which each is a candidate.
_MAPS: dict[str, tuple[type[SoftmaxMap], int]] = {
    "temperature": (TemperatureScaling, 0),
    "bcts": (BCTS, 3),
    "vector": (VectorScaling, 20),
}
_NATS_PER_STEP = 4.0
_FOLDS = 5
_FEWEST = 10
_NUMBERS = 2_000_000


def _fits_together(saved: Saved) -> str:
    chosen, calibrator = saved.state["chosen_"], saved.state["calibrator_"]
    expected = None if chosen == "identity" else _MAPS[chosen][0]
    return "" if expected is (calibrator and calibrator.cls) else "has another map than it chose"


class AutoCalibrator(Component, saved_as="auto_calibrator"):
    """Calibrator that chooses, by cross-validation, the identity, a temperature, `BCTS` or `VectorScaling`.

    Each map is scored by the log-likelihood of samples it was not fitted on (five stratified folds, drawn with a fixed
    seed). Every step from the identity to a temperature to biases to scales must raise the total log-likelihood by 4
    nats, odds of fifty to one; the best map after that deduction is fitted on the whole holdout.

    BCTS is considered from 3 samples per class on, vector scaling from 20. With fewer than 10 samples, or only one
    class, no choice is possible, and the probabilities are not changed. If the holdout is large, a stratified part of
    about 2,000,000 / k samples is used for the choice.

    Attributes
    ----------
    chosen_ : str
        ``"identity"``, ``"temperature"``, ``"bcts"`` or ``"vector"``.
    reason_ : str
        The reason for the choice, in one sentence.
    scores_ : dict of str to float
        Cross-validated mean log-likelihood, in nats per sample, of each map considered. The identity has -inf if it
        gave a true class no probability.
    calibrator_ : TemperatureScaling, BCTS, VectorScaling or None
        The fitted map; None for the identity.
    n_classes_ : int
        Number of classes.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> calibrated = rng.dirichlet(np.ones(3), size=500)
    >>> y = (calibrated.cumsum(axis=1) > rng.random((500, 1))).argmax(axis=1)
    >>> AutoCalibrator().fit(calibrated, y).chosen_
    'identity'
    >>> overconfident = calibrated**3 / (calibrated**3).sum(axis=1, keepdims=True)
    >>> auto = AutoCalibrator().fit(overconfident, y)
    >>> auto.chosen_, round(auto.calibrator_.temperature_, 1)
    ('temperature', 2.8)
    """

    saves = Saves(
        state={
            "n_classes_": Whole(2, size="k"),
            "chosen_": Text(("identity", *_MAPS)),
            "reason_": Text(),
            "scores_": Fields(dict.fromkeys(("identity", *_MAPS), Number(high=0.1, finite=False)), tuple(_MAPS)),
            "calibrator_": Maybe(Part(SoftmaxMap, {"k": "k"}, fitted=True)),
        },
        may_be_empty=True,
        check=_fits_together,
    )

    def fit(self, proba: ArrayLike, y: ArrayLike) -> Self:
        """Choose a map, and fit it.

        Parameters
        ----------
        proba : (n, k) array
            The model's probabilities on labelled samples it was not trained on.
        y : (n,) array of int
            Their labels, as column numbers of `proba`. A class may be missing.
        """
        holdout, labels = check_holdout(proba, y, every_class=False)
        n, k = holdout.shape
        if n < _FEWEST or (labels == labels[0]).all():
            lack = f"only {n} sample{'s' * (n > 1)}" if n < _FEWEST else f"samples of class {labels[0]} alone"
            chosen, scores = "identity", {"identity": float(log_likelihoods(normalise_rows(holdout), labels).mean())}
            reason = (
                f"the probabilities stay as they are, because a holdout with {lack} cannot tell one map from another."
            )
        else:
            size = min(n, max(_NUMBERS // k, _FEWEST))
            rows = _by_class(labels)[np.arange(size) * n // size]
            scores = _cross_validate(holdout[rows], labels[rows])
            chosen, reason = _choose(scores, len(rows))
        calibrator = None if chosen == "identity" else _MAPS[chosen][0]().fit(holdout, labels)
        self.chosen_, self.reason_, self.scores_, self.calibrator_ = chosen, reason, scores, calibrator
        self.n_classes_ = k
        return self

    def transform(self, proba: ArrayLike) -> FloatArray:
        """Return the calibrated probabilities of a batch."""
        check_fitted(self, "chosen_")
        if self.calibrator_ is None:
            return normalise_rows(check_proba(proba, self.n_classes_))
        return self.calibrator_.transform(proba)


def _by_class(labels: IntArray) -> IntArray:
    """Return the samples class by class, shuffled within each, so that every fifth one is a stratified fold.

    Classes are ordered by their first appearance in the shuffle, so that their numbers make no difference.
    """
    shuffled = np.random.default_rng(0).permutation(len(labels))
    _, first, which = np.unique(labels[shuffled], return_index=True, return_inverse=True)
    return np.asarray(shuffled[np.argsort(first[which], kind="stable")], dtype=np.int64)


def _cross_validate(proba: FloatArray, labels: IntArray) -> dict[str, float]:
    """Return the mean log-likelihood of held-out samples for each map; the samples must be ordered by class."""
    n, k = proba.shape
    scores = {"identity": float(log_likelihoods(normalise_rows(proba), labels).mean())}
    fold = np.arange(n) % _FOLDS
    for name, (cls, per_class) in _MAPS.items():
        if n < per_class * k:
            continue
        total = 0.0
        for j in range(_FOLDS):
            kept, left_out = fold != j, fold == j
            fitted = cls().fit(proba[kept], labels[kept])
            total += float(log_likelihoods(fitted.transform(proba[left_out]), labels[left_out]).sum())
        scores[name] = total / n
    return scores


def _choose(scores: dict[str, float], n: int) -> tuple[str, str]:
    """Return the name of the best map after deduction, and the reason."""
    asked = {name: _NATS_PER_STEP * step for step, name in enumerate(("identity", *_MAPS))}
    chosen = max(scores, key=lambda name: n * scores[name] - asked[name])
    tested = f"in cross-validation on {n} samples"
    if chosen == "identity":
        rival = max((name for name in scores if name != chosen), key=lambda name: n * scores[name] - asked[name])
        gain = n * (scores[rival] - scores[chosen])
        if gain <= 0.0:
            return chosen, f"the probabilities stay as they are, because no other map did better {tested}."
        return chosen, (
            f"the probabilities stay as they are, because {rival} gained {gain:.2f} nats in all {tested}, short of the "
            f"{asked[rival]:.0f} that it must gain."
        )
    if scores["identity"] == -np.inf:
        return chosen, (
            f"{chosen} did best {tested}, with {scores[chosen]:.4f} nats a sample, also after {_NATS_PER_STEP:.0f} "
            "nats in all are deducted for each more flexible map; the model itself gave a true class no probability."
        )
    gain = n * (scores[chosen] - scores["identity"])
    return chosen, (
        f"{chosen} gained {gain:.2f} nats in all ({gain / n:.4f} a sample) over the model itself {tested}, more than "
        f"the {asked[chosen]:.0f} that it must gain, and no other map gained more for what it adds."
    )
