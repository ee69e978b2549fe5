"""UnknownMass: estimates the share of a stream that belongs to none of the classes."""

from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from baserate.protocols import FloatArray
from baserate.state import Component
from baserate.state.declarations import LONGEST, Flag, Number, Saved, Saves, Together, Whole, floats
from baserate.trust.unknown.oddness import LEAST_LOG, OddnessScale, count_odd, fit_oddness
from baserate.validation import check_fitted, check_holdout, check_integer, check_prior, check_proba

_CLEAR = 0.8  # share of the holdout that counts as clear; the rest is odd
_REFERENCE_STEP, _MOST_REFERENCES = 3, 300  # every third row of the holdout is a reference, up to 300
_MOST_ROWS = 5000
_FEWEST = 50  # samples of the holdout that are needed
_SAMPLES = 100.0  # samples of the stream that are needed
_SURE = 3.0  # standard errors above which the mass is reported; many, because it is read again and again
_HEAVIEST = 3.0  # weight of any row
_PSEUDO = 2.0  # samples, spread as the whole holdout is, that stand beside those of each class
_THIN = 50.0  # samples of a class in the holdout, below which its share is taken to be the largest one possible
_COMMON = 0.1  # share of a class in a cell, from which on few rows in that cell mean that the class is rare


def _fits_together(saved: Saved) -> str:
    state, rows = saved.state, saved.sizes["rows"]
    if rows == 0 or saved.sizes["references"] == 0 or state["usable_"] != (rows >= _FEWEST):
        return "is usable with too small a holdout, or the other way round"
    if state["_holdout"].sum() != rows:
        return "counts other rows of its holdout than it keeps"
    total, squares = state["_total"], state["_squares"]
    if abs(state["_seen"].sum() - total) > 1e-6 * total or not (
        total == squares == 0.0 or 0.0 < squares <= (1.0 + 1e-9) * total
    ):
        return "counts other samples than it has seen"
    return ""


class UnknownMass(Component, saved_as="unknown_mass"):
    r"""Estimates the share of samples that belong to none of the k classes: new classes, noise, foreign data.

    A row is *odd* if it is less confident, or less similar to rows of the holdout, than four fifths of the holdout are;
    otherwise it is *clear*. A row has a weight that depends on that and on its predicted class. Weights are chosen
    once, such that the mean weight is at least 1 in every class, and so under any class mix, and clear rows have as
    much of it as possible. What is missing to 1 in the stream is the unknown mass:

        mass = 1 - sum_j (weight of clear[j] * share of clear rows predicted j + the same of odd rows)

    A rare class of which all rows are odd has weight there. Unknown samples that do not look odd, or look like such a
    class, reduce the estimate, so the mass is too small rather than too large. Its standard error has a part for each
    class, from its samples in the holdout and the largest share that it can have in the stream.

    Unknown samples cannot be detected if the model is as confident of them as of others. And if the classes themselves
    become less clear, that looks like unknown mass: see `AssumptionCheck` for such changes.

    Parameters
    ----------
    window : int
        Number of latest samples that the estimate is about; older ones are forgotten smoothly.

    Attributes
    ----------
    mass_ : float
        The unknown share of the stream; 0 if it is less than three standard errors, or before 100 samples.
    raw_ : float
        The estimate itself, which may be negative.
    error_ : float
        Its approximate standard error, including that of the holdout; infinite before 100 samples.
    usable_ : bool
        True if the holdout has enough samples, 50. If not, the mass stays at 0.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> def model_outputs(y):  # class 2 is unknown, and lies between the others
    ...     odds = np.exp(4.0 * (np.array([-1.0, 1.0, 0.0])[y] + 0.3 * rng.standard_normal(len(y))))
    ...     return np.column_stack([1 / (1 + odds), odds / (1 + odds)])
    >>> y = rng.integers(2, size=1000)
    >>> unknown = UnknownMass().fit(model_outputs(y), y)
    >>> unknown.update(model_outputs(rng.choice(3, p=[0.1, 0.9, 0.0], size=2000)))
    >>> unknown.mass_
    0.0
    >>> unknown.update(model_outputs(rng.choice(3, p=[0.1, 0.7, 0.2], size=4000)))
    >>> round(unknown.mass_, 1)
    0.2
    """

    saves = Saves(
        params={"window": Whole(2)},
        state={
            "n_classes_": Whole(2, size="k"),
            "usable_": Flag(),
            "_limit": Number(0.0, 2.0),
            "_odd": Together(
                (
                    floats("k", "references", low=LEAST_LOG, high=0.01),
                    floats("rows", low=-0.01, high=1.0),
                    floats("rows", low=0.0, finite=False),
                )
            ),
            "_holdout": floats(2, "k", "k", low=0.0, high=LONGEST),
            "_seen": floats(2, "k", low=0.0, high=LONGEST),
            "_total": Number(0.0, LONGEST),
            "_squares": Number(0.0, LONGEST),
        },
        may_be_empty=True,
        check=_fits_together,
    )

    def __init__(self, window: int = 2000) -> None:
        self.window = window

    def fit(self, proba: ArrayLike, y: ArrayLike) -> Self:
        """Learn the classes from a labelled holdout, and start anew.

        Parameters
        ----------
        proba : (n, k) array
            The model's probabilities on the holdout, computed in the same way as those of the stream.
        y : (n,) array of int
            Labels. A class that is missing in the holdout counts as unknown.
        """
        check_integer(self.window, "window", 2)
        rows, labels = check_holdout(proba, y, every_class=False)
        k = rows.shape[1]
        step = -(-len(rows) // _MOST_ROWS)
        rows, labels = rows[::step], labels[::step]
        order = np.argsort(labels, kind="stable")  # so that the same share of each class becomes references
        odd, scores = fit_oddness(rows, order[:: max(_REFERENCE_STEP, -(-len(rows) // _MOST_REFERENCES))])
        self.usable_ = len(rows) >= _FEWEST
        self._limit = float(np.quantile(scores, _CLEAR)) if self.usable_ else 2.0
        counts = np.zeros((2, k, k))  # clear and odd; true class; predicted class
        np.add.at(counts, ((scores > self._limit).astype(np.int64), labels, rows.argmax(axis=1)), 1.0)
        self.n_classes_, self._odd, self._holdout = k, odd, counts
        self._prepare()
        self._start()
        return self

    def _prepare(self) -> None:
        """Compute what follows from the holdout and is not saved."""
        counts = self._holdout.transpose(1, 0, 2).reshape(self.n_classes_, -1)  # true class; clear cells, then odd ones
        sizes = counts.sum(axis=1)
        total = counts.sum(axis=0) / counts.sum()
        self._sizes = np.maximum(sizes, 1.0)
        self._shares = (counts + _PSEUDO * total) / (sizes + _PSEUDO)[:, np.newaxis]
        self._odd_shares = self._holdout[1] / self._sizes[:, np.newaxis]
        for name in ("_weights", "_variances"):  # of another holdout
            self.__dict__.pop(name, None)

    @cached_property
    def _weights(self) -> FloatArray:
        """The lightest weights of cells at the holdout's mix with a mean of at least 1 in each class; ones are such.

        They are lighter for odd rows than for clear ones.
        """
        from scipy.optimize import linprog  # slow to import, and not needed before the first look

        counts = self._holdout.transpose(1, 0, 2).reshape(self.n_classes_, -1)
        total, present = counts.sum(axis=0) / counts.sum(), counts.sum(axis=1) > 0.0
        dear = np.repeat([1.0, 2.0], self.n_classes_) * (total + 1e-3 / len(total))
        found = linprog(dear, A_ub=-self._shares[present], b_ub=-np.ones(int(present.sum())), bounds=(0.0, _HEAVIEST))
        return np.asarray(found.x, dtype=np.float64) if found.success else np.ones(len(total))

    @cached_property
    def _variances(self) -> FloatArray:
        """The variance of the weights of each class."""
        variances: FloatArray = self._shares @ self._weights**2 - (self._shares @ self._weights) ** 2
        return np.maximum(variances, 0.0)

    def _start(self) -> None:
        self._seen = np.zeros((2, self.n_classes_))
        self._total, self._squares = 0.0, 0.0

    def reset(self) -> None:
        """Forget the stream; keep the holdout."""
        check_fitted(self, "usable_")
        self._start()

    def get_state(self) -> dict[str, Any]:
        derived = ("_sizes", "_weights", "_shares", "_odd_shares", "_variances")
        return {name: value for name, value in super().get_state().items() if name not in derived}

    def update(self, proba: ArrayLike) -> None:
        """Update with one round, which may be empty.

        Parameters
        ----------
        proba : (n, k) array
            The model's probabilities.
        """
        check_fitted(self, "usable_")
        self.take_in(check_proba(proba, self.n_classes_))

    def take_in(self, rows: FloatArray) -> None:
        """Do what `update` does, without checks, for callers that have made them."""
        if len(rows) == 0 or not self.usable_:
            return
        # Sums fade with each sample, so that their effective sample size is `window`.
        fade = 1.0 - 2.0 / (self.window + 1.0)
        kept = fade ** len(rows)
        self._seen = self._seen * kept
        total, squares = count_odd(rows, *self._odd, self._limit, fade, self._seen)
        self._total = self._total * kept + total
        self._squares = self._squares * kept**2 + squares

    def _known(self) -> bool:
        check_fitted(self, "usable_")
        return self._squares > 0.0 and self._total**2 / self._squares >= _SAMPLES

    @property
    def raw_(self) -> float:
        return 1.0 - float(self._seen.ravel() @ self._weights) / self._total if self._known() else 0.0

    @property
    def error_(self) -> float:
        if not self._known():
            return np.inf
        cells = self._seen.ravel() / self._total
        one = self._squares / self._total**2
        stream = (cells @ self._weights**2 - (cells @ self._weights) ** 2) * one
        predicted = cells.reshape(2, -1).sum(axis=0)
        # A class that the model hardly ever predicts may have as large a share as the cells it is usually in allow.
        room = (cells + _SURE * np.sqrt(cells * one) + one) / np.maximum(self._shares, _COMMON)
        most = np.where(self._shares >= _COMMON, np.minimum(room, 1.0), 1.0).min(axis=1)
        share = np.where(self._sizes < _THIN, most, predicted)
        return float(np.sqrt(max(stream, 0.0) + share**2 @ (self._variances / self._sizes)))

    @property
    def mass_(self) -> float:
        return self.raw_ if self.raw_ > _SURE * self.error_ else 0.0

    def without_unknown(self, prior: ArrayLike) -> FloatArray:
        """Return a tracked class mix from which the unknown mass has been removed.

        The unknown share is subtracted from the classes with more odd predictions than the class mix explains, in
        proportion, and the rest is normalised.

        Parameters
        ----------
        prior : (k,) array
            The tracked class mix, of all samples.
        """
        check_fitted(self, "usable_")
        mix = check_prior(prior, self.n_classes_)
        mass = min(self.mass_, 1.0)
        if mass == 0.0:
            return mix
        excess = np.maximum(self._seen[1] / self._total - (1.0 - mass) * (mix @ self._odd_shares), 0.0)
        if excess.sum() == 0.0:
            return mix
        rest = np.maximum(mix - mass * excess / excess.sum(), 0.0)
        return np.asarray(rest / rest.sum()) if rest.sum() > 0.0 else mix

    def set_state(self, state: dict[str, Any]) -> Self:
        super().set_state(state)
        if state:
            self._odd = OddnessScale(*self._odd)
            self._prepare()
        return self
