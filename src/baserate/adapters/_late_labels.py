"""Labels that come after their batch: samples wait for them by name, and are then counted again."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from baserate.adapters._reweighting import ReweightingAdapter
from baserate.adapters._waiting import Waiting
from baserate.protocols import UNLABELLED, CorrectableTracker, Evidence, FloatArray, IntArray, Key, Tracker
from baserate.trust.watch import Watch
from baserate.validation import check_fitted, check_labels


class LateLabels(ReweightingAdapter):
    """The part of an adapter around a tracker that takes labels by the names of their samples."""

    tracker_: Tracker
    _watch: Watch
    _waiting: Waiting
    missed_labels_: int

    def update_labels(self, ids: Sequence[Key], y: ArrayLike) -> int:
        """Take in labels of samples of earlier rounds; what was guessed of those samples is taken back.

        Needs a tracker that can correct itself, such as `LikelihoodMixture`, the default. It is not a round.

        Parameters
        ----------
        ids : sequence of str or of int
            The names that the samples had in `step` or `update`. Names that do not wait are counted in
            `missed_labels_`.
        y : (n,) array of int
            Their labels; -1 or NaN: still not known.

        Returns
        -------
        int
            How many labels were used.

        Examples
        --------
        >>> from baserate.adapters import RegressAndReweight
        >>> holdout = [[0.9, 0.1], [0.1, 0.9]] * 50
        >>> adapter = RegressAndReweight(calibrator=None).fit(holdout, [0, 1] * 50)
        >>> step = adapter.step([[0.6, 0.4], [0.6, 0.4]], ids=["a", "b"])
        >>> adapter.prior_.round(2)
        array([0.53, 0.47])
        >>> adapter.update_labels(["a", "b", "z"], [1, 1, 0])
        2
        >>> adapter.prior_.round(2), adapter.waiting_, adapter.missed_labels_
        (array([0.33, 0.67]), 0, 1)
        """
        check_fitted(self, "source_prior_")
        tracker = self._correctable()
        names = self._waiting.check_ids(ids)
        if np.ndim(y) == 1 and np.size(y) != len(names):
            raise ValueError(f"ids has {len(names)} entries and y has {np.size(y)}; give a label for each id.")
        labels = check_labels(y, len(names), len(self.source_prior_), missing=True)
        used = 0
        for note, proba, own, told in self._waiting.take(names, labels):
            *known, ratios = note
            self._watch.take_labels(proba * ratios, own, told)
            tracker.correct(known, proba, told)
            used += len(told)
        self.missed_labels_ += int(np.count_nonzero(labels != UNLABELLED)) - used
        self._moved()
        return used

    def _moved(self) -> None:
        raise NotImplementedError

    @property
    def waiting_(self) -> int:
        """How many samples wait for their labels."""
        check_fitted(self, "source_prior_")
        return len(self._waiting)

    def _check_ids(self, ids: Sequence[Key] | None, n_samples: int) -> list[Key] | None:
        if ids is None:
            return None
        self._correctable()
        return self._waiting.check_new(ids, n_samples)

    def _correctable(self) -> CorrectableTracker:
        if not isinstance(self.tracker_, CorrectableTracker):
            raise TypeError(
                f"ids: {type(self.tracker_).__name__} cannot take back what it has counted. Use LikelihoodMixture, or "
                "give labels with their batch."
            )
        return self.tracker_

    def _take_in(
        self, raw: FloatArray, proba: FloatArray, labels: IntArray | None, names: list[Key] | None, prior: FloatArray
    ) -> None:
        """Take in a round, as the model gave it and calibrated, of which `prior` would be the full correction."""
        note = None
        if names:
            known = self._correctable().note(Evidence(proba, self.source_prior_, labels))
            note = (*known, prior / self.source_prior_)  # which may be another by the time that labels come
        self._advance(proba, labels)
        if names:
            self._waiting.add(names, note, proba, raw.argmax(axis=1), labels)
