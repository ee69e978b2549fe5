"""Acceptance bars of the smaller tables: Bayes filter, labels, miscalibrated outputs, no shift."""

import numpy as np

from baserate.protocols import FloatArray
from baserate_lab.bench.trackers import cells
from baserate_lab.bench.trackers.bars import Bar, at_most, named, not_above_bar, not_run, worst_ratio_bar
from baserate_lab.bench.trackers.cells import (
    BASE,
    CALIBRATED,
    CAUSAL,
    HISTORY,
    SIZES,
    START,
    TOLD,
    WINDOW,
    TrackingProblem,
)
from baserate_lab.bench.trackers.findings import Measured, TrackingResults, block, paired
from baserate_lab.bench.trackers.sets import DISTORTIONS
from baserate_lab.bench.trackers.streams import STILL


def limit_bars(kept: TrackingResults) -> list[Bar]:
    """Bars on the distance to a Bayes filter that is told both mixes and the switching rate."""
    bars = []
    for shift in cells.LIMIT_SHIFTS:
        for n in SIZES:
            text = f"{cells.LIMIT_SET}, {shift}, n = {n}: error minus that of a Bayes filter told mixes and rate"
            found = block(kept, [(TrackingProblem(cells.LIMIT_SET, shift, n), (CAUSAL, TOLD))], "error")
            if found.problems:
                bars.append(at_most(text, 0.4, found.difference(CAUSAL, TOLD)[0], " points"))
            else:
                bars.append(not_run(text, "<= 0.4 points"))
    return bars


def label_bars(kept: TrackingResults) -> list[Bar]:
    """Bar with all labels at once: the MSE must not exceed that of methods with the same labels."""
    plan = [entry for entry in cells.labels() if entry[0].labels == "all"]
    text = "all labels at once: MSE beside the lowest of FollowTheHistory and both FLH-FTL, every cell (the worst)"
    return [worst_ratio_bar(text, 1.0, block(kept, plan, "mse"), CAUSAL, (HISTORY, START, WINDOW))]


def extra_errors(kept: TrackingResults) -> tuple[tuple[TrackingProblem, ...], FloatArray]:
    """Error on distorted minus undistorted outputs, (problems, seeds), with the same holdout and stream."""
    found = block(kept, cells.miscalibration(), "error")
    ours = dict(zip(found.problems, found.of(CAUSAL), strict=True))
    extra = {
        problem: error - ours[problem._replace(distortion="")]
        for problem, error in ours.items()
        if problem.distortion and problem._replace(distortion="") in ours
    }
    return tuple(extra), np.array(list(extra.values())).reshape(len(extra), found.values.shape[1])


def mean_extra(kept: TrackingResults, **fixed: object) -> Measured | None:
    """Mean of `extra_errors` over the problems whose fields have the given values."""
    problems, extra = extra_errors(kept)
    chosen = [
        i for i, problem in enumerate(problems) if all(getattr(problem, name) == value for name, value in fixed.items())
    ]
    if not chosen:
        return None
    return paired(extra[chosen].mean(axis=0))


def miscalibration_bars(kept: TrackingResults) -> list[Bar]:
    """Bars that miscalibrated outputs cost little, and that adapting is not worse than doing nothing."""
    bars = []
    for distortion in ("", *DISTORTIONS):
        text = f"outputs {distortion or 'distorted in any way'}: error minus that on outputs as they are, mean"
        found = mean_extra(kept, distortion=distortion) if distortion else mean_extra(kept)
        bars.append(at_most(text, 0.3, found, " points") if found else not_run(text, "<= 0.3 points"))
    errors = block(kept, cells.miscalibration(), "error").where(lambda p: p.distortion != "")
    for says, still in (("a shift", False), ("no shift", True)):
        some = errors.where(lambda p, still=still: (p.shift == STILL) == still)  # type: ignore[misc]
        text = f"distorted outputs, {says}: error minus that of Base, every cell"
        bars.append(not_above_bar(text, 0.0, 2.0, some.problems, some.difference(CAUSAL, BASE)))
    return bars


def constant_bars(kept: TrackingResults) -> list[Bar]:
    """Bars that adapting costs hardly anything without a shift, against the unchanged and the calibrated model.

    Only the difference to the unchanged model includes the effect of calibration.
    """
    errors = block(kept, cells.constant(), "error")
    bars = []
    for problem, _ in cells.constant():
        some = errors.where(lambda p, at=problem: p == at)  # type: ignore[misc]
        for base in (BASE, CALIBRATED):
            text = f"no shift, {named(problem).replace(f', {STILL}', '')}: error minus that of {base}"
            if some.problems:
                bars.append(at_most(text, 0.15, some.difference(CAUSAL, base)[0], " points"))
            else:
                bars.append(not_run(text, "<= 0.15 points"))
    return bars
