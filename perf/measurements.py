"""Measurements of trackers, adapters and banks; each yields rows of the table."""

import copy
import functools
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
from baselines import (
    NumpyFLHFTL,
    PlainFLHFTL,
    TunedNumpyFLHFTL,
    TunedNumpyWindowFLHFTL,
    multiply_and_normalise,
)
from timing import fastest, seconds, spread_rounds

from baserate import Bank, RegressAndReweight
from baserate.calibrators import BCTS
from baserate.trackers import FLHFTL, Aligator, Arrows, FollowTheFixedWindow, FollowTheHistory, LikelihoodMixture

K = 10
TOLERANCE = 1e-9
SAMPLED = 40  # rounds of the plain transcription that are timed in place of all


@dataclass(frozen=True)
class Row:
    """One comparison.

    Attributes
    ----------
    what, against : str
        The subject and the baseline.
    subject_seconds, baseline_seconds : float
        The fastest measurement of each.
    better : {"faster", "cheap"}
        Meaning of `ratio`: ``"faster"``, the baseline's time divided by the subject's; ``"cheap"``, the reverse.
    bound : float, optional
        Least allowed `ratio` (``"faster"``), or largest (``"cheap"``).
    note : str
        Remark for the reader.
    """

    what: str
    against: str
    subject_seconds: float
    baseline_seconds: float
    better: Literal["faster", "cheap"]
    bound: float | None = None
    note: str = ""

    @property
    def ratio(self):
        if self.better == "faster":
            return self.baseline_seconds / self.subject_seconds
        return self.subject_seconds / self.baseline_seconds

    @property
    def passed(self):
        """True if the bound is met; None if there is no bound."""
        if self.bound is None:
            return None
        return self.ratio >= self.bound if self.better == "faster" else self.ratio <= self.bound


class DisagreementError(Exception):
    """Error: two versions of the same computation differ, so their times cannot be compared."""


def agree(name, ours, theirs, tolerance=TOLERANCE):
    gap = float(np.abs(ours - theirs).max())
    if not gap <= tolerance:
        raise DisagreementError(f"{name}: versions differ by {gap:.2g}, more than {tolerance:g}")


def drifting_frequencies(rounds):
    """Class frequencies of batches of 10 under a class mix that swings between two mixes; the same in every run."""
    rng = np.random.default_rng(0)
    ends = rng.dirichlet(np.ones(K), size=2)
    swing = (0.5 + 0.5 * np.sin(np.arange(rounds) / 200))[:, np.newaxis]
    return rng.multinomial(10, swing * ends[0] + (1 - swing) * ends[1]) / 10


def track(tracker, frequencies):
    """Predictions of a tracker in each round, through its public methods."""
    played = np.empty_like(frequencies)
    for t, z in enumerate(frequencies):
        played[t] = tracker.predict()
        tracker.update(z)
    return played


def whole_loop(make, frequencies):
    """A contender that runs all rounds with a new tracker; creating the tracker is not timed."""

    def measure():
        tracker = make()
        return seconds(lambda: track(tracker, frequencies))

    return measure


def flhftl(rounds, *, repeats, full_runs):
    """FLHFTL against numpy with cumulative sums, as usual and tuned, and against the plain transcription.

    The plain transcription is run in full `full_runs` times. If that is 0, its time is estimated from sampled rounds.
    """
    frequencies = drifting_frequencies(rounds)
    birth, rate = np.full(K, 1 / K), 1 / K
    vectorised = TunedNumpyFLHFTL(birth, rate, rounds)

    # In the rounds that are timed, the plain version must give the same predictions and weights.
    plain_at, played = {}, np.empty_like(frequencies)
    sampled = set(spread_rounds(rounds, SAMPLED))
    for t, z in enumerate(frequencies):
        if t in sampled:
            plain_at[t] = PlainFLHFTL.at(frequencies[:t], vectorised.weights, birth, rate)
        played[t] = vectorised.predict()
        vectorised.update(z)
        if t in sampled:
            plain = copy.deepcopy(plain_at[t])
            agree(f"round {t}, plain and numpy", plain.predict(), played[t])
            plain.update(z)
            agree(f"weights after round {t}, plain and numpy", plain.weights, vectorised.weights)
    agree(f"FLHFTL and numpy, T = {rounds}", track(FLHFTL(K), frequencies), played)
    agree(f"numpy, as usual and tuned, T = {rounds}", track(NumpyFLHFTL(birth, rate, rounds), frequencies), played)
    what = f"FLHFTL, T = {rounds:,}"

    ours, numpys, tuned = fastest(
        whole_loop(lambda: FLHFTL(K), frequencies),
        whole_loop(lambda: NumpyFLHFTL(birth, rate, rounds), frequencies),
        whole_loop(lambda: TunedNumpyFLHFTL(birth, rate, rounds), frequencies),
        repeats=repeats,
    )
    yield Row(what, "numpy, cumulative sums", ours, numpys, "faster", bound=4)
    yield Row(what, "the same, tuned by hand", ours, tuned, "faster")

    def one_round(t):
        plain, z = copy.deepcopy(plain_at[t]), frequencies[t]
        plain.predict()  # fill the caches, as the previous round does in a full run
        return seconds(lambda: (plain.predict(), plain.update(z)))

    def all_rounds():
        plain, outcome = PlainFLHFTL(birth, rate, rounds), []
        taken = seconds(lambda: outcome.append(track(plain, frequencies)))
        agree(f"plain and numpy, T = {rounds}", outcome[0], played)
        return taken

    some_rounds = [functools.partial(one_round, t) for t in plain_at]
    if full_runs:
        *each, taken = fastest(*some_rounds, all_rounds, repeats=full_runs)
    else:
        each = fastest(*some_rounds, repeats=3)
    # The time of a round grows smoothly with t, so the middle round represents its stretch.
    estimate = sum(each) * rounds / len(each)
    if full_runs:
        note = f"the baseline was run in full; estimated from {SAMPLED} sampled rounds, it would be {estimate:.3g} s"
    else:
        note = f"the baseline's time is estimated from {SAMPLED} sampled rounds"
        taken = estimate
    bound = 100 if rounds == 10_000 else None
    yield Row(what, "plain transcription", ours, taken, "faster", bound, note)


def window_flhftl(rounds, *, repeats):
    """The window variant against numpy with cumulative sums."""
    frequencies = drifting_frequencies(rounds)
    birth, rate = np.full(K, 1 / K), 1 / K

    def numpys():
        return TunedNumpyWindowFLHFTL(birth, rate, rounds)

    def ours():
        return FLHFTL(K, experts="window")

    agree(f"window FLHFTL and numpy, T = {rounds}", track(ours(), frequencies), track(numpys(), frequencies))
    times = fastest(whole_loop(ours, frequencies), whole_loop(numpys, frequencies), repeats=repeats)
    yield Row(f"FLHFTL by window, T = {rounds:,}", "numpy, tuned by hand", *times, "faster")


def model_outputs(rng, n, mix=None):
    """Probabilities of a model that is mostly right, and the labels."""
    y = rng.choice(K, size=n, p=mix)
    scores = np.exp(rng.normal(size=(n, K)) + 3.0 * (y[:, np.newaxis] == np.arange(K)))
    return scores / scores.sum(axis=1, keepdims=True), y


def drifted_adapter(rng, tracker, rounds, calibrator=None):
    """An adapter some rounds into a stream with another class mix than its holdout's."""
    adapter = RegressAndReweight(tracker, calibrator=calibrator, gate=False, alpha=None).fit(*model_outputs(rng, 5_000))
    mix = rng.dirichlet(np.ones(K))
    for _ in range(rounds):
        adapter.update(model_outputs(rng, 10, mix)[0])
    return adapter


def steps():
    """A whole public step with a small batch against the bare arithmetic of re-weighting it."""
    rng = np.random.default_rng(0)
    batch = model_outputs(rng, 10)[0]
    number = 200
    for tracker, calibrator, when, bound in [
        (FollowTheHistory(K), None, "", 15),
        (FollowTheHistory(K), BCTS(), ", BCTS", 15),
        (FollowTheFixedWindow(K), None, "", None),
        (Arrows(K), None, "", None),
        (Aligator(K), None, ", t ~ 1,000", None),
        (FLHFTL(K), None, ", t ~ 1,000", None),
    ]:
        # Equally many rounds before and after t = 1,000.
        adapter = drifted_adapter(rng, tracker, 1_000 - number // 2, calibrator)
        ratio = adapter.prior_ / adapter.source_prior_
        calibrated = batch if calibrator is None else adapter.calibrator_.transform(batch)
        agree(
            "step and bare numpy", copy.deepcopy(adapter).step(batch).proba, multiply_and_normalise(calibrated, ratio)
        )

        def step(adapter=adapter):
            subject = copy.deepcopy(adapter)  # the tracker grows, so every measurement starts at the same round
            return seconds(lambda: subject.step(batch), number)

        def bare(ratio=ratio):
            return seconds(lambda: multiply_and_normalise(batch, ratio), number)

        what = f"step(10 x 10), {type(tracker).__name__}{when}"
        yield Row(what, "multiply, normalise", *fastest(step, bare, repeats=50), "cheap", bound)


def long_runs():
    """A late round of a long run against an earlier one: trackers of constant memory must not slow down."""
    rng = np.random.default_rng(0)
    early, late = 2**14, 2**17
    frequencies = rng.multinomial(10, np.full(K, 1 / K), size=late) / 10
    for cls in (Aligator, Arrows):
        trackers = {}
        running = cls(K)
        for t, z in enumerate(frequencies, start=1):
            running.update(z)
            if t in (early - 1, late - 1):
                trackers[t + 1] = copy.deepcopy(running)

        def rounds(n, trackers=trackers):
            subject = copy.deepcopy(trackers[n])
            return seconds(lambda: track(subject, frequencies[:500])) / 500

        times = fastest(functools.partial(rounds, late), functools.partial(rounds, early), repeats=15)
        what = f"{cls.__name__}, a round at T = {late:,}"
        yield Row(what, f"the same at T = {early:,}", *times, "cheap", bound=1.5)


def predict_many():
    """A large batch against the multiplication alone. Both allocate their output."""
    rng = np.random.default_rng(0)
    adapter = drifted_adapter(rng, FollowTheHistory(K), 10)
    proba = model_outputs(rng, 1_000_000)[0]
    ratio = adapter.prior_ / adapter.source_prior_
    agree("predict_proba and bare numpy", adapter.predict_proba(proba), multiply_and_normalise(proba, ratio))
    times = fastest(
        lambda: seconds(lambda: adapter.predict_proba(proba)),
        lambda: seconds(lambda: np.multiply(proba, ratio)),
        repeats=15,
    )
    yield Row("predict_proba(1,000,000 x 10)", "np.multiply alone", *times, "cheap", bound=4)


def bank():
    """Many keyed streams at once against one adapter per key in a loop."""
    rng = np.random.default_rng(0)
    n_keys, n_rows = 10_000, 10
    template = ungated(FollowTheHistory(K)).fit(*model_outputs(rng, 5_000))
    proba = model_outputs(rng, n_keys * n_rows)[0]
    place = rng.permutation(n_keys * n_rows)  # rows arrive in any order
    key_of_row = place // n_rows
    names = np.array([f"shop-{i:05d}" for i in range(n_keys)])
    keys = names[key_of_row].tolist()

    # The loop gets its batches already sorted and split; the bank's time includes that.
    rows_of_key = np.argsort(key_of_row, kind="stable").reshape(n_keys, n_rows)
    batches = [np.ascontiguousarray(proba[rows]) for rows in rows_of_key]
    adapters = [copy.deepcopy(template) for _ in range(n_keys)]
    streams = Bank(template)
    streams.step(keys, proba)  # the first round, in which every key is new
    for adapter, batch in zip(adapters, batches, strict=True):
        adapter.update(batch)

    def one_by_one():
        return [adapter.step(batch) for adapter, batch in zip(adapters, batches, strict=True)]

    looped = np.array([step.proba for step in one_by_one()])
    agree("bank and one adapter per key", streams.step(keys, proba).proba[rows_of_key], looped, tolerance=0.0)
    ours, loops = fastest(lambda: seconds(lambda: streams.step(keys, proba)), lambda: seconds(one_by_one), repeats=15)
    note = f"{n_keys / ours:,.0f} keys a second"
    yield Row("Bank.step, 10,000 keys x 10", "a loop over adapters", ours, loops, "faster", note=note)


def ungated(tracker):
    """An adapter that does the same as one key of a bank."""
    return RegressAndReweight(tracker, calibrator=None, gate=False, alpha=None)


def many_keys():
    """A hundred thousand keys with one sample each, against one object per key (measured on two thousand objects)."""
    rng = np.random.default_rng(0)
    n_keys, n_objects = 100_000, 2_000
    proba = model_outputs(rng, n_keys)[0]
    keys = [f"shop-{i:06d}" for i in range(n_keys)]
    batches = [proba[i : i + 1] for i in range(n_objects)]
    light = LikelihoodMixture(K, light=True)
    for tracker, bound in ((FollowTheHistory(K), 20), (Arrows(K), 20), (light, 20), (LikelihoodMixture(K), None)):
        adapter = ungated(tracker).fit(*model_outputs(rng, 1_000))
        streams, objects = Bank(adapter), [copy.deepcopy(adapter) for _ in range(n_objects)]
        streams.update(keys, proba)
        for one, batch in zip(objects, batches, strict=True):
            one.update(batch)
        priors = np.array([one.prior_ for one in objects])
        agree("bank and one object per key", streams.prior(keys[:n_objects]), priors, tolerance=0.0)

        def all_keys(streams=streams):
            return seconds(lambda: streams.update(keys, proba)) / n_keys

        def all_objects(objects=objects):
            return seconds(lambda: [one.update(batch) for one, batch in zip(objects, batches, strict=True)]) / n_objects

        ours, loops = fastest(all_keys, all_objects, repeats=7)
        state = sum(array[:1].nbytes for array in streams._state)
        note = f"{1 / ours:,.0f} keys a second, {state:,} bytes each"
        name = "LikelihoodMixture, light" if tracker is light else type(tracker).__name__
        what = f"Bank.update, 100,000 keys x 1, {name}"
        yield Row(what, "an object per key", ours, loops, "faster", bound, note=note)


def start_up():
    """Start-up times, against an interpreter that does nothing."""
    script = Path(sys.executable).parent / "baserate"
    commands = {
        "import baserate": [sys.executable, "-c", "import baserate"],
        "baserate --help": [str(script), "--help"],
        "python -c pass": [sys.executable, "-c", "pass"],
    }

    def measure(command):
        return seconds(lambda: subprocess.run(command, check=True, capture_output=True))

    times = fastest(*(functools.partial(measure, command) for command in commands.values()), repeats=10)
    *ours, nothing = zip(commands, times, strict=True)
    for what, taken in ours:
        yield Row(what, nothing[0], taken, nothing[1], "cheap")
