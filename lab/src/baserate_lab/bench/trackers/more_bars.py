"""What must come out of the smaller tables: the limit, labels, dishonest outputs, no shift."""

import numpy as np

from baserate.protocols import FloatArray
from baserate_lab.bench.trackers import cells
from baserate_lab.bench.trackers.bars import Bar, at_most, named, not_above_bar, not_run, worst_ratio_bar
from baserate_lab.bench.trackers.cells import BASE, CALIBRATED, CAUSAL, HISTORY, SIZES, START, TOLD, WINDOW, Problem
from baserate_lab.bench.trackers.findings import Kept, Measured, block, paired
from baserate_lab.bench.trackers.sets import DISTORTIONS
from baserate_lab.bench.trackers.streams import STILL


def limit_bars(kept: Kept) -> list[Bar]:
    """How far from a filter that is told both mixes and the rate."""
    bars = []
    for shift in cells.LIMIT_SHIFTS:
        for n in SIZES:
            text = f"{cells.LIMIT_SET}, {shift}, n = {n}: error minus that of a Bayes filter told mixes and rate"
            found = block(kept, [(Problem(cells.LIMIT_SET, shift, n), (CAUSAL, TOLD))], "error")
            if found.problems:
                bars.append(at_most(text, 0.4, found.difference(CAUSAL, TOLD)[0], " points"))
            else:
                bars.append(not_run(text, "<= 0.4 points"))
    return bars


def label_bars(kept: Kept) -> list[Bar]:
    """With all labels at once, at most the error of those who are fed the same."""
    plan = [entry for entry in cells.labels() if entry[0].labels == "all"]
    text = "all labels at once: MSE beside the lowest of FollowTheHistory and both FLH-FTL, every cell (the worst)"
    return [worst_ratio_bar(text, 1.0, block(kept, plan, "mse"), CAUSAL, (HISTORY, START, WINDOW))]


def extra_errors(kept: Kept) -> tuple[tuple[Problem, ...], FloatArray]:
    """(problems, seeds) error on distorted outputs minus that on the outputs as they are: same holdout, same stream."""
    found = block(kept, cells.miscalibration(), "error")
    ours = dict(zip(found.problems, found.of(CAUSAL), strict=True))
    extra = {
        problem: error - ours[problem._replace(distortion="")]
        for problem, error in ours.items()
        if problem.distortion and problem._replace(distortion="") in ours
    }
    return tuple(extra), np.array(list(extra.values())).reshape(len(extra), found.values.shape[1])


def mean_extra(kept: Kept, **fixed: object) -> Measured | None:
    """The mean of `extra_errors` over the problems that have certain fields."""
    problems, extra = extra_errors(kept)
    chosen = [
        i for i, problem in enumerate(problems) if all(getattr(problem, name) == value for name, value in fixed.items())
    ]
    if not chosen:
        return None
    return paired(extra[chosen].mean(axis=0))


def miscalibration_bars(kept: Kept) -> list[Bar]:
    """Dishonest outputs must cost little, and adapting must not be worse than doing nothing."""
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


def constant_bars(kept: Kept) -> list[Bar]:
    """While nothing shifts, adapting must cost hardly anything: beside the model left alone, and beside it calibrated.

    What calibration itself costs, or gains, is in the first and not in the second.
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
