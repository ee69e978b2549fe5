"""LikelihoodMixture: experts that forget at different speeds, weighted by the likelihood of the samples themselves."""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from baserate.protocols import Evidence, FloatArray, IntArray
from baserate.simplex import project
from baserate.trackers import _soft_counts
from baserate.trackers._base import BankedTracker
from baserate.validation import check_labels, check_proba, check_vector

_NO_LABELS = np.empty(0, dtype=np.int64)


class State(NamedTuple):
    """Per key: birth value, soft counts of each expert, its weight under each share, trust in each share, rounds."""

    births: FloatArray
    counts: FloatArray
    weights: FloatArray
    trust: FloatArray
    seen: IntArray


class LikelihoodMixture(BankedTracker):
    r"""Counts samples by what they probably are, over as long as the samples themselves say that is wise.

    A Bayesian mixture of 24 experts that forget at different speeds, with nothing to tune. O(k n) time for each expert
    in a round of n samples, and constant state, of 24 (k + 3) + k + 4 numbers.

    Parameters
    ----------
    n_classes : int
        Number of classes k, at least 2.
    prior : (k,) array, optional
        What is predicted before the first round. Default: the source marginal inside an adapter, else uniform.

    Notes
    -----
    With p the prior, an expert of memory w keeps counts S and plays ``q = (S + p) / (sum(S) + 1)``. In a round, sample
    i has the row ``L_i[c] = f_0(c | x_i) / q_0[c]`` of class likelihoods, or a one-hot row if its label is known.

    1. The mean of the experts by their weights is the prediction.
    2. Each expert's weight is multiplied by the likelihood ``prod_i sum_c q[c] L_i[c]`` that it gave to the batch.
    3. With Q the mean by the new weights, sample i is of class c with probability
       ``r_i[c] = Q[c] L_i[c] / sum_d Q[d] L_i[d]``, and every expert counts it as that: ``S <- (1 - 1 / w) S +
       sum_i r_i`` (one step of online expectation-maximisation).
    4. A share of all weight is dealt out evenly, as the best memory may have changed.

    Memories are 1, 2, 4, ..., 2^21 rounds and all rounds; one more expert stays at p, since nothing may have changed.
    Shares of 0.2, 0.02 and 1/t are each tried, on weights of their own, and trusted by the likelihood that came of
    them, with a chance of 1/t that another becomes the best one.

    In T rounds of one sample each, the log-likelihood of the predictions is below that of any one expert by at most
    ``log(72) + 2 log(T)``: 24 experts, 3 shares, and what shares of 1/t take away. For larger rounds that is true of
    the joint likelihood of a round under the mixture, not of that of the mean. It is no statement about the best class
    mix in hindsight, nor about the counts, which are made of guesses: the less the model knows of a sample, the longer
    an old mix lives on in them.

    All this believes the probabilities. With a model that is too sure or not sure enough of itself it learns a wrong
    mix quickly; calibrate first, as `baserate.adapters.RegressAndReweight` does on the holdout.

    A sighting that comes without evidence is projected onto the simplex, and taken for one labelled sample that is of
    class c in ``z[c]`` of a case. Beside evidence, sightings are not looked at. Rounds are the unit of memory, however
    many samples they have; a round without samples leaves everything as it is.

    Examples
    --------
    >>> import numpy as np
    >>> from baserate.protocols import Evidence
    >>> tracker, source = LikelihoodMixture(2), np.array([0.5, 0.5])
    >>> proba = np.array([[0.9, 0.1], [0.9, 0.1], [0.1, 0.9], [0.9, 0.1]])
    >>> for _ in range(50):
    ...     tracker.update(proba.mean(axis=0), Evidence(proba, source))
    >>> tracker.predict().round(1)
    array([0.8, 0.2])
    >>> for _ in range(3):
    ...     tracker.update([0.0, 1.0], Evidence(proba, source, labels=np.array([1, 1, 1, 1])))
    >>> tracker.predict().round(1)
    array([0.2, 0.8])

    References
    ----------
    Cappé, Moulines, "Online expectation-maximization algorithm for latent data models", 2009; Herbster, Warmuth,
    "Tracking the Best Expert", 1998 (sharing); Saerens, Latinne, Decaestecker, "Adjusting the Outputs of a Classifier
    to New a Priori Probabilities", 2002 (the likelihood of a class mix).
    """

    def __init__(self, n_classes: int, *, prior: ArrayLike | None = None) -> None:
        self.n_classes = n_classes
        self.prior = prior
        self._begin()

    def restart(self, birth: ArrayLike) -> None:
        """Forget every sample, and predict `birth`, projected onto the simplex, until the next one."""
        super().restart(birth)

    def predict_left_out(self, evidence: Evidence) -> FloatArray:
        """(n, k) the class mix for each sample of a batch, from all before and the batch's *other* samples.

        What a transductive adapter predicts with: the batch is used before it is predicted, and no sample is evidence
        for itself, neither in the counts nor in the experts' weights. Labels are not looked at, and nothing changes.

        Parameters
        ----------
        evidence : Evidence
            The batch; a later `update` takes it in.

        Examples
        --------
        >>> import numpy as np
        >>> from baserate.protocols import Evidence
        >>> proba = np.array([[0.9, 0.1], [0.9, 0.1], [0.9, 0.1], [0.1, 0.9]])
        >>> LikelihoodMixture(2).predict_left_out(Evidence(proba, np.array([0.5, 0.5]))).round(2)
        array([[0.6 , 0.4 ],
               [0.6 , 0.4 ],
               [0.6 , 0.4 ],
               [0.79, 0.21]])
        """
        proba, source_prior, _ = self._check(evidence)
        if len(proba) < 2:
            return np.tile(self.predict(), (len(proba), 1))
        births, counts, weights, trust, seen = self._state
        return _soft_counts.predict_left_out(births[0], counts[0], weights[0], trust[0], seen[0], proba, source_prior)

    def new_state(self, births: FloatArray) -> State:
        """State of ``len(births)`` keys that have seen nothing yet."""
        keys, k = births.shape
        m, n_shares = _soft_counts.EXPERTS, len(_soft_counts.SHARES)
        return State(
            births=project(births, np.zeros(k), np.ones(k)),
            counts=np.zeros((keys, k, m)),
            weights=np.full((keys, n_shares, m), 1.0 / m),
            trust=np.full((keys, n_shares), 1.0 / n_shares),
            seen=np.zeros(keys, dtype=np.int64),
        )

    def predict_rows(self, state: State, rows: IntArray) -> FloatArray:
        """Predictions of some keys, one row each."""
        return _soft_counts.predict(*state, rows)

    def update_rows(self, state: State, rows: IntArray, z: FloatArray, evidence: Evidence | None = None) -> None:
        """Take in one batch, or one sighting, for each of some keys, in place; no key twice."""
        if evidence is None:
            frequencies = project(z, np.zeros(self.n_classes), np.ones(self.n_classes))
            _soft_counts.take_in_frequencies(*state, rows, frequencies)
            return
        starts = np.array([0, evidence.n]) if evidence.starts is None else evidence.starts
        labels = _NO_LABELS if evidence.labels is None else evidence.labels
        _soft_counts.take_in(*state, rows, evidence.proba, evidence.source_prior, labels, starts)

    def _observe(self, z: FloatArray, evidence: Evidence | None) -> None:
        # Compiled code does not look at shapes; a bank hands over what it has checked.
        super()._observe(z, None if evidence is None else Evidence(*self._check(evidence)))

    def _check(self, evidence: Evidence) -> tuple[FloatArray, FloatArray, IntArray | None]:
        proba = check_proba(evidence.proba, self.n_classes, "evidence.proba")
        source_prior = check_vector(evidence.source_prior, self.n_classes, "evidence.source_prior")
        if not source_prior.min() > 0.0:
            raise ValueError("evidence.source_prior gives a class no mass; the source needs every class.")
        labels = evidence.labels
        if labels is not None:
            labels = check_labels(labels, len(proba), self.n_classes, "evidence.labels", missing=True)
        return proba, source_prior, labels
