"""LikelihoodMixture: experts that forget at different speeds, weighted by the likelihood of the samples themselves."""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from baserate.protocols import Evidence, Experts, FloatArray, IntArray
from baserate.simplex import project
from baserate.trackers._tracker import ONE_KEY, BankedTracker
from baserate.trackers.likelihood_mixture import experts, late_labels, soft_counts
from baserate.validation import check_integer, check_labels, check_proba, check_starts, check_vector

_NO_LABELS = np.empty(0, dtype=np.int64)
_NOT_ASKED = np.empty((0, 0))


class State(NamedTuple):
    """What there is of each key."""

    births: FloatArray
    counts: FloatArray
    """Soft counts of each expert."""
    weights: FloatArray
    """Of the experts, under each share."""
    trust: FloatArray
    """In each share."""
    doubted: FloatArray
    """Counts of the latest rounds, if no known mix explains them."""
    doubt: FloatArray
    made: IntArray
    """First and last round that each recalled mix was made of."""
    rounds: IntArray
    """Rounds seen, and the one that doubt began with."""


class Note(NamedTuple):
    """What a round knew: enough to count its samples again when their labels come."""

    t: int
    mixes: FloatArray
    together: FloatArray
    part: FloatArray
    source_prior: FloatArray


class LikelihoodMixture(BankedTracker, saved_as="likelihood_mixture"):
    r"""Counts samples by what they probably are, over as long as the samples themselves say that is wise.

    A Bayesian mixture of experts that forget at different speeds or recall a mix from before, with nothing to tune.
    O(k n) time for each of 32 experts in a round of n samples, and constant state, of 34 k + 118 numbers.

    Parameters
    ----------
    n_classes : int
        Number of classes k, at least 2.
    prior : (k,) array, optional
        What is predicted before the first round. Default: the source marginal inside an adapter, else uniform.

    Notes
    -----
    With p the prior, an expert keeps counts S and plays ``q = (S + p) / (sum(S) + 1)``. In a round, sample i has the
    row ``L_i[c] = f_0(c | x_i) / q_0[c]`` of class likelihoods, or a one-hot row if its label is known.

    1. The mean of the experts by their weights is the prediction.
    2. Each expert's weight is multiplied by the likelihood ``prod_i sum_c q[c] L_i[c]`` that it gave to the batch.
    3. With Q the mean by the new weights, sample i is of class c with probability
       ``r_i[c] = Q[c] L_i[c] / sum_d Q[d] L_i[d]``, and an expert of memory w counts it as that: ``S <- (1 - 1 / w) S
       + sum_i r_i`` (one step of online expectation-maximisation).
    4. Known mixes, which are p itself and up to eight recalled ones, share the round's counts among them by their
       weights and do not forget (p stays). But while the memories foresee the rounds better than the known mixes do,
       counts are kept apart; if that comes to 5 in log-likelihood, they become a recalled mix themselves, if need be
       in the place of the one that had the fewest samples a round, and if it falls back to zero, they are dropped.
    5. A share of all weight is dealt out, as the best expert may have changed: half of it to the memories, half to the
       known mixes.

    Memories are 1, 2, 4, ..., 2^21 rounds and all rounds. Shares of 0.2, 0.02 and 1/t are each tried, on weights of
    their own, and trusted by the likelihood that came of them, with a chance of 1/t that another becomes the best one.

    An adapter tells how far the holdout may be wrong (`tolerate`). The prior is then judged by what has been found, as
    far as that is within this margin of it, and played as it is: a mix that the model's own faults explain is no shift.

    Without a margin, in T rounds of one sample each, the log-likelihood of the predictions is below that of any one
    memory, or of the prior, by at most ``log(138) + 2 log(T)``: half of the weight over 23 memories, 3 shares, and what
    shares of 1/t take away. For larger rounds that is true of the joint likelihood of a round under the mixture, not of
    that of the mean. It is no statement about the best class mix in hindsight, nor about the counts, which are made of
    guesses: the less the model knows of a sample, the longer an old mix lives on in them.

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

    in_threads = True
    reads_sightings = False  # beside evidence, so that an adapter need not work them out

    def __init__(self, n_classes: int, *, prior: ArrayLike | None = None) -> None:
        self.n_classes = n_classes
        self.prior = prior
        self._begin()

    def _begin(self) -> None:
        super()._begin()
        self._slack = np.zeros(self.n_classes)

    def restart(self, birth: ArrayLike) -> None:
        """Forget every sample, and predict `birth`, projected onto the simplex, until the next one."""
        super().restart(birth)

    def tolerate(self, margin: FloatArray) -> None:
        """Do not count differences from the birth value as drift that calibration errors alone could cause.

        Parameters
        ----------
        margin : (k,) array
            Largest difference of each class's share from the birth value that is tolerated.
        """
        self._slack = np.array(margin)  # the name that state files know

    def predict(self) -> FloatArray:
        """The class mix now: the mean of the experts by their weights."""
        tracked: FloatArray = self.predict_rows(self._state, ONE_KEY)[0]
        return tracked

    def update(self, z: ArrayLike, evidence: Evidence | None = None) -> None:
        """Take in one batch.

        Parameters
        ----------
        z : (k,) array
            An estimate of its class mix; looked at only where there is no evidence.
        evidence : Evidence, optional
            The batch.
        """
        estimate = check_vector(z, self.n_classes)
        # Compiled code does not look at shapes; adapters and banks hand over what they have checked.
        if evidence is not None and not evidence.checked:
            evidence = Evidence(*self._check(evidence))
        self.update_rows(self._state, ONE_KEY, estimate[np.newaxis], evidence)

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
        array([[0.55, 0.45],
               [0.55, 0.45],
               [0.55, 0.45],
               [0.65, 0.35]])
        """
        proba, source_prior, _ = self._check(evidence)
        if len(proba) < 2:
            return np.tile(self.predict(), (len(proba), 1))
        births, counts, weights, trust, _, _, made, rounds = (array[0] for array in self._state)
        return soft_counts.predict_left_out(
            births, counts, weights, trust, made, rounds[0], self._slack, proba, source_prior
        )

    def play(self, evidence: Evidence) -> FloatArray:
        """Take in many rounds, one after the other; gives what is predicted before each, a row a round.

        The same as `predict` and `update` in turns, bit for bit, in one call: for replaying a log.

        Parameters
        ----------
        evidence : Evidence
            A batch for each round, cut by its `starts`.

        Examples
        --------
        >>> import numpy as np
        >>> from baserate.protocols import Evidence
        >>> log = Evidence(np.array([[0.9, 0.1]] * 100), np.array([0.5, 0.5]), starts=np.arange(0, 101, 10))
        >>> LikelihoodMixture(2).play(log)[[0, 1, -1]].round(2)
        array([[0.5 , 0.5 ],
               [0.68, 0.32],
               [0.96, 0.04]])
        """
        proba, source_prior, labels = self._check(evidence)
        starts = np.array([0, len(proba)]) if evidence.starts is None else check_starts(evidence.starts, len(proba))
        labels = _NO_LABELS if labels is None else labels
        played, rows = np.empty((len(starts) - 1, self.n_classes)), np.zeros(len(starts) - 1, dtype=np.int64)
        state: State = self._state
        soft_counts.take_in(*state, rows, self._slack, proba, source_prior, labels, starts, played)
        return played

    def weighted_experts(self) -> Experts:
        """The experts as they are now, without those that have no earlier class mix to recall yet."""
        births, counts, weights, trust, *_ = (array[0] for array in self._state)
        weight = experts.say(weights, trust)
        used = weight > 0.0
        return Experts(
            weights=weight[used] / weight.sum(),
            mixes=np.ascontiguousarray(experts.plays(births, counts).T[used]),
            sizes=1.0 + counts.sum(axis=0)[used],
            n_forgetting=experts.MEMORIES,
            margin=self._slack.copy(),
        )

    def idle(self, rounds: int) -> None:
        """Let rounds without samples go by: what was seen before them fades, as if something had come after it.

        Without it a round without samples leaves everything as it is.

        Parameters
        ----------
        rounds : int
            How many.
        """
        gone = np.array([check_integer(rounds, "rounds", 0)])
        self.idle_rows(self._state, np.zeros(1, dtype=np.int64), gone)

    def idle_rows(self, state: State, rows: IntArray, rounds: IntArray) -> None:
        """`idle` for some keys, in place."""
        experts.pass_by(state.counts, state.weights, state.trust, state.made, state.rounds, rows, rounds)

    def note(self, evidence: Evidence) -> Note:
        """What is known of a round before an `update` takes it in: keep it as long as labels may still come.

        Parameters
        ----------
        evidence : Evidence
            The batch, with the labels that are known by now.
        """
        proba, source_prior, labels = self._check(evidence)
        labels = _NO_LABELS if labels is None else labels
        births, counts, weights, trust, _, doubt, _, rounds = (array[0] for array in self._state)
        known = late_labels.note(births, counts, weights, trust, doubt, self._slack, proba, source_prior, labels)
        return Note(int(rounds[0]) + 1, *known, source_prior)

    def correct(self, note: Note, proba: ArrayLike, labels: ArrayLike) -> None:
        """Count samples of an earlier round by their labels, and no longer by what they probably were.

        All counts are then as if the labels had come in time, but for what other samples were taken for meanwhile. The
        experts' weights are corrected by what labels and samples say of that round's experts, with the chance that
        nothing has changed since: 0.8 for every round, and one chance for all samples that are given together.

        Parameters
        ----------
        note : Note
            Of the samples' round.
        proba : (n, k) array
            Their probabilities, as in that round's evidence; each sample once.
        labels : (n,) array of int
            Their labels.

        Examples
        --------
        >>> import numpy as np
        >>> from baserate.protocols import Evidence
        >>> tracker, source = LikelihoodMixture(2), np.array([0.5, 0.5])
        >>> batch = Evidence(np.array([[0.5, 0.5], [0.4, 0.6]]), source)
        >>> note = tracker.note(batch)
        >>> tracker.update(source, batch)
        >>> tracker.predict().round(2)
        array([0.48, 0.52])
        >>> tracker.correct(note, batch.proba, [0, 0])
        >>> tracker.predict().round(2)
        array([0.67, 0.33])
        """
        rows = check_proba(proba, self.n_classes)
        checked = check_labels(labels, len(rows), self.n_classes, "labels")
        _, counts, weights, trust, doubted, _, made, rounds = (array[0] for array in self._state)
        late_labels.correct(counts, weights, trust, doubted, made, rounds, *note, rows, checked)

    def new_state(self, births: FloatArray) -> State:
        """State of ``len(births)`` keys that have seen nothing yet."""
        keys, k = births.shape
        m, n_shares = experts.EXPERTS, len(experts.SHARES)
        weights = np.zeros((keys, n_shares, m))
        weights[:, :, : experts.MEMORIES] = 0.5 / experts.MEMORIES
        weights[:, :, experts.KNOWN] = 0.5
        rounds = np.zeros((keys, 2), dtype=np.int64)
        rounds[:, 1] = 1
        return State(
            births=project(births, np.zeros(k), np.ones(k)),
            counts=np.zeros((keys, k, m)),
            weights=weights,
            trust=np.full((keys, n_shares), 1.0 / n_shares),
            doubted=np.zeros((keys, k)),
            doubt=np.zeros(keys),
            made=np.zeros((keys, experts.RECALLED, 2), dtype=np.int64),
            rounds=rounds,
        )

    def predict_rows(self, state: State, rows: IntArray) -> FloatArray:
        """Predictions of some keys, one row each."""
        return soft_counts.predict(state.births, state.counts, state.weights, state.trust, state.rounds, rows)

    def update_rows(self, state: State, rows: IntArray, z: FloatArray, evidence: Evidence | None = None) -> None:
        """Take in one batch, or one sighting, for each of some keys, in place; no key twice."""
        if evidence is None:
            frequencies = project(z, np.zeros(self.n_classes), np.ones(self.n_classes))
            soft_counts.take_in_frequencies(*state, rows, self._slack, frequencies)
            return
        starts = np.array([0, evidence.n]) if evidence.starts is None else evidence.starts
        labels = _NO_LABELS if evidence.labels is None else evidence.labels
        soft_counts.take_in(
            *state, rows, self._slack, evidence.proba, evidence.source_prior, labels, starts, _NOT_ASKED
        )

    def _check(self, evidence: Evidence) -> tuple[FloatArray, FloatArray, IntArray | None]:
        proba = check_proba(evidence.proba, self.n_classes, "evidence.proba")
        source_prior = check_vector(evidence.source_prior, self.n_classes, "evidence.source_prior")
        if not source_prior.min() > 0.0:
            raise ValueError("evidence.source_prior gives a class no mass; the source needs every class.")
        labels = evidence.labels
        if labels is not None:
            labels = check_labels(labels, len(proba), self.n_classes, "evidence.labels", missing=True)
        return proba, source_prior, labels
