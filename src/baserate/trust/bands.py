"""PriorBand: confidence limits for the current share of each class."""

from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from baserate.protocols import Evidence, ExpertTracker, FloatArray
from baserate.state.declarations import Part
from baserate.trackers import LikelihoodMixture
from baserate.trust._beta_mixtures import beta_mixture_quantiles
from baserate.trust._kept_holdout import SAVED, KeptHoldout
from baserate.trust._label_estimates import label_estimates
from baserate.trust.spread import LabelSpread, label_spread, open_ends
from baserate.trust.spread import variances as variances_of
from baserate.validation import check_fitted, check_labels, check_prior, check_proba, check_real

_MOST = 2.0  # largest factor by which differences that soft counts have damped are enlarged
_SURE = 2.0  # standard deviations in a tracker's margin
_LEAD = 0.5  # standard deviation of the distance that an expert is moved ahead, as a part of that distance


class PriorBand(KeptHoldout, saved_as="prior_band"):
    r"""Confidence band for the current class mix, with the uncertainty of both the stream and the holdout.

    It is a band for the true mix q, whatever tracker follows it. Where the tracker shows its experts, as
    `LikelihoodMixture` does, the band is made from those and rounds need not be passed to `update`; beside any other
    tracker it runs a `LikelihoodMixture` of its own. `interval` takes O(n k^2) time for a holdout of n samples.

    Attributes
    ----------
    source_prior_ : (k,) array
        The class mix that the probabilities assume.

    Notes
    -----
    For each sample the model gives class likelihoods ``L[c] = f(c | x) / p[c]``. At the tracked mix m, the score of the
    likelihood is ``s = L / (m . L)``, with class means ``G[c, j] = E[s[j] | c]`` on the holdout. Then ``t = s G^-1``
    has the c-th unit vector as its mean over class c: an unbiased estimate of the label, however miscalibrated the
    model is.
    With ``B[c, j] = E[t[j]^2 | c]`` and n_c samples of class c in the holdout:

    1. m is the most likely mix of a stream with the mix ``q = G^-T 1`` (m itself, if the model is calibrated). The band
       is around q, so experts are moved by q - m. Experts that forget are also corrected for their lag behind a steady
       drift: the one with memory w by its difference from the one with memory 2 w, half of which counts as standard
       deviation. These corrections are up to doubled where soft counts have damped the differences.
    2. The holdout adds ``sum_c q[c]^2 (B[c, j] - [c = j]) / n_c`` to the variance of q[j].
    3. The stream adds ``(q[j] (1 - q[j]) + excess[j]) / N`` for an expert with N samples. The excess, ``sum_c q[c]
       B[c, j] - q[j]``, is due to labels that are not known. N falls with an expert's memory. Without drift, an expert
       that forgets has half of that variance; the other half is for its correction for lag.
    4. The expert of the birth value has no samples; it is given as many as those that forget have on average. It has
       weight wherever the mix is within the tracker's margin of it, so the holdout's part of its standard deviation is
       at least half of that margin. As it never moves, its squared difference from the mean of those that forget is
       added.
    5. Experts that forget nothing since they began do not follow a drift, either: the squared difference of each from
       the mean of those that forget is added to its variance.
    6. Each expert is a beta distribution with that mean and variance. The limits are quantiles of their mixture, by
       the weights of the experts, so that the band includes the uncertainty about how long the mix has been constant. A
       limit closer to 0 or 1 than one sample is 0 or 1.

    Each class of the holdout is completed by two samples' worth of rows, weighted by the model's own probabilities.

    The band is valid under label shift: the classes themselves look as they did in the holdout. The experts, and so the
    band, do not follow a mix that moves back and forth within a few rounds.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> def model_outputs(n, share):
    ...     y = (rng.random(n) < share).astype(int)
    ...     odds = np.exp(rng.normal(2.0 * y - 1.0, 1.0) * 2.0)
    ...     return np.column_stack([1 / (1 + odds), odds / (1 + odds)]), y
    >>> band, tracker = PriorBand().fit(*model_outputs(1000, share=0.5)), LikelihoodMixture(2)
    >>> for _ in range(100):
    ...     proba, _ = model_outputs(10, share=0.8)
    ...     tracker.update(proba.mean(axis=0), Evidence(proba, band.source_prior_))
    ...     band.update(proba, tracker)
    >>> band.interval(tracker.predict(), tracker).round(2)
    array([[0.05, 0.23],
           [0.77, 0.95]])
    """

    saves = SAVED.extended(state={"_mixture": Part(LikelihoodMixture, {"k": "k"})})

    def fit(self, proba: ArrayLike, y: ArrayLike, source_prior: ArrayLike | None = None) -> Self:
        """Store the holdout.

        Parameters
        ----------
        proba : (n, k) array
            The calibrated model's probabilities on labelled samples it was not trained on.
        y : (n,) array of int
            Their labels, every class at least once.
        source_prior : (k,) array, optional
            The class mix that the probabilities assume. Default: the holdout's.
        """
        self._keep(proba, y, source_prior)
        self.reset()
        return self

    def reset(self, birth: ArrayLike | None = None) -> None:
        """Forget the stream, and start from the class mix `birth`, by default the source prior."""
        check_fitted(self, "source_prior_")
        k = len(self.source_prior_)
        start = self.source_prior_ if birth is None else check_prior(birth, k, "birth")
        self._mixture = LikelihoodMixture(k, prior=start)

    def needs_rounds(self, tracker: object) -> bool:
        """Return whether `update` must be given every round, as it must unless the tracker shows its experts."""
        return not isinstance(tracker, ExpertTracker)

    def update(self, proba: ArrayLike, tracker: object, labels: ArrayLike | None = None) -> None:
        """Update the band's own mixture with one round, if the tracker does not show its experts.

        Parameters
        ----------
        proba : (n, k) array
            The calibrated model's probabilities.
        tracker : Tracker
            The tracker of the class mix. For one that shows its experts nothing is done: see `needs_rounds`.
        labels : (n,) array of int, optional
            Labels where they are known, -1 or NaN where not.
        """
        check_fitted(self, "source_prior_")
        if not self.needs_rounds(tracker):
            return
        rows = check_proba(proba, len(self.source_prior_))
        known = None if labels is None else check_labels(labels, len(rows), rows.shape[1], "labels", missing=True)
        # With evidence, the first argument is ignored.
        self._mixture.update(self.source_prior_, Evidence(rows, self.source_prior_, known))

    def interval(self, prior: ArrayLike, tracker: object, level: float = 0.9) -> FloatArray:
        """Return the lower and upper limit of each class's current share; changes nothing.

        Parameters
        ----------
        prior : (k,) array
            The tracked mix. The band is widened, if necessary, to include it.
        tracker : Tracker
            The tracker of the class mix.
        level : float
            The probability with which each class's share is to be within its limits.

        Returns
        -------
        (k, 2) array
            Within [0, 1].
        """
        check_fitted(self, "source_prior_")
        check_real(level, "level", 0.0, 1.0, closed=False)
        k = len(self.source_prior_)
        tracked = check_prior(prior, k)
        mixture = tracker if isinstance(tracker, ExpertTracker) else self._mixture
        followed = len(mixture.predict())
        if followed != k:
            raise ValueError(f"tracker follows {followed} classes; the holdout has {k}.")
        weights, means, variances, size = self._beliefs(mixture)
        tail = 0.5 * (1.0 - level)
        low, high = beta_mixture_quantiles(weights, means, variances, np.array([tail, 1.0 - tail]))
        low, high = open_ends(low, high, size)
        return np.column_stack([np.minimum(low, tracked), np.maximum(high, tracked)])

    def ahead(self, tracker: object) -> tuple[FloatArray, FloatArray]:
        """Return how far the mix now is ahead of the tracked one, (k,), and its variance by the stream alone, (k,)."""
        check_fitted(self, "source_prior_")
        mixture = tracker if isinstance(tracker, ExpertTracker) else self._mixture
        weights, means, variances, _ = self._beliefs(mixture, with_holdout=False)
        mean = weights @ means
        return mean - mixture.predict(), np.maximum(weights @ (variances + means**2) - mean**2, 0.0)

    def spread(self, mixes: FloatArray) -> LabelSpread:
        """Return how far mixes, (T, k), that are likeliest given samples may be off: see `LabelSpread`."""
        check_fitted(self, "source_prior_")
        return label_spread(self._proba, *self._class_weights(), self.source_prior_, mixes)

    def _beliefs(
        self, mixture: ExpertTracker, *, with_holdout: bool = True
    ) -> tuple[FloatArray, FloatArray, FloatArray, float]:
        """Return each expert's weight, its mean and variance for each class, and the mean number of samples."""
        weights, mixes, sizes, birth, counting, margin = mixture.weighted_experts()  # those before `birth` forget
        forgetting = weights[:birth] / weights[:birth].sum()
        sizes[birth] = forgetting @ sizes[:birth]
        centre = mixture.predict()
        class_weights, n_class = self._class_weights()
        estimates = label_estimates(self._proba, class_weights, self.source_prior_, centre)
        solved = estimates.mix
        q = np.maximum(solved, 0.0)
        q /= q.sum()
        holdout, excess = variances_of(q, estimates.squares, n_class)
        if not with_holdout:
            # What the holdout leaves open is the same at all times.
            holdout, margin, solved = np.zeros_like(holdout), np.zeros_like(margin), centre
        lead = _lead(mixes, birth)
        moved = mixes + lead - centre
        moved[:counting] = _undamped(moved[:counting], centre, estimates.inverse)
        means = np.clip(solved + moved, 0.0, 1.0)
        followed = forgetting @ means[:birth]
        apart = followed - mixes[birth]
        means[birth] = mixes[birth]
        variances = (means * (1.0 - means) + excess) / sizes[:, np.newaxis]
        unexplained = holdout + (_LEAD * _undamped(lead, centre, estimates.inverse)) ** 2
        unexplained[birth] = np.maximum(holdout, (margin / _SURE) ** 2) + apart**2
        unexplained[counting:] += (followed - means[counting:]) ** 2  # runs do not follow a drift
        return weights, means, variances + unexplained, float(weights @ sizes)


def _lead(mixes: FloatArray, n_forgetting: int) -> FloatArray:
    """Return the lag of each expert behind a steady drift.

    An expert with memory w lags by w rounds of the drift, the next one by 2 w, so their difference is the lag. Experts
    with a longer memory than the stream has rounds do not differ, and have no lag.
    """
    lead = np.zeros_like(mixes)
    until = n_forgetting - 1  # the other experts do not follow a drift
    lead[:until] = mixes[:until] - mixes[1:n_forgetting]
    return lead


def _undamped(moved: FloatArray, centre: FloatArray, inverse: FloatArray) -> FloatArray:
    """Return differences from the tracked mix, corrected for soft counts, which pull them towards that mix.

    Where a share is nearly zero soft counts carry almost no information, so differences are at most doubled.
    """
    full = (moved / np.maximum(centre, np.finfo(np.float64).tiny)) @ inverse
    factor = np.divide(full, moved, out=np.ones_like(moved), where=moved != 0.0)
    return np.asarray(moved * np.clip(factor, 1.0, _MOST))
