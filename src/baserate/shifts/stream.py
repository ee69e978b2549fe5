"""Sample a stream with a given path of class mixes from a labelled pool."""

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from baserate.protocols import Batch, FloatArray, IntArray, Shift
from baserate.validation import (
    check_has_methods,
    check_integer,
    check_labels,
    check_path,
    check_proba,
    check_rng,
    warn_user,
)


def sample_stream(
    proba: ArrayLike,
    y: ArrayLike,
    shift: Shift | ArrayLike,
    *,
    n_rounds: int | None = None,
    batch_size: int = 10,
    features: NDArray[Any] | None = None,
    exhaust: bool = False,
    rng: int | np.random.Generator | None = None,
) -> Iterator[Batch]:
    """Draw rounds of samples from a labelled pool, with the labels of round t i.i.d. from q_t.

    The protocol of the paper's experiments: within a round, samples of a class are drawn without replacement; across
    rounds, with.

    Parameters
    ----------
    proba : (m, k) array
        The model's probabilities on the pool.
    y : (m,) array of int
        The pool's labels.
    shift : Shift or (T, k) array
        The path of the class mix.
    n_rounds : int, optional
        Number of rounds T; needed with a `Shift`.
    batch_size : int
        Number of samples per round.
    features : (m, ...) array, optional
        The pool's features, for methods that move a last layer, and for learners.
    exhaust : bool
        Draw without replacement over the whole run. When a class has run out the stream ends early, with a warning.
    rng : int or numpy.random.Generator, optional
        Seed of the path and of the samples.

    Yields
    ------
    Batch
        ``index, proba, features, y, q, rows``.

    Examples
    --------
    >>> import numpy as np
    >>> from baserate.shifts import Monotone
    >>> pool = np.array([[0.9, 0.1], [0.8, 0.2], [0.3, 0.7], [0.1, 0.9]])
    >>> stream = list(sample_stream(pool, [0, 0, 1, 1], Monotone(), n_rounds=3, batch_size=2, rng=0))
    >>> [batch.q.round(2).tolist() for batch in stream]
    [[0.5, 0.5], [0.67, 0.33], [0.83, 0.17]]
    """
    pool = check_proba(proba)
    labels = check_labels(y, len(pool), pool.shape[1])
    check_integer(batch_size, "batch_size", 1)
    generator = check_rng(rng)
    if isinstance(shift, type) or not (isinstance(shift, Shift) or np.ndim(shift) == 2):
        wanted = "path(n_rounds, n_classes, rng), or an array of class mixes, one row per round"
        check_has_methods(shift, "shift", Shift, wanted)
    if isinstance(shift, Shift):
        if n_rounds is None:
            raise ValueError("n_rounds is missing; a shift needs to know how long its path is.")
        path = check_path(shift.path(n_rounds, pool.shape[1], generator), pool.shape[1], "shift.path")
    else:
        path = check_path(shift, pool.shape[1], "shift")
        if n_rounds is not None and check_integer(n_rounds, "n_rounds", 1) > len(path):
            raise ValueError(f"n_rounds is {n_rounds}, but shift has only {len(path)} rounds; give a longer path.")
        path = path[:n_rounds]
    features = _check_features(features, len(pool))
    members = [np.flatnonzero(labels == c) for c in range(pool.shape[1])]
    for c in np.flatnonzero(path.sum(axis=0)):
        if len(members[c]) == 0:
            raise ValueError(f"y has no sample of class {c}, which the path asks for; add some to the pool.")
    draw = _draw_without_replacement if exhaust else _draw_within_round
    # The checks above are made when the stream is asked for, not when its first round is.
    return _batches(pool, labels, features, path, draw(members, path, batch_size, generator))


def replay_stream(
    proba: ArrayLike, y: ArrayLike, *, batch_size: int = 10, features: NDArray[Any] | None = None
) -> Iterator[Batch]:
    """Cut labelled samples that are in the order of time into rounds: real drift, not simulated.

    The true class mix behind a round of real samples is not known; the label frequencies of the round stand for it.

    Parameters
    ----------
    proba : (m, k) array
        The model's probabilities, first sample first.
    y : (m,) array of int
        The labels.
    batch_size : int
        Samples a round; the last round may have fewer.
    features : (m, ...) array, optional
        As in `sample_stream`.

    Yields
    ------
    Batch
        ``index, proba, features, y, q, rows``.

    Examples
    --------
    >>> stream = replay_stream([[0.9, 0.1], [0.8, 0.2], [0.3, 0.7]], [0, 1, 1], batch_size=2)
    >>> [(batch.y.tolist(), batch.q.tolist()) for batch in stream]
    [([0, 1], [0.5, 0.5]), ([1], [0.0, 1.0])]
    """
    pool = check_proba(proba)
    labels = check_labels(y, len(pool), pool.shape[1])
    check_integer(batch_size, "batch_size", 1)
    if len(pool) == 0:
        raise ValueError("proba is empty; give the samples of a stream.")
    checked = _check_features(features, len(pool))
    draws = np.split(np.arange(len(pool)), np.arange(batch_size, len(pool), batch_size))
    path = np.array([np.bincount(labels[rows], minlength=pool.shape[1]) / len(rows) for rows in draws])
    return _batches(pool, labels, checked, path, draws)


def _check_features(features: NDArray[Any] | None, n_samples: int) -> NDArray[Any] | None:
    if features is None:
        return None
    features = np.asarray(features)
    if features.ndim == 0 or len(features) != n_samples:
        size = f"{len(features)} rows" if features.ndim else "no rows"
        raise ValueError(f"features has {size}; expected {n_samples}, one per sample of proba.")
    return features


def _batches(
    pool: FloatArray, labels: IntArray, features: NDArray[Any] | None, path: FloatArray, draws: Iterable[IntArray]
) -> Iterator[Batch]:
    for t, rows in enumerate(draws):
        yield Batch(t, pool[rows], None if features is None else features[rows], labels[rows], path[t], rows)


def _draw_within_round(
    members: list[IntArray], path: FloatArray, batch_size: int, rng: np.random.Generator
) -> Iterator[IntArray]:
    for q in path:
        classes = rng.choice(len(q), size=batch_size, p=q / q.sum())
        rows = np.empty(batch_size, dtype=np.int64)
        for c in np.unique(classes):
            wanted = np.flatnonzero(classes == c)
            if len(wanted) > len(members[c]):
                raise ValueError(
                    f"batch_size is {batch_size}, but the pool has only {len(members[c])} samples of class {c}; make "
                    "batches smaller."
                )
            rows[wanted] = rng.choice(members[c], size=len(wanted), replace=False)
        yield rows


def _draw_without_replacement(
    members: list[IntArray], path: FloatArray, batch_size: int, rng: np.random.Generator
) -> Iterator[IntArray]:
    left = [rng.permutation(rows) for rows in members]
    for t, q in enumerate(path):
        classes = rng.choice(len(q), size=batch_size, p=q / q.sum())
        rows = np.empty(batch_size, dtype=np.int64)
        for c in np.unique(classes):
            wanted = np.flatnonzero(classes == c)
            if len(wanted) > len(left[c]):
                warn_user(f"the pool has run out of class {c} after {t} of {len(path)} rounds; the stream ends here.")
                return
            rows[wanted], left[c] = left[c][: len(wanted)], left[c][len(wanted) :]
        yield rows


def frequencies(stream: Iterable[Batch]) -> FloatArray:
    """Return the label frequencies of each batch, (T, k): the "true marginals" of the paper's tables."""
    return np.array([np.bincount(batch.y, minlength=len(batch.q)) / max(len(batch.y), 1) for batch in stream])
