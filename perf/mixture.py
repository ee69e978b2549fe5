"""Measurements of the likelihood mixture; each yields rows of the table."""

import copy
import functools
import resource

import numpy as np
from baselines import multiply_and_normalise
from measurements import K, Row, agree, model_outputs
from timing import fastest, own_seconds, seconds

from baserate import RegressAndReweight
from baserate.protocols import Evidence
from baserate.trackers import FLHFTL, LikelihoodMixture

EARLY, LATE = 10**4, 10**6
ONE_KEY = np.zeros(1, dtype=np.int64)


def advance(tracker, batches, source, rounds):
    """Update a tracker for many rounds, without the adapter around it."""
    z = source[np.newaxis]
    for t in range(rounds):
        tracker.update_rows(tracker._state, ONE_KEY, z, batches[t % len(batches)])


def megabytes():
    """Peak memory of this process."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def long_run():
    """A late step of a long run, and its compiled part, against bare numpy and against an earlier step."""
    rng = np.random.default_rng(0)
    adapter = RegressAndReweight(calibrator=None, gate=False, alpha=None).fit(*model_outputs(rng, 5_000))
    source, tracker = adapter.source_prior_, adapter.tracker_
    mixes = rng.dirichlet(np.ones(K), size=3)
    batches = [Evidence(model_outputs(rng, 10, mixes[i % 3])[0], source) for i in range(99)]
    batch = batches[0].proba
    advance(tracker, batches, source, EARLY - 1_000)
    early = copy.deepcopy(adapter)
    before = megabytes()
    taken = seconds(lambda: advance(tracker, batches, source, LATE - EARLY))
    grown = megabytes() - before
    for one in (early, adapter):
        one._correction.follow(one.tracker_.predict())
    ratio = adapter.prior_ / source
    agree("step and bare numpy", copy.deepcopy(adapter).step(batch).proba, multiply_and_normalise(batch, ratio))

    def step(adapter):
        subject = copy.deepcopy(adapter)
        return seconds(lambda: subject.step(batch), 300)

    def compiled(adapter=adapter):
        subject = copy.deepcopy(adapter.tracker_)
        z, evidence = source[np.newaxis], batches[0]

        def work():
            subject.update_rows(subject._state, ONE_KEY, z, evidence)
            subject.predict_rows(subject._state, ONE_KEY)

        return seconds(work, 300)

    def bare():
        return seconds(lambda: multiply_and_normalise(batch, ratio), 300)

    late_step, early_step, kernels, numpys = fastest(
        functools.partial(step, adapter), functools.partial(step, early), compiled, bare, repeats=60
    )
    what = "step(10 x 10), LikelihoodMixture"
    state = sum(array.nbytes for array in tracker._state)
    note = f"10^6 rounds in {taken:.0f} s, memory grew by {grown:.1f} MB; state of {state:,} bytes"
    yield Row(f"{what}, t = 10^6", "multiply, normalise", late_step, numpys, "cheap", 10, note)
    yield Row("its compiled part", "multiply, normalise", kernels, numpys, "cheap", 5)
    yield Row(f"{what}, t = 10^6", "the same at t = 10^4", late_step, early_step, "cheap", 1.5)


def profiles():
    """A step with the default tracker, without check and gate, against one with its light profile."""
    rng = np.random.default_rng(0)
    holdout = model_outputs(rng, 1_000)
    mix = rng.dirichlet(np.ones(K))
    for n, bound in ((1, 1.5), (10, 1.5), (100, 2.0), (1_000, 2.0)):
        batches = [model_outputs(rng, n, mix)[0] for _ in range(max(2_000 // n, 20))]
        options = {"calibrator": None, "gate": False, "alpha": None}
        adapters = [
            RegressAndReweight(LikelihoodMixture(K, light=light), **options).fit(*holdout) for light in (False, True)
        ]

        def steps(adapter, batches=batches):
            return seconds(lambda: [adapter.step(batch) for batch in batches]) / len(batches)

        default, light = fastest(*(functools.partial(steps, adapter) for adapter in adapters), repeats=15)
        size = sum(array.nbytes for array in adapters[0].tracker_._state)
        note = f"state of {size:,} bytes" if n == 1 else ""
        yield Row(f"step({n:,} x {K}), LikelihoodMixture", "its light profile", default, light, "cheap", bound, note)


def default_adapter():
    """A step of the default adapter with everything on, in a long stream, and in its first 1,000 rounds.

    A turn is as many rounds as the check takes to look at 2,000 samples, so that all turns have as many looks. No batch
    comes twice: the tracker would learn the batches of a stream that is played again and again as it does seasons.
    """
    rng = np.random.default_rng(0)
    holdout = model_outputs(rng, 1_000)
    mix = rng.dirichlet(np.ones(K))
    rows = model_outputs(rng, 50_000, mix)[0]
    ratio = np.full(K, 1.1)
    for n, number, bound in ((1, 2_000, 14), (10, 200, 17), (100, 80, 15), (1_000, 24, 11)):
        long, alone = (
            RegressAndReweight(calibrator=None, **options).fit(*holdout)
            for options in ({}, {"gate": False, "alpha": None})
        )

        def batches(size, n=n):
            return (rows[picked] for picked in rng.integers(len(rows), size=(size, n)))

        def turn(work, number=number, *, batches=batches):
            made = iter(list(batches(number)))
            return own_seconds(lambda: work(next(made)), number)

        def bare(batch):
            return multiply_and_normalise(batch, ratio)

        turn(long.step)
        young = [copy.deepcopy(long) for _ in range(3)]
        for adapter in young:
            adapter.reset()
        for batch in batches(max(1_100 - long.rounds_, 0)):
            long.step(batch)
        whole, without, numpys = fastest(
            *(functools.partial(turn, work) for work in (long.step, alone.step, bare)), repeats=15
        )
        early = min(turn(adapter.step, 1_000) for adapter in young)
        what = f"step({n:,} x 10), the default adapter"
        yield Row(what, "multiply, normalise", whole, numpys, "cheap", bound)
        yield Row(what, "without check and gate", whole, without, "cheap")
        if n >= 100:  # more samples of the first rounds are looked at
            yield Row(f"{what}, its first 1,000", "multiply, normalise", early, numpys, "cheap")


def many_classes():
    """A round with many samples and classes, against one matrix product of experts and likelihoods."""
    rng = np.random.default_rng(0)
    k, n = 1_000, 100
    proba, source = rng.dirichlet(np.full(k, 0.3), size=n), np.full(k, 1 / k)
    trackers = [LikelihoodMixture(k, light=light) for light in (False, True)]
    evidence = Evidence(proba, source)
    for tracker in trackers:
        for _ in range(20):
            tracker.update(source, evidence)
    experts = np.ascontiguousarray(trackers[0]._state.counts[0].T)
    likelihoods = np.ascontiguousarray((proba / source).T)
    z = source[np.newaxis]

    options = {"calibrator": None, "gate": False, "alpha": None, "source_prior": source}
    adapters = [RegressAndReweight(tracker, **options).fit() for tracker in trackers]

    ours, product, default, light = fastest(
        lambda: seconds(lambda: trackers[0].update_rows(trackers[0]._state, ONE_KEY, z, evidence), 20),
        lambda: seconds(lambda: experts @ likelihoods, 20),
        *(functools.partial(lambda adapter: seconds(lambda: adapter.step(proba), 20), adapter) for adapter in adapters),
        repeats=40,
    )
    note = f"{experts.shape[0]} x {k:,} by {k:,} x {n}"
    yield Row(f"LikelihoodMixture, {n} samples of {k:,} classes", "one numpy product", ours, product, "cheap", 5, note)
    yield Row(f"step({n} x {k:,}), LikelihoodMixture", "its light profile", default, light, "cheap", 1.2)


def whole_run():
    """All rounds of a stream, in one call and round by round, against exact FLH-FTL."""
    rng = np.random.default_rng(0)
    rounds, source = 10_000, np.full(K, 1 / K)
    starts = np.arange(0, 10 * rounds + 1, 10)
    log = Evidence(np.vstack([model_outputs(rng, 10 * 1_000, mix)[0] for mix in rng.dirichlet(np.ones(K), 10)]), source)
    batches = [Evidence(log.proba[a : a + 10], source) for a in starts[:-1]]
    estimates = [batch.proba.mean(axis=0) for batch in batches]

    def in_turns(make):
        tracker = make()

        def track():
            for z, batch in zip(estimates, batches, strict=True):
                tracker.predict()
                tracker.update(z, batch)

        return seconds(track)

    def at_once(light):
        tracker, evidence = LikelihoodMixture(K, light=light), Evidence(log.proba, source, starts=starts)
        return seconds(lambda: tracker.play(evidence))

    ours, light, turns, exact = fastest(
        functools.partial(at_once, False),
        functools.partial(at_once, True),
        functools.partial(in_turns, lambda: LikelihoodMixture(K)),
        functools.partial(in_turns, lambda: FLHFTL(K)),
        repeats=4,
    )
    what = f"LikelihoodMixture, T = {rounds:,}"
    yield Row(f"{what}, play, light", "FLHFTL, round by round", light, exact, "faster", bound=10)
    yield Row(f"{what}, play", "FLHFTL, round by round", ours, exact, "faster", bound=3)
    yield Row(f"{what}, round by round", "FLHFTL, round by round", turns, exact, "faster")
