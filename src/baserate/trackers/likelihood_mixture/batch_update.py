"""Updates and predictions of the likelihood mixture from batches of samples, for many keys (compiled)."""

import numpy as np

from baserate.compiled import compiled, compiled_part, compiled_within
from baserate.protocols import FloatArray, IntArray
from baserate.trackers.likelihood_mixture import diagonal, parts, runs, scoring, season
from baserate.trackers.likelihood_mixture.experts import (
    COUNT,
    COUNTED,
    EXPERTS,
    KEPT,
    KNOWN,
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

_LEAST = 1e-300  # least likelihood of the birth value beside that of the best expert
_MOST_IDLE = 10_000  # rounds without samples that are simulated one by one


@compiled_within
def _log_likelihood(per_expert: FloatArray) -> float:
    """Return the log-likelihood of a batch under the weighted experts, up to the factor of the row `LIKELIHOOD`."""
    total = 0.0
    for e in range(EXPERTS):
        total += per_expert[WEIGHT, e] * per_expert[LIKELIHOOD, e]
    return float(np.log(total))


@compiled_part
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
    seasons: FloatArray,
    seasonal: IntArray,
    season_arms: FloatArray,
    season_arms_seen: FloatArray,
    rows: IntArray,
    margin: FloatArray,
    across: FloatArray,
    proba: FloatArray,
    inverse: FloatArray,
    labels: IntArray,
    starts: IntArray,
    many: bool | None,
    predictions: FloatArray,
    record: FloatArray,
    after: FloatArray,
) -> None:
    """Predict some keys, and update each with a batch, one after the other; an empty batch changes nothing.

    Parameters
    ----------
    across : (d, k) array
        The directions in which rounds are compared, to find seasons.
    inverse : (k,) array
        One divided by the source prior.
    labels : (n,) array of int
        Empty if no label is known.
    many : bool or None
        None unless there are many classes: the code for these is then not even compiled.
    predictions : (m, k) array
        Row j becomes the prediction of key ``rows[j]`` before batch j. Without rows, nothing is predicted.
    record : (k + 1, EXPERTS + lanes + 1) array
        Becomes the record of the last round, which `late_labels` needs: for each class the mixes that experts and runs
        are judged by, and the mix that samples are counted by; then the share of a sample that each expert counts.
        Without rows, nothing is recorded.
    after : (m, k) array
        Row j becomes the prediction of key ``rows[j]`` after batch j, unless that is empty. Without rows, nothing does.
    """
    k, lanes = births.shape[1], sizes.shape[1]
    mixes, per_expert, per_class = make_tables(k)
    span, plays = seasons.shape[1], np.empty((3, k))
    logs, scratch, widest = np.empty(EXPERTS), scoring.make_scratch(k if many is None else 0, lanes), 0.0
    for c in range(k):
        widest = max(widest, margin[c])
    for j in range(len(rows)):
        row, first, end = rows[j], starts[j], starts[j + 1]
        moving, within, size, since = run_mixes[row], overlaps[row], sizes[row], began[row]
        share, arm = run_weights[row], arms[row]
        load_key(births[row], counts[row], weights[row], trust[row], mixes, per_expert, per_class)
        t = rounds[row, 0] + 1
        returns, moves = span > 0 and seasonal[row, 0] > 0, False
        # Before the first round it is the birth value itself.
        if t > 1 and (returns or len(predictions) > 0):
            _average(moving, share, arm, mixes, per_expert, per_class)
        if returns:
            moves = season.forecast(seasons[row], seasonal[row], across, t, per_class, plays)
            season.blend(season_arms[row], plays, per_class)
        if len(predictions) > 0:
            for c in range(k):
                predictions[j, c] = per_class[MIXTURE, c] if t > 1 else births[row, c]
        if first == end:
            continue
        if widest > 0.0:
            _average(moving, share, arm, mixes, per_expert, per_class)
            count_classes(proba, inverse, labels, first, end, per_class)
            apply_margin(counts[row], margin, mixes, per_expert, per_class)
        if lanes > 0:
            runs.open_round(moving, size, since, share, per_class, t)
            runs.set_judged(mixes, moving, per_class)
        if len(record) > 0:
            for c in range(k):
                for e in range(EXPERTS):
                    record[c, e] = mixes[c, e]
                for e in range(lanes):
                    record[c, EXPERTS + e] = moving[c, e]
        found = batch_likelihoods(proba, inverse, labels, first, end, mixes, per_expert, logs)
        restore_birth_value(mixes, per_class)
        by_birth = found + np.log(max(per_expert[LIKELIHOOD, KNOWN], _LEAST))
        found += _log_likelihood(per_expert)
        now = next_doubt(doubt[row], per_expert)
        update_weights(weights[row], trust[row], per_expert)
        assign_samples(now, per_expert)
        if lanes > 0:
            if many is None:
                found_by_runs = parts.observe(
                    moving, within, size, share, proba, inverse, labels, first, end, per_class, scratch
                )
            else:
                found_by_runs = diagonal.observe(moving, share, by_birth, proba, inverse, labels, first, end)
            found = runs.weigh_arms(arm, found, found_by_runs)
        # Classes are counted with the new weights: experts that predicted the batch well know best what it holds.
        _average(moving, share, arm, mixes, per_expert, per_class)
        count_classes(proba, inverse, labels, first, end, per_class)
        if len(record) > 0:
            for c in range(k):
                record[c, EXPERTS + lanes] = per_class[MIXTURE, c]
            for e in range(EXPERTS):
                record[k, e] = per_expert[COUNTED, e]
        add_counts(counts[row], per_expert, per_class)
        doubt[row], rounds[row, 1] = learn_new_mix(
            counts[row], doubted[row], now, made[row], rounds[row, 1], t, per_class
        )
        rounds[row, 0] = t
        redistribute_weights(weights[row], trust[row], made[row], t, per_expert)
        if lanes > 0:
            if many is not None:
                diagonal.count(moving, within, size, proba, inverse, labels, first, end, per_class)
            runs.restore_birth(moving, per_class)
            runs.share_arms(arm)
        if span > 0:
            season.observe(
                seasons[row], seasonal[row], season_arms[row], season_arms_seen[row], found, across, t, plays,
                proba, inverse, labels, first, end, moves, per_class,
            )  # fmt: skip
        if len(after) > 0:
            _average_now(
                births[row], counts[row], weights[row], trust[row], moving, share, arm, mixes, per_expert, per_class
            )
            if span > 0 and seasonal[row, 0] > 0:
                season.forecast(seasons[row], seasonal[row], across, t + 1, per_class, plays)
                season.blend(season_arms[row], plays, per_class)
            for c in range(k):
                after[j, c] = per_class[MIXTURE, c]


@compiled_part
def _average_now(
    birth: FloatArray,
    counts: FloatArray,
    weights: FloatArray,
    trust: FloatArray,
    run_mixes: FloatArray,
    run_weights: FloatArray,
    arms: FloatArray,
    mixes: FloatArray,
    per_expert: FloatArray,
    per_class: FloatArray,
) -> None:
    """Set the row `MIXTURE` after a batch: the weighted mean of all experts and runs as they are now."""
    load_key(birth, counts, weights, trust, mixes, per_expert, per_class)
    _average(run_mixes, run_weights, arms, mixes, per_expert, per_class)


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
    seasons: FloatArray,
    seasonal: IntArray,
    season_arms: FloatArray,
    season_arms_seen: FloatArray,
    rows: IntArray,
    margin: FloatArray,
    across: FloatArray,
    frequencies: FloatArray,
    many: bool | None,
) -> None:
    """Update some keys with class frequencies, one row each; a row counts as one labelled sample split by class."""
    k, lanes = births.shape[1], sizes.shape[1]
    mixes, per_expert, per_class = make_tables(k)
    span, plays = seasons.shape[1], np.empty((3, k))
    logs, m, scratch = np.empty(EXPERTS), EXPERTS, scoring.make_scratch(k if many is None else 0, lanes)
    for j in range(len(rows)):
        row = rows[j]
        t = rounds[row, 0] + 1
        load_key(births[row], counts[row], weights[row], trust[row], mixes, per_expert, per_class)
        if span > 0 and seasonal[row, 0] > 0:
            _average(run_mixes[row], run_weights[row], arms[row], mixes, per_expert, per_class)
            season.forecast(seasons[row], seasonal[row], across, t, per_class, plays)
        for c in range(k):
            per_class[COUNT, c] = frequencies[j, c]
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
            if many is None:
                found_by_runs = scoring.observe_frequencies(
                    run_mixes[row], overlaps[row], sizes[row], run_weights[row], frequencies[j], per_class, scratch
                )
            else:
                found_by_runs = diagonal.observe_frequencies(
                    run_mixes[row], overlaps[row], sizes[row], run_weights[row], frequencies[j], per_class
                )
            found = runs.weigh_arms(arms[row], found, found_by_runs)
            runs.restore_birth(run_mixes[row], per_class)
            runs.share_arms(arms[row])
        if span > 0:
            season.observe_frequencies(
                seasons[row], seasonal[row], season_arms[row], season_arms_seen[row], found, across, t, plays, per_class
            )


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
    seasons: FloatArray,
    seasonal: IntArray,
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
            if seasons.shape[1] > 0:
                season.skip(seasons[row], seasonal[row], counts.shape[1], rounds[row, 0])
        rounds[row, 0] += max(n - _MOST_IDLE, 0)
        if n > _MOST_IDLE and seasons.shape[1] > 0:
            seasonal[row, 2] = rounds[row, 0]
            if seasonal[row, 0] > 0:
                seasonal[row, 1] += n - _MOST_IDLE
        for c in range(counts.shape[1]):
            for e in range(MEMORIES):
                counts[row, c, e] *= KEPT[e] ** n
