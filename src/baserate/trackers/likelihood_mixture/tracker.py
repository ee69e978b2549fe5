"""LikelihoodMixture: experts that forget at different speeds, weighted by the likelihood they give to the samples."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from baserate.protocols import Evidence, Experts, FloatArray, IntArray
from baserate.simplex import project
from baserate.trackers._tracker import ONE_KEY, BankedTracker
from baserate.trackers.likelihood_mixture import batch_update, experts, in_season, late_labels, runs, season
from baserate.trackers.likelihood_mixture.evidence import check_evidence
from baserate.trackers.likelihood_mixture.state import SAVED_NOTE, SAVES, Note, State, new_state
from baserate.validation import check_integer, check_labels, check_proba, check_starts, check_vector

_NO_LABELS = np.empty(0, dtype=np.int64)
_NONE = np.empty((0, 0))
_FOLDS = 10  # parts of a batch that are left out one after the other
_MOST_ROWS = 200_000  # samples that are copied at a time for that


class LikelihoodMixture(BankedTracker, saved_as="likelihood_mixture"):
    r"""Bayesian mixture of experts that forget at different speeds, recall an earlier mix, or began at some round.

    Experts are weighted by how likely they made the samples that came next; there is nothing to tune. O(k n) time for
    each of 39 experts in a round of n samples; constant state, 15.7 KB for ten classes.

    Parameters
    ----------
    n_classes : int
        Number of classes k, at least 2.
    prior : (k,) array, optional
        The prediction before the first round. Default: the source prior inside an adapter, else uniform.
    light : bool
        Leave out the runs and the season: a quarter of the state and, in large rounds, half of the time, for a
        `baserate.Bank` of very many keys. The mix is then learned slowly where the model is weak or a class is rare.

    Notes
    -----
    With p the prior, an expert keeps class counts S and predicts ``q = (S + p) / (sum(S) + 1)``. In a round, sample i
    has the row ``L_i[c] = f_0(c | x_i) / q_0[c]`` of class likelihoods, or a one-hot row if its label is known.

    1. The prediction is the mean of the experts, weighted.
    2. Each expert's weight is multiplied by the likelihood ``prod_i sum_c q[c] L_i[c]`` that it gave to the batch.
    3. With Q the mean under the new weights, sample i is of class c with probability
       ``r_i[c] = Q[c] L_i[c] / sum_d Q[d] L_i[d]``. An expert with a memory of w rounds (a *memory*) counts it so:
       ``S <- (1 - 1 / w) S + sum_i r_i`` (one step of online expectation-maximisation).
    4. Known mixes are p itself and up to eight recalled ones. They share the round's counts in proportion to their
       weights and do not forget; p has no counts. But while the memories predict the rounds better than the known mixes
       do, counts are kept apart. When the log-likelihood ratio reaches 5, these counts become a recalled mix, if
       necessary in the place of the one with the fewest samples per round; when it falls back to zero, they are
       dropped.
    5. Because the best expert may change, a share of all weight is redistributed (*fixed share*): half of it to the
       memories, half to the known mixes.

    6. Beside these experts there are up to seven *runs*, each of which began at some round. A run predicts nearly the
       mix that is likeliest given all samples since then: it moves by the score of new samples divided by the
       information of all its samples. A run may end, the less likely the older it is, and a new one begins. The
       experts of steps 1 to 5 and the runs are two arms, weighted in the same way; Q is the mean of both.

    7. If the mix comes back after a fixed number of up to 64 rounds, such as the hours of a day or the days of a week,
       the mean of each of these rounds is kept (the *profile*). The forecast without a season, the profile, and the
       forecast moved as the profile moves are three arms, weighted in the same way. The period is looked for by
       comparing each round with those before it.

    Memories are 1, 2, 4, ..., 2^21 rounds and all rounds. The switching rates 0.2, 0.02 and 1/t of step 5 are run side
    by side, each with weights of its own, and are averaged in the same way, with a switching rate of 1/t.

    An adapter says how large a difference the holdout's error could cause (`tolerate`). The likelihood of p is then
    that of the observed mix, within this margin of p, so that miscalibration is not taken for drift.

    Without a margin, in T rounds of one sample each, the log-likelihood of the predictions is at most ``log(276) + 2
    log(T) + T / 60,000`` below that of any single memory, or of the prior: half of the weight for the arm, half of that
    over 23 memories, 3 switching rates, and what a rate of 1/t, or of 0.00003 between the arms, redistributes. For
    larger rounds that holds for the joint likelihood of a round under the mixture, not for that of its mean. It says
    nothing about the best class mix in hindsight, nor about the counts, which are estimates: the less the model knows
    about a sample, the longer an old mix persists in them.

    The probabilities must be calibrated: with an over- or under-confident model the tracker quickly learns a wrong mix.
    `baserate.adapters.RegressAndReweight` calibrates on the holdout.

    An estimate `z` without evidence is projected onto the simplex, and counts as one labelled sample that is split
    among the classes. With evidence, `z` is ignored. Memory is measured in rounds, whatever their size; a round without
    samples changes nothing.

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
    "Tracking the Best Expert", 1998 (sharing); Titterington, "Recursive Parameter Estimation Using Incomplete Data",
    1984 (runs); Saerens, Latinne, Decaestecker, "Adjusting the Outputs of a Classifier
    to New a Priori Probabilities", 2002 (the likelihood of a class mix).
    """

    in_threads = True
    reads_sightings = False  # with evidence, so that an adapter need not compute them

    _predicted: tuple[State, FloatArray] | None = None  # of which state what is predicted, where an update has said it

    saves = SAVES
    saved_note = SAVED_NOTE

    def __init__(self, n_classes: int, *, prior: ArrayLike | None = None, light: bool = False) -> None:
        self.n_classes = n_classes
        self.prior = prior
        self.light = light
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
        """Return the class mix of the next round: the weighted mean of the experts."""
        if self._predicted is None or self._predicted[0] is not self._state:
            self._predicted = self._state, self.predict_rows(self._state, ONE_KEY)
        tracked: FloatArray = self._predicted[1][0].copy()
        return tracked

    def update(self, z: ArrayLike, evidence: Evidence | None = None) -> None:
        """Update the experts with one batch.

        Parameters
        ----------
        z : (k,) array
            An estimate of its class mix; looked at only where there is no evidence.
        evidence : Evidence, optional
            The batch.
        """
        # Compiled code does not check shapes; what adapters and banks pass on has been checked.
        if evidence is None or not evidence.checked:
            estimate = check_vector(z, self.n_classes)
            if evidence is None:
                self.update_rows(self._state, ONE_KEY, estimate[np.newaxis])
                return
            evidence = Evidence(*check_evidence(evidence, self.n_classes))
        after = None if len(evidence.proba) == 0 else np.empty((1, self.n_classes))
        self._play(self._state, ONE_KEY, evidence, _NONE, after=_NONE if after is None else after)
        self._predicted = None if after is None else (self._state, after)

    def predict_left_out(self, evidence: Evidence) -> FloatArray:
        """Return the class mix for each sample of a batch, (n, k), given all rounds before and the *other* samples.

        A transductive adapter predicts with these: the batch is used before it is predicted, and no sample is evidence
        for itself, neither in the counts nor in the experts' weights. Labels are ignored, and nothing changes.

        Parameters
        ----------
        evidence : Evidence
            The batch, which is passed to `update` afterwards.

        Examples
        --------
        >>> import numpy as np
        >>> from baserate.protocols import Evidence
        >>> proba = np.array([[0.9, 0.1], [0.9, 0.1], [0.9, 0.1], [0.1, 0.9]])
        >>> LikelihoodMixture(2).predict_left_out(Evidence(proba, np.array([0.5, 0.5]))).round(2)
        array([[0.55, 0.45],
               [0.55, 0.45],
               [0.55, 0.45],
               [0.66, 0.34]])
        """
        proba, source_prior, _ = check_evidence(evidence, self.n_classes)
        n = len(proba)
        if n < 2:
            return np.tile(self.predict(), (n, 1))
        out, folds, forecast = np.empty((n, self.n_classes)), np.arange(n) % _FOLDS, self._arms_of_season()
        at_once = max(1, _MOST_ROWS // n)
        for first in range(0, min(n, _FOLDS), at_once):
            left_out = np.arange(first, min(first + at_once, n, _FOLDS))
            which, rows = np.nonzero(folds != left_out[:, np.newaxis])
            state = State(*(np.repeat(array, len(left_out), axis=0) for array in self._state))
            keys, starts = np.arange(len(left_out)), np.searchsorted(which, np.arange(len(left_out) + 1))
            others = Evidence(proba[rows], source_prior, starts=starts)
            self.update_rows(state, keys, out[: len(keys)], others)
            # The mix of this round, which a season tells from that of the next one.
            predicted = in_season.settle(self._without_season(state, keys), forecast, state, keys)
            for fold, mix in zip(left_out, predicted, strict=True):
                out[folds == fold] = mix
        return out

    def _without_season(self, state: State, rows: IntArray) -> FloatArray:
        return self.predict_rows(state._replace(seasonal=np.zeros_like(state.seasonal)), rows)

    def _arms_of_season(self) -> in_season.Arms | None:
        state = self._state
        return in_season.arms_of(state, self._without_season(state, ONE_KEY)[0]) if in_season.found(state) else None

    def play(self, evidence: Evidence) -> FloatArray:
        """Replay many rounds in one call, and return the prediction before each, one row per round.

        Gives the same bits as calling `predict` and `update` in turns.

        Parameters
        ----------
        evidence : Evidence
            One batch per round, as its `starts` say.

        Examples
        --------
        >>> import numpy as np
        >>> from baserate.protocols import Evidence
        >>> log = Evidence(np.array([[0.9, 0.1]] * 100), np.array([0.5, 0.5]), starts=np.arange(0, 101, 10))
        >>> LikelihoodMixture(2).play(log)[[0, 1, -1]].round(2)
        array([[0.5 , 0.5 ],
               [0.71, 0.29],
               [0.99, 0.01]])
        """
        proba, source_prior, labels = check_evidence(evidence, self.n_classes)
        starts = np.array([0, len(proba)]) if evidence.starts is None else check_starts(evidence.starts, len(proba))
        predictions, rows = np.empty((len(starts) - 1, self.n_classes)), np.zeros(len(starts) - 1, dtype=np.int64)
        self._predicted = None
        self._play(self._state, rows, Evidence(proba, source_prior, labels, starts), predictions)
        return predictions

    def weighted_experts(self) -> Experts:
        """Return the experts as they are now, without free places for recalled mixes."""
        state = State(*(array[0] for array in self._state))
        weight = state.arms[0] * experts.mean_weights(state.weights, state.trust)
        mixes, sizes = experts.expert_mixes(state.births, state.counts).T, 1.0 + state.counts.sum(axis=0)
        if not self.light:
            # The birth value is one expert, whichever arm its weight is from.
            weight[experts.KNOWN] += state.arms[1] * state.run_weights[-1]
            weight = np.append(weight, state.arms[1] * state.run_weights[:-1])
            mixes, sizes = np.vstack([mixes, state.run_mixes.T[:-1]]), np.append(sizes, 1.0 + state.sizes[:-1])
        if (arms := self._arms_of_season()) is not None:
            weight, mixes, sizes = in_season.add_arms(arms, weight / weight.sum(), mixes, sizes)
        used = weight > 0.0
        return Experts(
            weights=weight[used] / weight.sum(),
            mixes=np.ascontiguousarray(mixes[used]),
            sizes=sizes[used],
            n_forgetting=experts.MEMORIES,
            n_counting=int(used[: experts.EXPERTS].sum()),
            margin=self._slack.copy(),
        )

    def idle(self, rounds: int) -> None:
        """Let rounds without samples pass: what was learned fades as if samples had come.

        Where `idle` is not called, rounds without samples change nothing.

        Parameters
        ----------
        rounds : int
            Number of rounds.
        """
        n_rounds = np.array([check_integer(rounds, "rounds", 0)])
        self.idle_rows(self._state, np.zeros(1, dtype=np.int64), n_rounds)

    def idle_rows(self, state: State, rows: IntArray, rounds: IntArray) -> None:
        """Do `idle` for some keys, in place."""
        self._forget_prediction(state)
        batch_update.idle(
            state.births, state.counts, state.weights, state.trust, state.made, state.rounds, state.run_mixes,
            state.sizes, state.began, state.run_weights, state.seasons, state.seasonal, rows, rounds,
        )  # fmt: skip

    def note(self, evidence: Evidence) -> Note:
        """Return a record of a round, to be made before `update` and kept for as long as labels may arrive.

        Parameters
        ----------
        evidence : Evidence
            The batch, with the labels that are known already.
        """
        checked = Evidence(*check_evidence(evidence, self.n_classes))
        size = (self.n_classes + 1, experts.EXPERTS + self._state.sizes.shape[1] + 1)
        record = np.full(size, 1.0 / self.n_classes)  # of a round without samples nothing is ever asked
        self._play(State(*(array.copy() for array in self._state)), ONE_KEY, checked, _NONE, record)
        return late_labels.read_record(record, int(self._state.rounds[0, 0]) + 1, checked.source_prior)

    def correct(self, note: Note, proba: ArrayLike, labels: ArrayLike) -> None:
        """Count samples of an earlier round by their labels instead of their class probabilities.

        All counts become what they would be if the labels had come in time, except that the class probabilities of
        other samples since are not computed again. The experts' weights are corrected by the likelihood of the labels,
        with the probability that the best expert has not changed since: 0.8 per round, once for all samples together.

        Parameters
        ----------
        note : Note
            The record of the samples' round.
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
        array([0.68, 0.32])
        """
        rows = check_proba(proba, self.n_classes)
        checked = check_labels(labels, len(rows), self.n_classes, "labels")
        self._predicted = None
        late_labels.correct_round(State(*(array[0] for array in self._state)), note, rows, checked)

    def correct_row(self, state: State, row: int, note: Note, proba: FloatArray, labels: IntArray) -> None:
        """Do `correct` for one of many keys, in place; nothing is checked."""
        late_labels.correct_round(State(*(array[row] for array in state)), note, proba, labels)

    def new_state(self, births: FloatArray) -> State:
        """Return the initial state of ``len(births)`` keys."""
        return new_state(births, light=self.light)

    def predict_rows(self, state: State, rows: IntArray) -> FloatArray:
        """Return the predictions of some keys, one row each."""
        out = np.empty((len(rows), self.n_classes))
        no_samples = Evidence(_NONE, np.ones(self.n_classes), starts=np.zeros(len(rows) + 1, dtype=np.int64))
        self._play(state, rows, no_samples, out)
        return out

    def update_rows(self, state: State, rows: IntArray, z: FloatArray, evidence: Evidence | None = None) -> None:
        """Update each of some keys with one batch or one estimate, in place; no key twice."""
        self._forget_prediction(state)
        if evidence is None:
            frequencies = project(z, np.zeros(self.n_classes), np.ones(self.n_classes))
            batch_update.update_with_frequencies(
                *state, rows, self._slack, season.directions(self.n_classes), frequencies, self._many
            )
        else:
            self._play(state, rows, evidence, _NONE)

    def _play(
        self,
        state: State,
        rows: IntArray,
        evidence: Evidence,
        predictions: FloatArray,
        record: FloatArray = _NONE,
        after: FloatArray = _NONE,
    ) -> None:
        starts = np.array([0, evidence.n]) if evidence.starts is None else evidence.starts
        labels = _NO_LABELS if evidence.labels is None else evidence.labels
        batch_update.update(
            *state, rows, self._slack, season.directions(self.n_classes), evidence.proba, 1.0 / evidence.source_prior,
            labels, starts, self._many, predictions, record, after,
        )  # fmt: skip

    def _forget_prediction(self, state: State) -> None:
        if state is self._state:
            self._predicted = None

    def get_state(self) -> dict[str, Any]:
        return {name: value for name, value in super().get_state().items() if name != "_predicted"}

    @property
    def _many(self) -> bool | None:
        return self.n_classes > runs.FULL or None
