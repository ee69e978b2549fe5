"""MLLS, maximum likelihood label shift: the class mix under which a batch is most likely (Saerens et al. 2002)."""

from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from baserate.compiled import compiled
from baserate.marginals._batch_estimator import ON_OR_OFF, BatchEstimator
from baserate.marginals.active_set import minimise_quadratic
from baserate.protocols import FloatArray, IntArray
from baserate.simplex import normalise
from baserate.state.declarations import Maybe, Number, Plain, Saves, Text, Whole, priors
from baserate.validation import (
    check_all_classes_present,
    check_held_proba,
    check_integer,
    check_labels,
    check_option,
    check_prior,
    check_real,
)

MOST_STEPS = 1_000_000
"""The largest `max_iter`: a batch that takes more would seem to hang."""
_MOST = 1000  # largest number of classes in a Newton step, the cost of which is cubic
_HALVINGS = 10
_PROXIMAL = 1e-10  # proximal term, relative to the curvature: makes the quadratic model strictly convex
_ROUNDING = 1e-15  # relative rounding error of a mean of log-likelihoods, per square root of their number


@compiled
def _mixes(
    proba: FloatArray, starts: IntArray, base: FloatArray, tol: float, max_iter: int, accelerate: bool
) -> FloatArray:
    """Return the most likely class mix of each batch, starting from the batch's mean output."""
    k = proba.shape[1]
    out = np.zeros((len(starts) - 1, k))
    for b in range(len(starts) - 1):
        rows = _likelihoods(proba[starts[b] : starts[b + 1]], base)
        for i in range(starts[b], starts[b + 1]):
            for c in range(k):
                out[b, c] += proba[i, c]
        _scale_to_one(out[b])
        _maximise(rows, out[b], tol, max_iter, accelerate)
    return out


@compiled
def _likelihoods(proba: FloatArray, base: FloatArray) -> FloatArray:
    """Return rows of class likelihoods, each scaled to a maximum of one, which does not change the estimate."""
    n, k = proba.shape
    rows = np.empty((n, k))
    for i in range(n):
        top = 0.0
        for c in range(k):
            rows[i, c] = proba[i, c] / base[c]
            top = max(top, rows[i, c])
        for c in range(k):
            if top < np.inf:
                rows[i, c] /= top
            else:  # divided by a base below 1e-308
                rows[i, c] = 1.0 if rows[i, c] == np.inf else 0.0
    return rows


@compiled
def _maximise(rows: FloatArray, q: FloatArray, tol: float, max_iter: int, accelerate: bool) -> None:
    """Move `q` to the maximum of the likelihood, in place."""
    n, k = rows.shape
    ratios = np.empty((n, k))
    gradient = np.empty(k)
    trial = np.empty(k)
    best = np.empty(k)
    warm = False
    for _ in range(max_iter):
        if not _derive(rows, q, ratios, gradient):
            return  # a row has likelihood zero at the start (an underflow), so there is no gradient
        for c in range(k):
            best[c] = q[c] * gradient[c]  # the step of EM
        _scale_to_one(best)
        if accelerate:
            reached = _log_likelihood(rows, best)
            reached -= _ROUNDING * (1.0 + abs(reached)) * np.sqrt(n)  # otherwise rounding would reject the last step
            target, whole = _newton_target(ratios, gradient, q, warm)
            step, accepted = 1.0, False
            for _ in range(_HALVINGS):
                for c in range(k):
                    trial[c] = q[c] + step * (target[c] - q[c])
                _scale_to_one(trial)  # never lowers the objective of _newton_target
                accepted = _log_likelihood(rows, trial) >= reached
                if accepted:
                    best[:] = trial
                    break
                step *= 0.5
            accelerate = accepted or whole
            warm = accepted and step == 1.0  # after a full step, classes with share zero are probably not needed
        change = 0.0
        for c in range(k):
            change += abs(best[c] - q[c])
            q[c] = best[c]
        if change <= tol:
            return


@compiled
def _derive(rows: FloatArray, q: FloatArray, ratios: FloatArray, gradient: FloatArray) -> bool:
    """Divide each row by its likelihood, and average them to the gradient; return False if a likelihood is zero."""
    n, k = rows.shape
    gradient[:] = 0.0
    for i in range(n):
        total = 0.0
        for c in range(k):
            total += rows[i, c] * q[c]
        if not total > 0.0:
            return False
        for c in range(k):
            ratios[i, c] = rows[i, c] / total
            gradient[c] += ratios[i, c]
    for c in range(k):
        gradient[c] /= n
    return True


@compiled
def _log_likelihood(rows: FloatArray, q: FloatArray) -> float:
    """Return the mean log-likelihood of the samples."""
    n, k = rows.shape
    value = 0.0
    for i in range(n):
        total = 0.0
        for c in range(k):
            total += rows[i, c] * q[c]
        if not total > 0.0:
            return -np.inf
        value += np.log(total)
    return float(value / n)


@compiled
def _newton_target(ratios: FloatArray, gradient: FloatArray, q: FloatArray, warm: bool) -> tuple[FloatArray, bool]:
    """Minimise the quadratic model at `q` of ``sum(w) - mean log-likelihood of w`` over ``w >= 0``.

    The minimum of that function sums to one by itself, and is the most likely class mix. The model's matrix is
    H = S'S / n, with S the ratios, and its linear term 2 gradient - 1, because S q = 1. If `warm`, the classes of
    `q` are a good guess of those at the minimum. Also returns whether the model contained all relevant classes.
    """
    n, k = ratios.shape
    chosen = np.flatnonzero((q > 0.0) | (gradient > 1.0))
    whole = len(chosen) <= _MOST
    if not whole:
        steepest = np.argsort(-gradient[chosen], kind="mergesort")[:_MOST]
        chosen = chosen[steepest]
    m = len(chosen)
    some = np.empty((n, m))
    for i in range(n):
        for a in range(m):
            some[i, a] = ratios[i, chosen[a]]
    matrix = np.zeros((m, m))
    for i in range(n):
        for a in range(m):
            if some[i, a] > 0.0:
                for b in range(a + 1):
                    matrix[a, b] += some[i, a] * some[i, b]
    linear = np.empty(m)
    w = np.zeros(m)
    for a in range(m):
        for b in range(a + 1):
            matrix[a, b] /= n
            matrix[b, a] = matrix[a, b]
        near = _PROXIMAL * matrix[a, a]
        matrix[a, a] += near
        linear[a] = 2.0 * gradient[chosen[a]] - 1.0 + near * q[chosen[a]]
        if warm:
            w[a] = q[chosen[a]]
    minimise_quadratic(matrix, linear, w)
    target = np.zeros(k)
    for a in range(m):
        target[chosen[a]] = w[a]
    return target, whole


@compiled
def _scale_to_one(v: FloatArray) -> None:
    total = 0.0
    for c in range(len(v)):
        total += v[c]
    for c in range(len(v)):
        v[c] /= total


class MLLS(BatchEstimator, saved_as="mlls"):
    """Maximum-likelihood estimate of the class mix of an unlabelled batch; needs no confusion matrix and no labels.

    Maximises ``sum_i log sum_c q[c] f(c | x_i) / p[c]`` over the simplex. The problem is concave. EM starts from the
    batch's mean output, and the likelihood never decreases. EM is slow near the maximum, so each step is replaced by a
    Newton step (a non-negative least-squares problem) if that increases the likelihood at least as much. About ten
    steps then give q to about 1e-12 where it is unique. Where it is not (fewer samples than classes, classes with
    proportional outputs) the result is one of the maxima, always the same one. Classes without support in the batch get
    exactly 0.

    The estimate lies on the simplex, and is less noisy than `BBSE` if the probabilities are calibrated; if they are
    not, it is biased, however large the batch.

    An EM step takes O(n k) time, a Newton step O(n s^2 + s^3) more, where s classes have a positive share. With more
    than 1,000 such classes, EM alone may be used, until `tol`.

    Parameters
    ----------
    base : {"outputs", "prior"}
        The choice of p. ``"outputs"`` (default): the mean output on the holdout, as in the published runs, or the
        source prior if there is no holdout. For a calibrated model its expectation is that of the label frequencies,
        with less noise; for any other model it is the mix that the outputs imply, so that errors partly cancel. If a
        source prior is given, a labelled holdout is weighted to it; a holdout without labels must have the mix of the
        training data. ``"prior"``: the source prior.
    source_prior : (k,) array, optional
        The class mix the model was trained on. Default: the one an adapter binds, or else the holdout's frequencies.
    tol : float
        Stop when a step changes q by no more than this (L1 distance). The published runs use 1e-6.
    max_iter : int
        Largest number of steps, up to a million.
    accelerate : bool
        ``False``: plain EM, which at the same `tol` stops further from the maximum. The published runs are
        ``MLLS(tol=1e-6, accelerate=False)``.

    Attributes
    ----------
    base_ : (k,) array
        p.

    Examples
    --------
    >>> mlls = MLLS(source_prior=[0.5, 0.5]).fit()
    >>> mlls.estimate([[0.9, 0.1], [0.9, 0.1], [0.1, 0.9]]).round(3)
    array([0.708, 0.292])

    References
    ----------
    Saerens, Latinne, Decaestecker, "Adjusting the Outputs of a Classifier to New a Priori Probabilities", Neural
    Computation 2002; Alexandari, Kundaje, Shrikumar, "Maximum Likelihood with Bias-Corrected Calibration is
    Hard-To-Beat at Label Shift Adaptation", ICML 2020.
    """

    needs_labels = False
    _by_class = "base_"

    saves = Saves(
        params={
            "base": Text(("outputs", "prior")),
            "source_prior": Maybe(Plain()),
            "tol": Number(0.0, 1.0),
            "max_iter": Whole(1, MOST_STEPS),
            "accelerate": ON_OR_OFF,
        },
        state={"base_": priors("k", low=5e-324, within=1e-9), "_bound": priors("bound")},
        optional=("_bound",),
        may_be_empty=True,
    )

    def __init__(
        self,
        *,
        base: str = "outputs",
        source_prior: ArrayLike | None = None,
        tol: float = 1e-8,
        max_iter: int = 1000,
        accelerate: bool = True,
    ) -> None:
        self.base = base
        self.source_prior = source_prior
        self.tol = tol
        self.max_iter = max_iter
        self.accelerate = accelerate

    def bind(self, *, source_prior: FloatArray) -> None:
        """Use an adapter's source prior, unless the constructor was given one."""
        self._check_parameters()
        bound = np.array(source_prior, dtype=np.float64)
        self.base_ = self._given_prior(bound, len(bound))
        self._bound = bound

    def fit(self, proba: ArrayLike | None = None, y: ArrayLike | None = None) -> Self:
        """Learn p, from the holdout or, without one, from the source prior.

        Parameters
        ----------
        proba : (n, k) array, optional
            The model's probabilities on samples it was not trained on.
        y : (n,) array of int, optional
            Their labels. Needed for ``base="prior"`` only, with every class at least once, if the source prior is not
            given.
        """
        self._check_parameters()
        bound = getattr(self, "_bound", None)
        if proba is None:
            if y is not None:
                raise ValueError("proba is missing, and y is there; give the holdout's probabilities, too.")
            if self.source_prior is None and bound is None:
                raise ValueError("proba is missing: without a holdout, give the source_prior to the constructor.")
            self.base_ = self._given_prior(bound, None)
            return self
        holdout = check_held_proba(proba, y)
        n, k = holdout.shape
        labels = None if y is None else check_labels(y, n, k)
        if self.base == "outputs":
            given = None if self.source_prior is None and bound is None else self._given_prior(bound, k)
            self.base_ = _mean_output(holdout, labels, given)
        elif self.source_prior is not None or bound is not None:
            self.base_ = self._given_prior(bound, k)
        elif labels is None:
            raise ValueError("y is missing: give the holdout's labels, or the source_prior to the constructor.")
        else:
            check_all_classes_present(labels, k)
            self.base_ = np.bincount(labels, minlength=k) / n
        return self

    def _check_parameters(self) -> None:
        check_option(self.base, "base", ["prior", "outputs"])
        check_real(self.tol, "tol", 0.0, 1.0)
        check_real(check_integer(self.max_iter, "max_iter", 1), "max_iter", 1, MOST_STEPS)

    def _given_prior(self, bound: FloatArray | None, n_classes: int | None) -> FloatArray:
        given = bound if self.source_prior is None else self.source_prior
        assert given is not None
        return check_prior(given, n_classes, "source_prior", positive=True)

    def _estimates(self, proba: FloatArray, starts: IntArray) -> FloatArray:
        return _mixes(proba, starts, self.base_, float(self.tol), int(self.max_iter), bool(self.accelerate))

    @classmethod
    def examples(cls) -> list[Self]:
        return [cls(), cls(tol=1e-6, accelerate=False), cls(base="prior", source_prior=[0.2, 0.3, 0.5])]


def _mean_output(holdout: FloatArray, labels: IntArray | None, prior: FloatArray | None) -> FloatArray:
    """Return the mean output, weighted to the prior if that is given and labels are known."""
    if len(holdout) == 0:
        raise ValueError("proba is an empty holdout; give at least one sample, or use base='prior'.")
    weights = None
    if labels is not None and prior is not None:
        check_all_classes_present(labels, len(prior))
        weights = (prior / (np.bincount(labels, minlength=len(prior)) / len(labels)))[labels]
    mean = np.average(holdout, axis=0, weights=weights)
    if (mean == 0).any():
        raise ValueError(
            f"proba gives class {int((mean == 0).argmax())} no mass in the whole holdout; use base='prior', or drop "
            "the class."
        )
    return normalise(mean)
