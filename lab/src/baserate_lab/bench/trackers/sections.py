"""Tables behind the acceptance bars, as sections of the page."""

import numpy as np

from baserate_lab.bench.tables import to_markdown
from baserate_lab.bench.trackers import cells
from baserate_lab.bench.trackers.bars import VARIANTS, closed
from baserate_lab.bench.trackers.cells import (
    BASE,
    CALIBRATED,
    CAUSAL,
    LABELS,
    METHODS,
    ORACLE,
    SIZES,
    START,
    TOLD,
    TRANSDUCTIVE,
    TablePlan,
)
from baserate_lab.bench.trackers.findings import ResultBlock, TrackingResults, block
from baserate_lab.bench.trackers.more_bars import mean_extra
from baserate_lab.bench.trackers.sets import DISTORTIONS, SETS
from baserate_lab.bench.trackers.streams import EVEN, STILL

PREAMBLE = (
    "Streams of 1,000 rounds, drawn from a model's outputs on a target set; every method sees the same streams. All "
    "but Base, the model left alone, calibrate on the holdout first (`AutoCalibrator`) and re-weight to the mix that "
    "they track. MSE is the mean squared distance of that mix to the true one, error the share of wrong labels; "
    'differences of errors are in points of a percent. "drawn": both ends of the shift are drawn by the seed, all '
    "mixes being equally likely; otherwise it goes from an even mix to class 0 alone. A cell is a set, a shift and a "
    "number n of samples a round; MSEs are averaged over seeds before they are divided, and the better FLH-FTL is the "
    "one of the two variants (literal, window) with the lower mean in that cell. ± is one standard error: of "
    "differences over seeds, paired, since every method sees the same stream; of all else from a bootstrap over seeds."
)


def sections(kept: TrackingResults) -> list[str]:
    """All sections as headings and tables; sections without results are left out."""
    parts = {
        "Shares of MSE": _shares(kept, cells.main()),
        f"Shares of MSE on a holdout of {cells.SMALL:,}": _little_holdout(kept),
        "Errors": _errors(kept),
        "The gap in error between literal FLH-FTL and the oracle": _gaps(kept),
        "Near the limit": _limit(kept),
        "Labels": _labels(kept),
        "Miscalibrated outputs": _miscalibrated(kept),
        "No shift": _still(kept),
        "Every cell": _every_cell(kept),
    }
    return [text for title, table in parts.items() if table for text in (f"## {title}", table)]


def _shares(kept: TrackingResults, plan: TablePlan) -> str:
    """Geometric means over shifts by set and batch size."""
    mses = block(kept, plan, "mse")
    rows = []
    for data in (*SETS, "all"):
        for n in SIZES:
            some = mses.where(lambda p, data=data, n=n: p.n == n and data in (p.data, "all"))  # type: ignore[misc]
            if some.problems:
                rows.append([data, str(n), *_three(some)])
    head = ["set", "n", "causal / better", "causal / literal", "transductive / better"]
    return _with_words("Geometric means over shifts.", head, rows)


def _three(some: ResultBlock) -> list[str]:
    found = (some.geometric(*of) for of in ((CAUSAL, VARIANTS), (CAUSAL, [START]), (TRANSDUCTIVE, VARIANTS)))
    return [share.shown() for share in found]


def _little_holdout(kept: TrackingResults) -> str:
    """Small holdout beside the whole holdout, in the same cells."""
    little = block(kept, cells.small(), "mse")
    whole = block(kept, [(p._replace(holdout=0), methods) for p, methods in cells.small()], "mse")
    rows = []
    for data in (*SETS, "all"):
        for holdout, found in ((f"{cells.SMALL:,}", little), ("all", whole)):
            some = found.where(lambda p, data=data: data in (p.data, "all"))  # type: ignore[misc]
            if little.problems and some.problems:
                rows.append([data, holdout, *_three(some)])
    head = ["set", "holdout", "causal / better", "causal / literal", "transductive / better"]
    return _with_words(
        "n = 10, the five shifts without drawn ends; beside the same cells on the whole holdout.", head, rows
    )


def _errors(kept: TrackingResults) -> str:
    """Mean error of every method, by set and batch size."""
    errors = block(kept, cells.main(), "error")
    rows = []
    for data in (*SETS, "all"):
        for n in SIZES:
            some = errors.where(lambda p, data=data, n=n: p.n == n and data in (p.data, "all"))  # type: ignore[misc]
            if some.problems:
                rows.append([data, str(n), *(f"{some.of(method).mean():.2f}" for method in METHODS)])
    return _with_words("Percent, mean over shifts and seeds.", ["set", "n", *METHODS], rows)


def _gaps(kept: TrackingResults) -> str:
    """The gap in every cell."""
    errors = block(kept, cells.main(), "error")
    rows = []
    for problem in errors.problems:
        if problem.n >= 10 and problem.shift.split()[0] in ("Bernoulli", "Square"):
            some = errors.where(lambda p, at=problem: p == at)  # type: ignore[misc]
            means = [f"{some.of(method).mean():.2f}" for method in (START, CAUSAL, ORACLE)]
            rows.append([problem.data, problem.shift, str(problem.n), *means, closed(some).shown(2)])
    head = ["set", "shift", "n", f"{START} %", f"{CAUSAL} %", f"{ORACLE} %", "closed"]
    return _with_words("The oracle is told the true mix of every round.", head, rows, text=(0, 1))


def _limit(kept: TrackingResults) -> str:
    plan = cells.limit()
    errors, mses = (block(kept, plan, quantity) for quantity in ("error", "mse"))
    rows = [
        [
            problem.shift,
            str(problem.n),
            *(f"{errors.of(method)[i].mean():.2f}" for method in (CAUSAL, TOLD, ORACLE)),
            *(f"{mses.of(method)[i].mean():.4f}" for method in (CAUSAL, TOLD)),
        ]
        for i, problem in enumerate(errors.problems)
    ]
    words = (
        f"{cells.LIMIT_SET}. The filter is told both mixes and the probability to switch, 1 / sqrt(1,000) a round; it "
        "does not know where the mix is now."
    )
    head = ["shift", "n", *(f"{method} error %" for method in (CAUSAL, TOLD, ORACLE)), f"{CAUSAL} MSE", f"{TOLD} MSE"]
    return _with_words(words, head, rows)


def _labels(kept: TrackingResults) -> str:
    """MSE with different labels, and as a share of the MSE without labels."""
    columns = ("", *LABELS)
    rows = []
    for data in cells.LABELLED_SETS:
        for shift in cells.LABELLED_SHIFTS:
            plans: list[TablePlan] = [
                [(cells.TrackingProblem(data, shift, 10, labels=known), (CAUSAL,))] for known in columns
            ]
            found = [block(kept, plan, "mse") for plan in plans]
            if all(some.problems for some in found):
                joined = ResultBlock(
                    found[0].problems, columns, np.concatenate([some.values for some in found], axis=2)
                )
                means = [f"{joined.of(known).mean():.4f}" for known in columns]
                late = joined.geometric("late", [""]).shown()
                rows.append([data, shift, *means, late, joined.geometric("some", [""]).shown()])
    words = (
        f"MSE of {CAUSAL}, n = 10: without labels; with 5 % of them 20 rounds late; with the same 5 % at once; with "
        "all at once."
    )
    head = ["set", "shift", "none", "5 % late", "5 % at once", "all at once", "late / none", "at once / none"]
    return _with_words(words, head, rows, text=(0, 1))


def _miscalibrated(kept: TrackingResults) -> str:
    rows = []
    for distortion in DISTORTIONS:
        for holdout in cells.DISTORTED_HOLDOUTS:
            found = [mean_extra(kept, distortion=distortion, holdout=holdout, data=d) for d in cells.DISTORTED_SETS]
            total = mean_extra(kept, distortion=distortion, holdout=holdout)
            if total:
                rows.append([distortion, f"{holdout:,}", *(m.shown() if m else "-" for m in (*found, total))])
    words = (
        f"Error of {CAUSAL} minus that on the outputs as they are, in points, mean over the shifts; n = 10. Too sure: "
        "logits divided by 0.4; too unsure: by 2.5; biased: a number drawn from N(0, 1) is added to each class's logit."
    )
    return _with_words(words, ["outputs", "holdout", *cells.DISTORTED_SETS, "all"], rows)


def _still(kept: TrackingResults) -> str:
    """Loss by adapting without a shift, against the unchanged and the calibrated model."""
    plans = {"all": cells.constant()}
    for holdout in cells.DISTORTED_HOLDOUTS:
        plans[f"{holdout:,}"] = [
            (problem, methods)
            for problem, methods in cells.miscalibration()
            if problem.shift == STILL and problem.holdout == holdout
        ]
    rows = []
    for holdout_size, plan in plans.items():
        errors = block(kept, plan, "error")
        for i, problem in enumerate(errors.problems):
            means = [f"{errors.of(method)[i].mean():.2f}" for method in (BASE, CALIBRATED, CAUSAL)]
            lost = [errors.difference(CAUSAL, other)[i].shown(2) for other in (BASE, CALIBRATED)]
            rows.append([problem.data, holdout_size, problem.distortion or "as they are", *means, *lost])
    words = (
        f"n = 10; error in percent. {BASE} is the model left alone, {CALIBRATED} the model with the calibration that "
        "all methods use: beside that one the difference is what following a mix that stands still costs."
    )
    head = ["set", "holdout", "outputs", BASE, CALIBRATED, CAUSAL, f"minus {BASE}", f"minus {CALIBRATED}"]
    return _with_words(words, head, rows, text=(0, 2))


def _every_cell(kept: TrackingResults) -> str:
    """MSE and error of all methods in all cells of the main table."""
    mses, errors = (block(kept, cells.main(), quantity) for quantity in ("mse", "error"))
    rows = []
    for i, problem in enumerate(mses.problems):
        tracked = [f"{mses.of(method)[i].mean():.4f}" for method in METHODS if method not in (BASE, ORACLE)]
        share = mses.ratios(CAUSAL, VARIANTS)[i]
        wrong = [f"{errors.of(method)[i].mean():.2f}" for method in METHODS]
        rows.append([problem.data, problem.shift, str(problem.n), *tracked, f"{share:.2f}", *wrong])
    short = {START: "literal", "FLH-FTL (window)": "window", CAUSAL: "causal", TRANSDUCTIVE: "transductive"}
    names = [short.get(method, method) for method in METHODS]
    head = ["set", "shift", "n", *(f"{name} MSE" for name in short.values()), "causal / better"]
    words = f"{len(EVEN)} shifts and four with drawn ends. Errors in percent."
    return _with_words(words, [*head, *(f"{name} %" for name in names)], rows, text=(0, 1))


def _with_words(words: str, head: list[str], rows: list[list[str]], *, text: tuple[int, ...] = (0,)) -> str:
    return f"{words}\n\n{to_markdown(head, rows, text=text)}" if rows else ""
