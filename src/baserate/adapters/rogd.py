"""ROGD: gradient descent on the prior that predictions are re-weighted to (Wu et al. 2021)."""

from typing import Literal, Self

import numpy as np
from numpy.typing import ArrayLike

from baserate.adapters._horizon import horizon_at
from baserate.adapters._reweighting import SAVED, ReweightingAdapter
from baserate.adapters._sightings import fit_marginals, new_marginals, sighting
from baserate.adapters._source import learn_source
from baserate.marginals import BBSE
from baserate.protocols import Calibrator, FloatArray, IntArray, MarginalEstimator
from baserate.simplex import project
from baserate.state.declarations import Either, Generator, Maybe, Number, Part, Whole, floats, ints, priors
from baserate.validation import LEAST_PRIOR, check_all_classes_present, check_integer, check_real, check_rng

_RANDOM_PRIORS = 100
_CHANGE = 0.01
_RULED_OUT = 1e-100


class ROGD(ReweightingAdapter, saved_as="rogd"):
    """Moves the prior that predictions are re-weighted to down the gradient of the error it would make.

    With p the prior and C(p) the confusion matrix of the re-weighted classifier on the holdout, the loss of a round is
    sum_j q[j] (1 - C_jj(p)), with q the sighting of the round. C counts probabilities, not most probable classes, which
    makes the loss smooth. A step is O(n k) for a holdout of n samples.

    Parameters
    ----------
    marginals : MarginalEstimator, optional
        Turns a batch into a sighting. Default: `BBSE`.
    calibrator : Calibrator, "auto" or None
        Calibrates the probabilities first; as in `RegressAndReweight`.
    step_size : float, optional
        Default: sqrt(2 / T) / lipschitz.
    lipschitz : float, optional
        The longest gradient; a longer one is shortened to it. Default: the longest at the uniform prior and those of
        100 random ones that give every class 1 % or more, over all class mixes q, by differences of the loss when a
        share changes by 1 %. (The gradient itself has no bound: where a prior all but rules out what the model is sure
        of, it is as long as one likes.) It is a cautious choice: with it, the prior moves slowly.
    horizon : int, optional
        T, the number of rounds to come. Default: guessed as 128, and four times as much whenever that is reached.
    source_prior : (k,) array, optional
        The class mix the model was trained on. Default: the holdout's, as `RegressAndReweight` finds it.
    rng : int or numpy.random.Generator, optional
        Seed of the random priors.

    Attributes
    ----------
    prior_ : (k,) array
        The prior as it is now.
    lipschitz_ : float
        The longest gradient.

    Examples
    --------
    >>> holdout = [[0.9, 0.1], [0.6, 0.4], [0.3, 0.7], [0.2, 0.8]]
    >>> adapter = ROGD(calibrator=None, step_size=0.1).fit(holdout, [0, 0, 1, 1])
    >>> for _ in range(3):
    ...     adapter.update([[0.9, 0.1], [0.8, 0.2]])
    >>> adapter.prior_.round(2)
    array([0.59, 0.41])

    References
    ----------
    Wu et al., "Online Adaptation to Label Distribution Shift", NeurIPS 2021.
    """

    saves = SAVED.extended(
        {
            "marginals": Maybe(Part(MarginalEstimator)),
            "step_size": Maybe(Number(0.0, 1e9)),
            "lipschitz": Maybe(Number(0.0)),
            "horizon": Maybe(Whole(1)),
            "rng": Maybe(Either((Whole(), Generator()))),
        },
        {
            "marginals_": Part(MarginalEstimator, {"k": "k"}, fitted=True),
            "lipschitz_": Either((Number(0.0, 0.0), Number(1e-100, 1e100))),
            "_prior": priors("k"),
            "_ratios": floats("n", "k", low=0.0, high=1.1 / LEAST_PRIOR),
            "_sizes": ints("k", low=1),
        },
        check=lambda saved: (
            "" if saved.state["_sizes"].sum() == saved.sizes["n"] else "has other samples than its classes have"
        ),
    )

    def __init__(
        self,
        marginals: MarginalEstimator | None = None,
        calibrator: Calibrator | Literal["auto"] | None = "auto",
        *,
        step_size: float | None = None,
        lipschitz: float | None = None,
        horizon: int | None = None,
        source_prior: ArrayLike | None = None,
        rng: int | np.random.Generator | None = 0,
    ) -> None:
        self.marginals = marginals
        self.calibrator = calibrator
        self.step_size = step_size
        self.lipschitz = lipschitz
        self.horizon = horizon
        self.source_prior = source_prior
        self.rng = rng

    def fit(self, proba: ArrayLike | None = None, y: ArrayLike | None = None) -> Self:
        for name in ("step_size", "lipschitz"):
            if getattr(self, name) is not None:
                check_real(getattr(self, name), name, 0.0, np.inf, closed=False)
        if self.horizon is not None:
            check_integer(self.horizon, "horizon", 1)
        marginals = new_marginals(self.marginals)
        if proba is None or y is None:
            missing = "proba" if proba is None else "y"
            raise ValueError(f"{missing} is missing: ROGD needs a labelled holdout for its gradients.")
        source = learn_source(proba, y, self.source_prior, self.calibrator)
        assert source.calibrated is not None
        assert source.labels is not None
        k = len(source.prior)
        check_all_classes_present(source.labels, k)
        fit_marginals(marginals, source.prior, source.calibrated, source.labels)
        order = np.argsort(source.labels, kind="stable")
        ratios = source.calibrated[order] / source.prior
        sizes = np.bincount(source.labels, minlength=k)
        lipschitz = self.lipschitz
        if lipschitz is None:
            priors = check_rng(self.rng).dirichlet(np.ones(k), _RANDOM_PRIORS)
            inside = priors[priors.min(axis=1) >= _CHANGE]
            tried = [class_slopes(p, ratios, sizes) for p in (np.full(k, 1.0 / k), *inside)]
            # The gradient is linear in q, so that the longest is at one of the classes.
            lipschitz = max(float(np.linalg.norm(slopes, axis=1).max()) for slopes in tried)
        self.marginals_, self._ratios, self._sizes, self.lipschitz_ = marginals, ratios, sizes, float(lipschitz)
        self._begin(source)
        return self

    def _restart(self) -> None:
        self.rounds_ = 0
        self._prior = self.source_prior_.copy()

    def _current_prior(self) -> FloatArray:
        return self._prior

    def _observe(self, proba: FloatArray, labels: IntArray | None) -> None:
        if len(proba) == 0:
            return
        q = sighting(self.marginals_, proba, labels)
        gradient = q @ class_gradients(self._prior, self._ratios, self._sizes)
        length = float(np.linalg.norm(gradient))
        if length > self.lipschitz_:
            gradient *= self.lipschitz_ / length
        step = self.step_size
        if step is None:
            # A model that no prior can change has no gradients, and any step will do.
            step = np.sqrt(2.0 / horizon_at(self.rounds_, self.horizon)) / (self.lipschitz_ or 1.0)
        k = len(self._prior)
        self._prior = project((self._prior - step * gradient)[np.newaxis], np.zeros(k), np.ones(k))[0]

    @classmethod
    def examples(cls) -> list[Self]:
        return [
            cls(),
            cls(BBSE(clip=False), calibrator=None, step_size=0.3, source_prior=[0.2, 0.3, 0.5]),
            cls(horizon=100, lipschitz=2.0),
        ]


def class_slopes(prior: FloatArray, ratios: FloatArray, sizes: IntArray) -> FloatArray:
    """The same as `class_gradients`, by differences of the loss between shares 0.01 below and above each one."""
    labels = np.repeat(np.arange(len(sizes)), sizes)
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    samples = np.arange(len(labels))
    total, own = ratios @ prior, ratios[samples, labels]
    losses = []
    width = min(_CHANGE, float(prior.min()))  # with more than a hundred classes, even shares are smaller
    for change in (width, -width):
        # Column m: share m alone is changed. The sample's own share changes only there.
        moved = total[:, np.newaxis] + change * ratios
        shares = np.repeat(prior[labels][:, np.newaxis], len(prior), axis=1)
        shares[samples, labels] += change
        # A row whose classes are all ruled out is left alone by re-weighting: no change.
        gone = moved <= _RULED_OUT
        row = np.nonzero(gone)[0]
        shares[gone], moved[gone] = prior[labels[row]], total[row]
        right = own[:, np.newaxis] * shares / moved
        losses.append(1.0 - np.add.reduceat(right, starts, axis=0) / sizes[:, np.newaxis])
    return np.asarray((losses[0] - losses[1]) / (2 * width))


def class_gradients(prior: FloatArray, ratios: FloatArray, sizes: IntArray) -> FloatArray:
    """Row j is the gradient in the prior of 1 - C_jj, the share of class j that re-weighting to it would get wrong.

    Parameters
    ----------
    prior : (k,) array
    ratios : (n, k) array
        The holdout's probabilities over the source prior, sorted by class.
    sizes : (k,) array of int
        How many samples each class has, at least one.
    """
    labels = np.repeat(np.arange(len(sizes)), sizes)
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    total = ratios @ prior
    # Where the prior rules out all that the model holds possible, the model's row is left alone: nothing to gain.
    possible = total > _RULED_OUT
    own = np.where(possible, ratios[np.arange(len(labels)), labels], 0.0) / np.where(possible, total, 1.0)
    scaled = ratios * (own * prior[labels] / np.where(possible, total, 1.0))[:, np.newaxis]
    gradients = np.add.reduceat(scaled, starts, axis=0)
    gradients[np.diag_indices(len(sizes))] -= np.add.reduceat(own, starts)
    return np.asarray(gradients / sizes[:, np.newaxis])
