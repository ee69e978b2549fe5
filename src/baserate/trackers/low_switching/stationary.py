"""Simulated distances of a tracker from a constant truth, which a test for change must allow for."""

import copy
import functools
import math
from typing import NamedTuple

import numpy as np
from scipy.special import fdtri

from baserate.protocols import FloatArray, RestartableTracker, Tracker
from baserate.state import Component, dumps, loads
from baserate.trackers.aligator import Aligator
from baserate.trackers.flhftl import FLHFTL


class Straying(NamedTuple):
    """Mean and standard deviation of ``sum_j (prev - estimate_j)^2 / sigma^2`` for one constant coordinate.

    Entry i is for the end of phase i, after 2^(i+1) sightings, where `prev` is the mean of the first 2^i.
    """

    mean: FloatArray
    sd: FloatArray


# Results of `simulate` for the trackers that LPA is meant for (10 classes, 60 or 100 runs, 13 or 14 phases: minutes).
_TABLE = {
    "FLHFTL, start": Straying(
        np.array([0, 0.780, 1.842, 3.164, 4.451, 5.678, 7.007, 8.406, 9.863, 11.225, 12.573, 13.988, 15.333]),
        np.array([0, 0.813, 1.472, 2.135, 2.634, 2.826, 3.227, 3.535, 3.975, 4.314, 4.654, 4.872, 5.008]),
    ),
    "FLHFTL, window": Straying(
        np.array([0, 1.132, 2.419, 3.767, 5.073, 6.309, 7.658, 9.032, 10.461, 11.770, 13.098, 14.506, 15.823]),
        np.array([0, 1.174, 1.779, 2.241, 2.520, 2.740, 3.076, 3.332, 3.725, 4.014, 4.332, 4.535, 4.674]),
    ),
    "Aligator": Straying(
        np.array([0, 1.0, 3.564, 7.598, 13.81, 23.74, 39.41, 64.44, 103.8, 167.6, 268.5, 425.5, 654.4, 970.3]),
        np.array([0, 1.417, 4.193, 7.827, 13.61, 20.38, 31.62, 48.59, 74.40, 113.2, 167.2, 237.1, 306.3, 358.6]),
    ),
}
_NOISE = 0.05  # standard deviation of the sightings behind the table
_SLOW = 0.2  # up to this rate times variance, the weights of FLHFTL move so slowly that the noise level does not matter
_PHASES, _SAMPLES = 8, 400
_LOUDEST = 1e8  # beyond, simulated sightings would be larger than any that trackers take


def simulate(tracker: Tracker, n_phases: int, n_runs: int, *, noise: float = _NOISE, seed: int = 0) -> Straying:
    """Measure how far a tracker strays, on Gaussian noise around a constant vector."""
    rng = np.random.default_rng(seed)
    k = len(tracker.predict())
    sums = np.zeros((n_runs, n_phases, k))
    for run in range(n_runs):
        z = 1.0 / k + noise * rng.standard_normal((2**n_phases, k))
        estimates = _estimates(copy.deepcopy(tracker), z)
        means = np.cumsum(z, axis=0) / np.arange(1, len(z) + 1)[:, np.newaxis]
        for i in range(n_phases):
            prev = means[2**i - 1]
            sums[run, i] = ((prev - estimates[1 : 2 ** (i + 1)]) ** 2).sum(axis=0) / noise**2
    samples = sums.transpose(0, 2, 1).reshape(-1, n_phases)
    return Straying(samples.mean(axis=0), samples.std(axis=0, ddof=1))


def _estimates(tracker: Tracker, z: FloatArray) -> FloatArray:
    """Return the prediction for each round of a tracker that starts from the first sighting."""
    begin(tracker, z[0])
    predictions = np.empty_like(z)
    for t, sighting in enumerate(z):
        predictions[t] = tracker.predict()
        tracker.update(sighting)
    return predictions


def begin(tracker: Tracker, birth: FloatArray) -> None:
    """Restart a tracker, from `birth` if it can."""
    if isinstance(tracker, RestartableTracker):
        tracker.restart(birth)
    else:
        tracker.reset()


def straying(tracker: Tracker, half_octave: int) -> Straying:
    """Return how far a tracker strays in noise of a standard deviation of ``2 ** (half_octave / 2)``.

    It is looked up, or else simulated over 256 rounds: once per choice of parameters and noise level.
    """
    noise = min(2.0 ** (half_octave / 2), _LOUDEST)
    if type(tracker) is FLHFTL and tracker.rate_ * noise**2 <= _SLOW:
        return _TABLE[f"FLHFTL, {tracker.experts}"]
    if type(tracker) is Aligator:
        return _TABLE["Aligator"]
    fresh = copy.deepcopy(tracker)  # not a clone, which would lose what an adapter has bound
    fresh.reset()
    return _simulated(dumps(fresh), noise) if isinstance(fresh, Component) else _simulate(fresh, noise)


@functools.lru_cache(maxsize=64)
def _simulated(tracker: bytes, noise: float) -> Straying:
    return _simulate(loads(tracker), noise)


def _simulate(tracker: Tracker, noise: float) -> Straying:
    # Each class is one sample, so with many classes a few runs are enough.
    n_runs = min(max(math.ceil(_SAMPLES / len(tracker.predict())), 4), 100)
    return simulate(tracker, _PHASES, n_runs, noise=noise)


def extended(values: FloatArray, i: int) -> float:
    """Return entry `i` of a sequence, extrapolated beyond its end by its last growth, from log-like to linear."""
    if i < len(values):
        return float(values[i])
    step, step_before = max(values[-1] - values[-2], 0.0), values[-2] - values[-3]
    growth = min(max(step / step_before, 1.0), 2.0) if step_before > 0 else 1.0
    value = values[-1]
    for _ in range(i - len(values) + 1):
        step *= growth
        value += step
    return float(value)


def quantile(
    known: tuple[FloatArray, FloatArray],
    phase: int,
    level: float,
    freedom: float,
    noise_freedom: float,
    excess: float,
) -> float:
    """Return the quantile at `level` of the statistic in a phase, divided by the estimated noise variance.

    The statistic adds up coordinates: with `freedom` independent ones of equal Gaussian noise it is close to a gamma
    variable of the simulated mean and standard deviation; over a variance estimated with `noise_freedom` degrees of
    freedom, to an F variable. Noise whose squares vary by `excess` more than Gaussian ones (squared coefficient of
    variation) makes it vary more: sighting t has a weight of about 1/t, so by the share sum(1/t^2) / sum(1/t)^2.
    """
    mean, sd = (extended(values, phase) for values in known)
    share = (np.pi**2 / 6) / (np.log(2.0) * (phase + 1)) ** 2
    spread = max(sd / mean, 0.05) if mean > 0 else 1.0
    shape = 1.0 / (spread**2 / freedom + excess * share)
    return mean * float(fdtri(2.0 * shape, noise_freedom, level))
