"""PriorBand: between which limits each class's share lies now."""

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from baserate.protocols import Evidence, ExpertTracker, FloatArray
from baserate.trackers import LikelihoodMixture
from baserate.trust._beta_mixtures import beta_mixture_quantiles
from baserate.trust._kept_holdout import KeptHoldout
from baserate.trust._label_estimates import label_estimates
from baserate.validation import check_fitted, check_labels, check_prior, check_proba, check_real

_MOST = 2.0  # times the difference that guesses may have damped
_SURE = 2.0  # standard deviations that a tracker's margin is
_LEAD = 0.5  # standard deviation of the way that an expert is moved ahead, as a part of it


class PriorBand(KeptHoldout, saved_as="prior_band"):
    r"""A band for the class mix of the moment, as wide as both the stream and the holdout leave it open.

    It is a band for the mix q itself, whatever tracker follows it. Where the tracker shows its experts, as
    `LikelihoodMixture` does, the band is made from those and rounds need not be passed to `update`; beside any other
    tracker it runs a `LikelihoodMixture` of its own. `interval` takes O(n k^2) time for a holdout of n samples.

    Attributes
    ----------
    source_prior_ : (k,) array
        The class mix that the probabilities assume.

    Notes
    -----
    Of a sample, the model gives class likelihoods ``L[c] = f(c | x) / p[c]``. At the tracked mix m, the likelihood's
    score is ``s = L / (m . L)``, and the holdout has its class means ``G[c, j] = E[s[j] | c]``. Then ``t = s G^-1`` has
    the c-th unit vector as its mean over class c: an unbiased guess of the label, however dishonest the model is.
    With ``B[c, j] = E[t[j]^2 | c]`` and n_c samples of class c in the holdout,

    1. m is the most likely mix of a stream of the mix ``q = G^-T 1`` (m itself, if the model is honest). The band is
       about q, so that experts are moved by q - m. Those that forget are also freed of their lag behind a steady drift:
       the expert of memory w by its difference from that of memory 2 w, half of which counts as its standard deviation.
       All this is up to doubled where counts of guesses hold an expert back.
    2. The holdout leaves ``sum_c q[c]^2 (B[c, j] - [c = j]) / n_c`` of variance in q[j].
    3. The stream leaves ``(q[j] (1 - q[j]) + excess[j]) / N`` in an expert that counts N samples. The excess, ``sum_c
       q[c] B[c, j] - q[j]``, is what the samples do not tell of their labels. N falls with an expert's memory, and an
       expert that forgets has half that variance if nothing moves: the other half is for its lead.
    4. The expert that stays at the birth value counts no samples; it is taken to count as many as those that forget do
       on average. It has weight wherever the mix is within the tracker's margin of it, so that the holdout's part of
       its standard deviation is half of that margin, if that is more. As it does not move at all, its squared
       difference from the mean of those that forget is added.
    5. Each expert is a beta distribution with that mean and variance. The band's ends are quantiles of their mixture by
       the weights of the experts, so that what is open between experts, how long the mix has stood still, is part of
       it. An end that differs from 0 or 1 by less than one sample among those counted is 0 or 1.

    Each class of the holdout is filled up with two samples' worth of what the model takes for the class.

    Holds where label shift does: the classes themselves look as they did in the holdout. A mix that moves back and
    forth within a few rounds is not followed by the experts, nor then by the band.

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
    array([[0.03, 0.27],
           [0.73, 0.97]])
    """

    def fit(self, proba: ArrayLike, y: ArrayLike, source_prior: ArrayLike | None = None) -> Self:
        """Keep the holdout.

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
        """Forget the stream; go on from the class mix `birth`, by default the source's."""
        check_fitted(self, "source_prior_")
        k = len(self.source_prior_)
        start = self.source_prior_ if birth is None else check_prior(birth, k, "birth")
        self._mixture = LikelihoodMixture(k, prior=start)

    def needs_rounds(self, tracker: object) -> bool:
        """Return whether `update` must be given every round, as it must unless the tracker shows its experts."""
        return not isinstance(tracker, ExpertTracker)

    def update(self, proba: ArrayLike, tracker: object, labels: ArrayLike | None = None) -> None:
        """Take in a round, beside the tracker.

        Parameters
        ----------
        proba : (n, k) array
            The calibrated model's probabilities.
        tracker : Tracker
            The tracker of the class mix. Nothing is done for one that shows its experts: see `needs_rounds`.
        labels : (n,) array of int, optional
            Labels where they are known, -1 or NaN where not.
        """
        check_fitted(self, "source_prior_")
        if not self.needs_rounds(tracker):
            return
        rows = check_proba(proba, len(self.source_prior_))
        known = None if labels is None else check_labels(labels, len(rows), rows.shape[1], "labels", missing=True)
        # The sighting is not looked at beside evidence.
        self._mixture.update(self.source_prior_, Evidence(rows, self.source_prior_, known))

    def interval(self, prior: ArrayLike, tracker: object, level: float = 0.9) -> FloatArray:
        """Lower and upper limit of each class's share, now; changes nothing.

        Parameters
        ----------
        prior : (k,) array
            The tracked mix, which the band is widened to hold where it would not.
        tracker : Tracker
            What follows the mix.
        level : float
            How often each class's share shall be within its limits.

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
        low = np.where(low * size < 1.0, 0.0, low)
        high = np.where((1.0 - high) * size < 1.0, 1.0, high)
        return np.column_stack([np.minimum(low, tracked), np.maximum(high, tracked)])

    def _beliefs(self, mixture: ExpertTracker) -> tuple[FloatArray, FloatArray, FloatArray, float]:
        """Per expert its weight, and its mean and variance for each class; and the samples counted on average."""
        weights, mixes, sizes, birth, margin = mixture.weighted_experts()  # those before the birth value's forget
        forgetting = weights[:birth] / weights[:birth].sum()
        sizes[birth] = forgetting @ sizes[:birth]
        centre = mixture.predict()
        class_weights, n_class = self._class_weights()
        estimates = label_estimates(self._proba, class_weights, self.source_prior_, centre)
        solved, squares = estimates.mix, estimates.squares
        q = np.maximum(solved, 0.0)
        q /= q.sum()
        holdout = np.maximum((q**2 / n_class) @ squares - q**2 / n_class, 0.0)
        excess = np.maximum(q @ squares - q, 0.0)
        lead = _lead(mixes, birth)
        means = np.clip(solved + _undamped(mixes + lead - centre, centre, estimates.inverse), 0.0, 1.0)
        apart = forgetting @ means[:birth] - mixes[birth]
        means[birth] = mixes[birth]
        variances = (means * (1.0 - means) + excess) / sizes[:, np.newaxis]
        unexplained = holdout + (_LEAD * _undamped(lead, centre, estimates.inverse)) ** 2
        unexplained[birth] = np.maximum(holdout, (margin / _SURE) ** 2) + apart**2
        return weights, means, variances + unexplained, float(weights @ sizes)

    def set_state(self, state: dict[str, Any]) -> Self:
        super().set_state(state)
        if hasattr(self, "source_prior_") and self._mixture.n_classes != len(self.source_prior_):
            raise ValueError("holds a mixture of another number of classes than the holdout has")
        return self


def _lead(mixes: FloatArray, n_forgetting: int) -> FloatArray:
    """How far each expert would be ahead without its lag.

    An expert of memory w lags behind a steady drift by w rounds of it, the next one by 2 w. So their difference is
    the lag. For those that have not been there for as long as they remember, there is no difference, and no lead.
    """
    lead = np.zeros_like(mixes)
    until = n_forgetting - 1  # the other experts do not follow a drift
    lead[:until] = mixes[:until] - mixes[1:n_forgetting]
    return lead


def _undamped(moved: FloatArray, centre: FloatArray, inverse: FloatArray) -> FloatArray:
    """Differences from the tracked mix, as they would be had the counts not been made of guesses under that mix.

    Where the mix is nearly zero guesses say next to nothing, so that at most twice the difference is believed.
    """
    full = (moved / np.maximum(centre, np.finfo(np.float64).tiny)) @ inverse
    factor = np.divide(full, moved, out=np.ones_like(moved), where=moved != 0.0)
    return np.asarray(moved * np.clip(factor, 1.0, _MOST))
