"""Portfolio: corrections that run side by side, mixed by how well they predict the labels that come."""

from typing import Any, NamedTuple, Self

import numpy as np

from baserate.protocols import UNLABELLED, FloatArray, IntArray
from baserate.state import Component
from baserate.state.declarations import Saved, Saves, Whole, floats, priors
from baserate.trust.portfolio import mixing
from baserate.trust.portfolio.candidates import (
    CANDIDATES,
    MOST_REMAPPED,
    NO_LABELS,
    REMAPPED,
    STEPS,
    starting_weights,
)
from baserate.validation import LEAST_PRIOR

_ALIKE = np.empty(0)
_MOST_TIMES = 5.0
_KEPT, _KEPT_LEARNERS = [0, 1, 2, 3, 4, 5, 7, 8], [0, 2, 3]  # of the candidates of layout 1


class _Mixed(NamedTuple):
    """The mixture without the tracked class prior, and without what the default is: it may change meanwhile."""

    offsets: FloatArray
    table: FloatArray
    default: float
    tracked: float
    temperature: float
    model: float


class Proposals(NamedTuple):
    """The corrections that are known without labels.

    Attributes
    ----------
    prior : (k,) array
        The class prior as tracked.
    part : float
        The part of the proposed correction that the default uses.
    alone : bool
        True while the default is the model left alone, uncalibrated.
    """

    prior: FloatArray
    part: float
    alone: bool


class Blend(NamedTuple):
    """The mixture of the moment, as one correction.

    Attributes
    ----------
    offsets : (k,) array
        Log-offsets, without the tracked class prior's.
    tracked : float
        The part of the tracked class prior's log-offsets that is added, from 0 to 1.
    temperature, model : float
        Exponents of the calibrated probabilities and of the model's own.
    table : (k, k) array
        Further log-offsets, by predicted class; may have no rows.
    """

    offsets: FloatArray
    tracked: float
    temperature: float
    model: float
    table: FloatArray


def _fits_together(saved: Saved) -> str:
    k, state = saved.sizes["k"], saved.state
    size = k if k <= MOST_REMAPPED else 0
    if state["_remap"].shape != (2, size, size):
        return "has a table of predicted classes of another size"
    if size == 0 and state["weights_"][REMAPPED] > 1e-9:
        return "gives weight to a candidate that it has not"
    return ""


class Portfolio(Component, saved_as="portfolio", layout=2):
    r"""Corrections of one stream that run side by side, mixed by how likely they made the labels.

    The candidates differ in how much unlabelled samples are worth, from all to nothing, and in whether labels repair
    the calibration. Doing nothing is always one of them. Labels, at once or late, decide between them; before the first
    label the default is all that is used.

    ============================== ======================================================================
    default                        what the gate lets through of the tracked class prior
    model alone                    the model's own probabilities
    tracked                        all of the tracked class prior
    discounted                     a class prior for which an unlabelled sample counts for a tenth of a label
    remapped                       true classes by predicted class, seen over expected (up to 32 classes)
    recalibrated (two rates)       biases and a temperature, learned from the labels
    tracked and recalibrated       the same on top of the tracked class prior
    ============================== ======================================================================

    Every candidate multiplies the calibrated probabilities, to some power, by a factor for each class. Their mixture is
    the geometric mean by weight, so that it is again one such correction, and its log loss on a sample is at most the
    weighted mean of theirs.

    With each label, a candidate's weight is multiplied by the square root of the probability that it gave to the label,
    before it learns from it, and one percent of all weight returns to the starting point. A learner with step size s
    moves its biases by ``s (onehot(label) - probabilities)``, and 0.2 or 2 % of the way back to the holdout's
    calibration.

    A label that comes late tells what was right then, and is used for what comes now. So what is learned from it must
    hold for longer than the delay. The delay is counted in labels: D came while this one was waited for. A learner's
    step and shrinkage are divided by ``1 + s D / 10``, and the exponent of a verdict and its one percent by
    ``1 + D / 50``, so that memories grow with the delay. (Without that, learners that follow every turn look best: a
    late label is judged right after those of its own time were learned.)

    Labels that were chosen with known probabilities count alike in all of this, because a choice by the
    outputs does not change how labels depend on outputs, and weights would be noise where labels are few. In the
    discounted class prior, which is a mean over samples, they count in inverse proportion to the probabilities, at
    most five times.

    Time: O(n k) for a round of n samples, and O(k) for each of 8 candidates and at most 32 labels. State: 2.1 KB for
    ten classes.

    Attributes
    ----------
    weights_ : (m,) array
        Weights of the candidates, in the order of `CANDIDATES`.
    labels_ : int
        Labels so far; without any, the default alone is used.
    learned_ : int
        Labels that were learned from: of rounds with very many, not all.
    """

    saves = Saves(
        state={
            "_source_prior": priors("k", low=LEAST_PRIOR),
            "weights_": priors(len(CANDIDATES), within=1e-6),
            "labels_": Whole(),
            "learned_": Whole(),
            "_biases": floats(len(STEPS), "k", low=-1e3, high=1e3),
            "_temperatures": floats(len(STEPS), low=0.1, high=3.0),
            "_remap": floats(2, "remapped", "remapped", low=0.0, high=1e3),
            "_counts": floats("k", low=0.0, high=1e15),
            "_inverse": floats(2, low=0.0, high=1e15),
        },
        may_be_empty=True,
        check=_fits_together,
    )

    @classmethod
    def upgrade(
        cls, layout: int, params: dict[str, Any], state: dict[str, Any]
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Read layout 1, with ten candidates: those of the others that are still there go on."""
        if not state:
            return params, state
        kept = {name: value for name, value in state.items() if name not in ("_seen", "_expected")}
        weights = np.asarray(state["weights_"])[_KEPT]
        kept |= {
            "weights_": weights / weights.sum(),
            "learned_": state["labels_"],
            "_biases": np.asarray(state["_biases"])[_KEPT_LEARNERS],
            "_temperatures": np.asarray(state["_temperatures"])[_KEPT_LEARNERS],
            "_remap": np.stack([state["_seen"], state["_expected"]]),
        }
        return params, kept

    def fit(self, source_prior: FloatArray) -> Self:
        """Begin at a source prior."""
        self._source_prior = source_prior
        self.reset()
        return self

    def reset(self) -> None:
        """Forget the stream."""
        k = len(self._source_prior)
        size = k if k <= MOST_REMAPPED else 0
        self.weights_, self.labels_, self.learned_ = starting_weights(k), 0, 0
        self._learners = np.zeros((len(STEPS), k + 1))  # biases, and last the temperature
        self._learners[:, k] = 1.0
        self._remap = np.zeros((2, size, size))  # by predicted class: true classes as seen, and as expected
        self._counts = np.zeros(k)
        self._inverse = np.zeros(2)  # of the probabilities with which labels were chosen: their sum, and number
        self._mix()

    def restart(self, prior: FloatArray) -> None:
        """Go on from a class mix that a person knows; what labels taught stays."""
        self._counts = np.asarray(prior / mixing.DISCOUNT)
        self._mix()

    @property
    def discounted_(self) -> FloatArray:
        """(k,) the class prior for which an unlabelled sample counts for a tenth of a label."""
        prior = self._counts + self._source_prior
        return np.asarray(prior / prior.sum())

    def take_in(
        self,
        raw: FloatArray,
        calibrated: FloatArray,
        labels: IntArray | None,
        proposals: Proposals,
        chosen: FloatArray | None = None,
    ) -> None:
        """Learn from a round.

        Parameters
        ----------
        raw, calibrated : (n, k) arrays
        labels : (n,) array of int, optional
        proposals : Proposals
            Those with which the round was predicted.
        chosen : (n,) array, optional
            The probability with which each labelled sample was chosen for a label. Default: alike for all.
        """
        self._take_in(raw, calibrated, NO_LABELS if labels is None else labels, True, proposals, chosen)

    def learn(
        self,
        raw: FloatArray,
        calibrated: FloatArray,
        labels: IntArray,
        proposals: Proposals,
        chosen: FloatArray | None = None,
        learned: int | None = None,
    ) -> None:
        """Learn late labels, of samples of any round. The candidates are judged as they are now.

        Parameters
        ----------
        raw, calibrated, labels, proposals, chosen
            As in `take_in`.
        learned : int, optional
            `learned_` as it was in the round of the samples: other labels came meanwhile. Default: none did.
        """
        self._take_in(raw, calibrated, labels, False, proposals, chosen, learned)

    def _take_in(
        self,
        raw: FloatArray,
        calibrated: FloatArray,
        labels: IntArray,
        is_round: bool,
        proposals: Proposals,
        chosen: FloatArray | None,
        learned: int | None = None,
    ) -> None:
        importance = self._importance(labels, chosen)
        then = -1 if learned is None else learned
        offsets, table = np.empty(self._counts.shape), np.empty(self._remap.shape[1:])
        told, self.learned_, *shares = mixing.take_in(
            raw, calibrated, labels, importance, is_round, self.learned_, then, *proposals, self._source_prior,
            self.weights_, self._learners, self._remap, self._counts, offsets, table,
        )  # fmt: skip
        self.labels_ += told
        self._mixed = _Mixed(offsets, table, *shares)

    def _mix(self) -> None:
        """Mix the candidates as they are now."""
        offsets, table = np.empty(self._counts.shape), np.empty(self._remap.shape[1:])
        shares = mixing.mix(
            self._source_prior, self.weights_, self._learners, self._remap, self._counts, offsets, table
        )
        self._mixed = _Mixed(offsets, table, *shares)

    def _importance(self, labels: IntArray, chosen: FloatArray | None) -> FloatArray:
        """Return the number of labels that each label counts for in a mean over all samples.

        One over the probability with which it was chosen, relative to the mean of that so far.
        """
        if chosen is None:
            return _ALIKE
        inverse = np.where(labels == UNLABELLED, 0.0, 1.0 / chosen)
        self._inverse += inverse.sum(), np.count_nonzero(inverse)
        mean = self._inverse[0] / max(self._inverse[1], 1.0)
        return np.asarray(np.minimum(inverse / max(mean, 1.0), _MOST_TIMES))

    def blend(self, proposals: Proposals) -> Blend:
        """Return the mixture of the moment."""
        offsets, table, default, tracked, temperature, model = self._mixed
        if proposals.alone:
            model += default
        else:
            tracked += proposals.part * default
        return Blend(offsets, tracked, temperature - model, model, table)  # all exponents but for temperatures: one

    def correct(self, blend: Blend, priors: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return a mixture's log-offsets, given tracked class priors, for all samples or for each, and what is used."""
        given = mixing.correct if priors.ndim == 1 else mixing.correct_each
        return given(priors, self._source_prior, blend.offsets, blend.tracked)

    def apply(self, raw: FloatArray, calibrated: FloatArray, blend: Blend, offsets: FloatArray) -> FloatArray:
        """Return the probabilities of a batch, given the log-offsets of the mixture."""
        temperature, model = blend.temperature, blend.model
        if raw is calibrated:
            temperature, model = temperature + model, 0.0
        rows = offsets if offsets.ndim > 1 else offsets[np.newaxis]
        return mixing.predict(raw, calibrated, rows, temperature, model, blend.table)

    def candidates(
        self, raw: FloatArray, calibrated: FloatArray, proposals: Proposals
    ) -> tuple[FloatArray, FloatArray]:
        """Return the candidates' weights, (m,), and their probabilities of a batch, (m, n, k). Changes nothing."""
        out = np.empty((len(self.weights_), *calibrated.shape))
        mixing.tables(raw, calibrated, *proposals, self._source_prior, self._learners, self._remap, self._counts, out)
        return self.weights_.copy(), out

    def get_state(self) -> dict[str, Any]:
        """Return what goes on; the mixture of the moment follows from it."""
        state = super().get_state()
        if state:
            learners = state.pop("_learners")
            del state["_mixed"]
            state |= {"_biases": learners[:, :-1], "_temperatures": learners[:, -1]}
        return state

    def set_state(self, state: dict[str, Any]) -> Self:
        if not state:
            return super().set_state(state)
        rest = {name: value for name, value in state.items() if name not in ("_biases", "_temperatures")}
        super().set_state(rest)
        self._learners = np.column_stack([state["_biases"], state["_temperatures"]])
        self._mix()
        return self
