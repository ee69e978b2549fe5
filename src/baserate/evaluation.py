"""evaluate: runs a method along a stream, and records every round."""

import copy
import time
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from baserate.metrics import class_losses, dynamic_regret, marginal_mse
from baserate.protocols import Adapter, Batch, FloatArray, IntArray, Learner
from baserate.validation import check_has_methods


class Evaluation(NamedTuple):
    """Results of each round, as arrays over rounds, and the method after the last one."""

    n: IntArray
    """Number of samples."""
    wrong: IntArray
    """Number of samples for which the most probable class is wrong."""
    sampled_wrong: FloatArray
    """Expected number of wrong labels, if labels are sampled from the probabilities."""
    log_loss: FloatArray
    """Sum over the samples of minus the log of the true label's probability."""
    prior: FloatArray
    """The class mix that the predictions used, (T, k); NaN for methods that have none."""
    q: FloatArray
    """The true class mix, (T, k)."""
    frequencies: FloatArray
    """The label frequencies of the batch, (T, k)."""
    seconds: FloatArray
    """Time spent predicting and updating."""
    class_losses: FloatArray
    """The mean loss on each class of the pool, (T, k), for `baserate.metrics.dynamic_regret`; NaN without a pool."""
    method: Adapter | Learner
    """The copy that was run, in its final state; has counts such as a learner's `gradient_steps_`."""

    @property
    def error_rate(self) -> float:
        """Error rate over all samples."""
        return float(self.wrong.sum() / self.n.sum())

    @property
    def sampled_error_rate(self) -> float:
        """Expected error rate, if labels are sampled from the probabilities."""
        return float(self.sampled_wrong.sum() / self.n.sum())

    @property
    def mse(self) -> float:
        """Mean squared distance of the prior to the true class mix."""
        return self._distance_to(self.q)

    @property
    def mse_to_frequencies(self) -> float:
        """Mean squared distance of the prior to the label frequencies of each batch, as in the paper's tables."""
        return self._distance_to(self.frequencies)

    def dynamic_regret(self, best: "Evaluation") -> FloatArray:
        """Return the cumulative regret after each round to a comparator, for what both played.

        Calibration, gates and clips count, as they are part of what an adapter plays.

        Parameters
        ----------
        best : Evaluation
            The comparator on the same stream and pool, such as an `Oracle` of the true path.

        Returns
        -------
        (T,) array
            Sum over s <= t of L_s(method) - L_s(best), with L_s the loss on the pool re-weighted to the class mix of
            round s. See `baserate.metrics.dynamic_regret`.

        Examples
        --------
        >>> from baserate.adapters import Base, Oracle
        >>> from baserate.shifts import Constant, sample_stream
        >>> pool, y = np.array([[0.9, 0.1], [0.4, 0.6], [0.7, 0.3]]), np.array([0, 1, 1])
        >>> stream = list(sample_stream(pool, y, Constant([0.9, 0.1]), n_rounds=3, batch_size=1, rng=0))
        >>> adapters = Base().fit(pool, y), Oracle([batch.q for batch in stream], calibrator=None).fit(pool, y)
        >>> base, oracle = (evaluate(adapter, stream, pool=(pool, y)) for adapter in adapters)
        >>> base.dynamic_regret(oracle).round(2)
        array([0.04, 0.09, 0.13])
        """
        if len(self.q) != len(best.q) or not np.array_equal(self.q, best.q):
            raise ValueError("best is of another stream; evaluate both methods on the same one.")
        if np.isnan(self.class_losses).any() or np.isnan(best.class_losses).any():
            raise ValueError("there are no losses on a pool; evaluate both methods with the same pool=(inputs, y).")
        return dynamic_regret(self.class_losses, best.class_losses, self.q)

    def _distance_to(self, truth: FloatArray) -> float:
        return float("nan") if np.isnan(self.prior).all() else marginal_mse(self.prior, truth)


def evaluate(
    method: Adapter | Learner,
    stream: Iterable[Batch],
    *,
    labels: bool = False,
    pool: tuple[ArrayLike, ArrayLike] | None = None,
    loss: str = "zero_one",
) -> Evaluation:
    """Run an adapter or a learner along a stream, and record every round.

    Each round is predicted before any of it is revealed. The method is copied, and not changed itself.

    Parameters
    ----------
    method : Adapter or Learner
        A fitted adapter, or a learner.
    stream : iterable of Batch
        From `baserate.shifts.sample_stream`; wrap it (``rich.progress.track(stream)``) to see progress.
    labels : bool
        Reveal the labels to an adapter after each prediction. A learner always gets them.
    pool : (inputs, y), optional
        Labelled samples, every class at least once, that the method predicts in each round, too: the losses it would
        have on any class mix. Inputs are probabilities or features, as the method takes them.
    loss : {"zero_one", "log"}
        The loss on the pool: see `baserate.metrics.reweighting_losses`.

    Returns
    -------
    Evaluation

    Examples
    --------
    >>> import numpy as np
    >>> from baserate.adapters import Base
    >>> from baserate.shifts import Constant, sample_stream
    >>> pool, y = np.array([[0.9, 0.1], [0.4, 0.6], [0.7, 0.3]]), np.array([0, 1, 1])
    >>> stream = sample_stream(pool, y, Constant([1.0, 0.0]), n_rounds=5, batch_size=1, rng=0)
    >>> evaluate(Base().fit(pool, y), stream).error_rate
    0.0
    """
    if not isinstance(method, Adapter):
        check_has_methods(method, "method", Learner, "predict_proba and update")
    method = copy.deepcopy(method)
    rows = []
    for batch in stream:
        losses = np.full(len(batch.q), np.nan)
        if pool is not None:
            losses = class_losses(method.predict_proba(pool[0]), pool[1], loss=loss)
        started = time.perf_counter()
        prior = np.full(len(batch.q), np.nan)
        default = "proba" if isinstance(method, Adapter) else "features"
        inputs = batch.proba if getattr(method, "input_kind", default) == "proba" else batch.features
        if inputs is None:
            raise ValueError(f"{type(method).__name__} works on features; give sample_stream the features of the pool.")
        if isinstance(method, Adapter):
            proba, prior, _ = method.step(inputs, batch.y if labels else None)
        else:
            prior = np.array(getattr(method, "prior_", prior))
            proba = method.predict_proba(inputs)
            method.update(inputs, batch.y)
        seconds = time.perf_counter() - started
        right = proba[np.arange(len(batch.y)), batch.y]
        with np.errstate(divide="ignore"):
            log_loss = -np.log(right).sum()
        frequency = np.bincount(batch.y, minlength=len(batch.q)) / max(len(batch.y), 1)
        wrong = (proba.argmax(axis=1) != batch.y).sum()
        rows.append((len(batch.y), wrong, (1 - right).sum(), log_loss, prior, batch.q, frequency, seconds, losses))
    if not rows:
        raise ValueError(
            "stream has no rounds; give at least one batch (an iterator can be used only once: wrap it in a list)."
        )
    columns: list[Any] = [np.array(column) for column in zip(*rows, strict=True)]
    return Evaluation._make([*columns, method])
