"""Updates and predictions of the likelihood mixture from batches of samples, for many keys (compiled)."""

import numpy as np

from baserate.compiled import compiled, compiled_within
from baserate.protocols import FloatArray, IntArray
from baserate.trackers.likelihood_mixture import diagonal, runs, scoring
from baserate.trackers.likelihood_mixture.experts import (
    COUNT,
    EXPERTS,
    KEPT,
    LIKELIHOOD,
    MEMORIES,
    MIXTURE,
    WEIGHT,
    add_counts,
    apply_margin,
    assign_samples,
    average_experts,
    learn_new_mix,
    load_key,
    make_tables,
    next_doubt,
    redistribute_weights,
    restore_birth_value,
    scale_likelihoods,
    update_weights,
)
from baserate.trackers.likelihood_mixture.likelihoods import batch_likelihoods, count_classes

_MOST_IDLE = 10_000  # rounds without samples that are simulated one by one


@compiled_within
def begin_round(
    counts: FloatArray,
    run_mixes: FloatArray,
    sizes: FloatArray,
    began: IntArray,
    run_weights: FloatArray,
    arms: FloatArray,
    t: int,
    margin: FloatArray,
    proba: FloatArray,
    inverse: FloatArray,
    labels: IntArray,
    first: int,
    end: int,
    mixes: FloatArray,
    per_expert: FloatArray,
    per_class: FloatArray,
) -> None:
    """Replace the mix of each expert by the one it is judged by in a batch (see `apply_margin`), and start a run."""
    if margin.max() > 0.0:
        _average(run_mixes, run_weights, arms, mixes, per_expert, per_class)
        count_classes(proba, inverse, labels, first, end, per_class)
        apply_margin(counts, margin, mixes, per_expert, per_class)
    if len(sizes) > 0:
        runs.open_round(run_mixes, sizes, began, run_weights, per_class, t)
        runs.set_judged(mixes, run_mixes, per_class)


@compiled_within
def judge_round(
    weights: FloatArray,
    trust: FloatArray,
    doubt: float,
    run_mixes: FloatArray,
    overlaps: FloatArray,
    sizes: FloatArray,
    run_weights: FloatArray,
    arms: FloatArray,
    proba: FloatArray,
    inverse: FloatArray,
    labels: IntArray,
    first: int,
    end: int,
    mixes: FloatArray,
    per_expert: FloatArray,
    per_class: FloatArray,
    logs: FloatArray,
    scratch: FloatArray,
) -> float:
    """Update all weights by the likelihood of a batch, move the runs, and set `MIXTURE`; returns the doubt after it."""
    factor = batch_likelihoods(proba, inverse, labels, first, end, mixes, per_expert, logs)
    restore_birth_value(mixes, per_class)
    found = factor + _log_likelihood(per_expert)
    doubt = next_doubt(doubt, per_expert)
    update_weights(weights, trust, per_expert)
    assign_samples(doubt, per_expert)
    if len(sizes) > 0:
        found_by_runs = (
            scoring.observe(
                run_mixes, overlaps, sizes, run_weights, proba, inverse, labels, first, end, per_class, scratch
            )
            if len(run_mixes) <= runs.FULL
            else diagonal.observe(run_mixes, run_weights, proba, inverse, labels, first, end)
        )
        runs.weigh_arms(arms, found, found_by_runs)
    _average(run_mixes, run_weights, arms, mixes, per_expert, per_class)
    return doubt


@compiled_within
def _log_likelihood(per_expert: FloatArray) -> float:
    """Return the log-likelihood of a batch under the weighted experts, up to the factor of the row `LIKELIHOOD`."""
    total = 0.0
    for e in range(EXPERTS):
        total += per_expert[WEIGHT, e] * per_expert[LIKELIHOOD, e]
    return float(np.log(total))


@compiled_within
def _average(
    run_mixes: FloatArray,
    run_weights: FloatArray,
    arms: FloatArray,
    mixes: FloatArray,
    per_expert: FloatArray,
    per_class: FloatArray,
) -> None:
    """Set the row `MIXTURE`: the weighted mean of all experts and runs."""
    average_experts(mixes, per_expert, per_class)
    if len(run_weights) > 0:
        runs.average_runs(run_mixes, run_weights, arms, per_class)


@compiled_within
def _predict(
    birth: FloatArray,
    seen: int,
    run_mixes: FloatArray,
    run_weights: FloatArray,
    arms: FloatArray,
    mixes: FloatArray,
    per_expert: FloatArray,
    per_class: FloatArray,
    out: FloatArray,
) -> None:
    """Write the prediction to `out`: the birth value itself before the first round, then the mean of the experts."""
    if seen == 0:
        out[:] = birth
    else:
        _average(run_mixes, run_weights, arms, mixes, per_expert, per_class)
        out[:] = per_class[MIXTURE]


@compiled
def predict(
    births: FloatArray,
    counts: FloatArray,
    weights: FloatArray,
    trust: FloatArray,
    rounds: IntArray,
    run_mixes: FloatArray,
    run_weights: FloatArray,
    arms: FloatArray,
    rows: IntArray,
) -> FloatArray:
    """Return the predictions of some keys, one row each."""
    out = np.empty((len(rows), births.shape[1]))
    mixes, per_expert, per_class = make_tables(births.shape[1])
    for j in range(len(rows)):
        row = rows[j]
        load_key(births[row], counts[row], weights[row], trust[row], mixes, per_expert, per_class)
        _predict(
            births[row],
            rounds[row, 0],
            run_mixes[row],
            run_weights[row],
            arms[row],
            mixes,
            per_expert,
            per_class,
            out[j],
        )
    return out


@compiled
def update(
    births: FloatArray,
    counts: FloatArray,
    weights: FloatArray,
    trust: FloatArray,
    doubted: FloatArray,
    doubt: FloatArray,
    made: IntArray,
    rounds: IntArray,
    run_mixes: FloatArray,
    overlaps: FloatArray,
    sizes: FloatArray,
    began: IntArray,
    run_weights: FloatArray,
    arms: FloatArray,
    rows: IntArray,
    margin: FloatArray,
    proba: FloatArray,
    source_prior: FloatArray,
    labels: IntArray,
    starts: IntArray,
    predictions: FloatArray,
) -> None:
    """Update some keys with a batch each, one after the other; `labels` is empty if no label is known.

    If `predictions` has rows, row j becomes the prediction of key ``rows[j]`` before batch j.
    """
    k, lanes = births.shape[1], sizes.shape[1]
    mixes, per_expert, per_class = make_tables(k)
    logs, inverse, scratch = (
        np.empty(EXPERTS),
        1.0 / source_prior,
        scoring.make_scratch(k if k <= runs.FULL else 0, lanes),
    )
    for j in range(len(rows)):
        row, first, end = rows[j], starts[j], starts[j + 1]
        moving, within, size, since = run_mixes[row], overlaps[row], sizes[row], began[row]
        share, arm = run_weights[row], arms[row]
        load_key(births[row], counts[row], weights[row], trust[row], mixes, per_expert, per_class)
        if len(predictions) > 0:
            _predict(births[row], rounds[row, 0], moving, share, arm, mixes, per_expert, per_class, predictions[j])
        if first == end:
            continue
        t = rounds[row, 0] + 1
        begin_round(
            counts[row], moving, size, since, share, arm, t, margin, proba, inverse, labels, first, end,
            mixes, per_expert, per_class,
        )  # fmt: skip
        now = judge_round(
            weights[row], trust[row], doubt[row], moving, within, size, share, arm, proba, inverse, labels, first, end,
            mixes, per_expert, per_class, logs, scratch,
        )  # fmt: skip
        # Classes are counted with the new weights: experts that predicted the batch well know best what it holds.
        count_classes(proba, inverse, labels, first, end, per_class)
        add_counts(counts[row], per_expert, per_class)
        doubt[row], rounds[row, 1] = learn_new_mix(
            counts[row], doubted[row], now, made[row], rounds[row, 1], t, per_class
        )
        rounds[row, 0] = t
        redistribute_weights(weights[row], trust[row], made[row], t, per_expert)
        if lanes > 0:
            if k > runs.FULL:
                diagonal.count(moving, within, size, proba, inverse, labels, first, end, per_class)
            runs.restore_birth(moving, per_class)
            runs.share_arms(arm)


@compiled
def update_with_frequencies(
    births: FloatArray,
    counts: FloatArray,
    weights: FloatArray,
    trust: FloatArray,
    doubted: FloatArray,
    doubt: FloatArray,
    made: IntArray,
    rounds: IntArray,
    run_mixes: FloatArray,
    overlaps: FloatArray,
    sizes: FloatArray,
    began: IntArray,
    run_weights: FloatArray,
    arms: FloatArray,
    rows: IntArray,
    margin: FloatArray,
    frequencies: FloatArray,
) -> None:
    """Update some keys with class frequencies, one row each; a row counts as one labelled sample split by class."""
    k, lanes = births.shape[1], sizes.shape[1]
    mixes, per_expert, per_class = make_tables(k)
    logs, m, scratch = np.empty(EXPERTS), EXPERTS, scoring.make_scratch(k if k <= runs.FULL else 0, lanes)
    for j in range(len(rows)):
        row = rows[j]
        t = rounds[row, 0] + 1
        load_key(births[row], counts[row], weights[row], trust[row], mixes, per_expert, per_class)
        per_class[COUNT] = frequencies[j]
        apply_margin(counts[row], margin, mixes, per_expert, per_class)
        logs[:] = 0.0
        for c in range(k):
            for e in range(m):
                logs[e] += frequencies[j, c] * np.log(mixes[c, e])
        found = scale_likelihoods(logs, per_expert) + _log_likelihood(per_expert)
        now = next_doubt(doubt[row], per_expert)
        update_weights(weights[row], trust[row], per_expert)
        assign_samples(now, per_expert)
        add_counts(counts[row], per_expert, per_class)
        doubt[row], rounds[row, 1] = learn_new_mix(
            counts[row], doubted[row], now, made[row], rounds[row, 1], t, per_class
        )
        rounds[row, 0] = t
        redistribute_weights(weights[row], trust[row], made[row], t, per_expert)
        if lanes > 0:
            runs.open_round(run_mixes[row], sizes[row], began[row], run_weights[row], per_class, t)
            runs.set_judged(mixes, run_mixes[row], per_class)
            found_by_runs = (
                scoring.observe_frequencies(
                    run_mixes[row], overlaps[row], sizes[row], run_weights[row], frequencies[j], per_class, scratch
                )
                if k <= runs.FULL
                else diagonal.observe_frequencies(
                    run_mixes[row], overlaps[row], sizes[row], run_weights[row], frequencies[j], per_class
                )
            )
            runs.weigh_arms(arms[row], found, found_by_runs)
            runs.restore_birth(run_mixes[row], per_class)
            runs.share_arms(arms[row])


@compiled
def idle(
    births: FloatArray,
    counts: FloatArray,
    weights: FloatArray,
    trust: FloatArray,
    made: IntArray,
    rounds: IntArray,
    run_mixes: FloatArray,
    sizes: FloatArray,
    began: IntArray,
    run_weights: FloatArray,
    rows: IntArray,
    idle_rounds: IntArray,
) -> None:
    """Let rounds without samples pass for some keys: memories fade, runs may end, and weight is redistributed.

    After `_MOST_IDLE` rounds the weights have converged, except under the switching rate 1 / t.
    """
    mixes, per_expert, per_class = make_tables(counts.shape[1])
    for j in range(len(rows)):
        row, n = rows[j], idle_rounds[j]
        if rounds[row, 0] == 0:
            continue  # there is nothing to forget yet
        load_key(births[row], counts[row], weights[row], trust[row], mixes, per_expert, per_class)
        for _ in range(min(n, _MOST_IDLE)):
            rounds[row, 0] += 1
            if sizes.shape[1] > 0:
                runs.open_round(run_mixes[row], sizes[row], began[row], run_weights[row], per_class, rounds[row, 0])
            redistribute_weights(weights[row], trust[row], made[row], rounds[row, 0], per_expert)
        rounds[row, 0] += max(n - _MOST_IDLE, 0)
        for c in range(counts.shape[1]):
            for e in range(MEMORIES):
                counts[row, c, e] *= KEPT[e] ** n
