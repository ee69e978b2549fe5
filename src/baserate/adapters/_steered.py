"""What an adapter is told from outside: the class mix, or that time has gone by."""

from numpy.typing import ArrayLike

from baserate.adapters._reweighting import ReweightingAdapter
from baserate.adapters._waiting import Waiting
from baserate.protocols import IdlingTracker, RestartableTracker, Tracker
from baserate.trust.watch import Watch
from baserate.validation import check_fitted, check_integer, check_prior


class Steered(ReweightingAdapter):
    """The part of an adapter around a tracker that a person or a clock talks to."""

    tracker_: Tracker
    _waiting: Waiting
    _watch: Watch

    def set_prior(self, q: ArrayLike) -> None:
        """Restart the tracking from a class mix that a person knows; the next batches move it on.

        Samples from before no longer wait for their labels.
        """
        check_fitted(self, "source_prior_")
        prior = check_prior(q, len(self.source_prior_), "q")
        if not isinstance(self.tracker_, RestartableTracker):
            raise TypeError(
                f"{type(self.tracker_).__name__} cannot start from a given prior; it has no method restart(birth)."
            )
        self.tracker_.restart(prior)
        self._waiting.clear()
        self._watch.restart(prior)
        self._moved()

    def idle(self, rounds: int) -> None:
        """Let rounds go by in which nothing came: the class mix may have moved meanwhile, and the band widens.

        For streams with time stamps, whose rounds are of equal time. Without it, time is counted in rounds with samples
        alone. Needs a tracker that can, such as `LikelihoodMixture`, the default.

        Parameters
        ----------
        rounds : int
            How many.
        """
        check_fitted(self, "source_prior_")
        check_integer(rounds, "rounds", 0)
        if not isinstance(self.tracker_, IdlingTracker):
            raise TypeError(f"{type(self.tracker_).__name__} counts rounds with samples alone; it has no method idle.")
        self.tracker_.idle(rounds)
        self.rounds_ += rounds
        self._watch.idle(rounds)
        self._moved()

    def _moved(self) -> None:
        raise NotImplementedError
