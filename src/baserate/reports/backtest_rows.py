"""The results of a backtest as tidy rows, as plain data, and in words."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from baserate._version import __version__
from baserate.backtesting import Backtest, Change, Score
from baserate.backtesting.measures import MEASURES, PER, Measure
from baserate.backtesting.methods import CALIBRATED, DEFAULT, HINDSIGHT, NOTHING, TUNED
from baserate.backtesting.played import SMALLEST
from baserate.files.adapting.story import called
from baserate.reports.tables import Column, Row

_WIDTH = 80  # of a terminal
_RARE = 0.05  # a class of which there is less is easily forgotten by the error
_METHOD = Column("method", "method", str)
_ERROR = Column("error %", "error", lambda value: f"{100 * value:.2f}")
_LOG_LOSS = (
    Column("log loss", "log_loss", lambda value: f"{value:.3f}"),
    Column("change of log loss", "log_loss_change", lambda change: limits(change, 1.0, 3)),
)
_BRIER = (
    Column("Brier score", "brier", lambda value: f"{value:.4f}"),
    Column("change of Brier score", "brier_change", lambda change: limits(change, 1.0, 4)),
)
_RATES = (
    Column("precision", "precision", lambda value: f"{value:.3f}"),
    Column("recall", "recall", lambda value: f"{value:.3f}"),
    Column("F1", "f1", lambda value: f"{value:.3f}"),
)


def in_short(found: Backtest, table: Sequence[Row]) -> list[Column]:
    """The columns for the terminal: those that matter for what was asked, as many as it is wide enough for."""
    if found.by == "cost":
        chosen = [_METHOD, *_cost(found, short=True), *_RATES]
    elif found.by == "error":
        change = Column("change, in points", "error_change", lambda change: limits(change, 100.0, 1))
        narrow = _ERROR._replace(title="error\n%")
        decides = found.rule.costs is not None
        chosen = [_METHOD, narrow, change, *_RATES] if decides else [_METHOD, _ERROR, change, _LOG_LOSS[0]]
    else:
        chosen = [_METHOD, *(_LOG_LOSS if found.by == "log-loss" else _BRIER), _ERROR]
    while len(chosen) > 3 and _width(chosen, table) > _WIDTH:
        chosen.pop()
    return chosen


def columns(found: Backtest) -> tuple[list[Column], list[Column]]:
    """The columns of the report: of those that were asked for, and of the others, for a page has no room for all."""
    error = (
        _ERROR,
        Column("change, in points", "error_change", lambda change: limits(change, 100.0, 2)),
        Column("mistakes avoided", "better", lambda value: f"{value:,}"),
        Column("new mistakes", "worse", lambda value: f"{value:,}"),
    )
    if found.rule.costs is None:
        others = {"rates": _RATES, "log-loss": _LOG_LOSS, "brier": _BRIER}
        asked = others.pop(found.by, None) or others.pop("rates")
        return [_METHOD, *error, *asked], [_METHOD, *(column for group in others.values() for column in group)]
    cost = MEASURES["cost"]
    like = cost.of(found.score(NOTHING))
    expected = Column("expected cost", "expected_cost", lambda value: cost.shown(value, like))
    return [_METHOD, *_cost(found), *_RATES, expected], [_METHOD, *error, *_LOG_LOSS, *_BRIER]


def _cost(found: Backtest, *, short: bool = False) -> tuple[Column, Column]:
    measure = MEASURES["cost"]
    like = measure.of(found.score(NOTHING))
    return (
        # On two lines of the terminal, because the numbers are short.
        Column(f"cost /\n{PER:,}" if short else measure.title, "cost", lambda value: measure.shown(value, like)),
        Column("change" if short else "change of cost", "cost_change", lambda change: _limits(measure, change, like)),
    )


def _limits(measure: Measure, change: Change, like: float) -> str:
    return f"{measure.shown_change(change, like).removesuffix(measure.points)} ({measure.limits(change, like)})"


def _width(chosen: Sequence[Column], table: Sequence[Row]) -> int:
    """The width of the terminal's table: two spaces and a line between columns, and the first indented and marked."""
    widths = [
        max(*(len(line) for line in column.title.split("\n")), *(len(column.cell(row)) for row in table))
        for column in chosen
    ]
    return sum(widths) + 3 * len(chosen) - 1 + len("  ")


def limits(change: Change, times: float, digits: int) -> str:
    """A change and its limits."""
    value, low, high = (f"{times * part:+.{digits}f}" for part in change)
    return f"{value} ({low} to {high})"


def rows(found: Backtest, log: str) -> list[dict[str, Any]]:
    """A row for each method; of doing nothing, changes are None."""
    return [
        score._asdict()
        | {"log": log, "default": score.method == DEFAULT}
        | (
            dict.fromkeys(("error_change", "log_loss_change", "brier_change", "cost_change", "better", "worse"))
            if score.method == NOTHING
            else {}
        )
        for score in found.scores
    ]


def facts(found: Backtest) -> list[str]:
    """Further facts about a backtest, in sentences."""
    nothing = found.played[NOTHING]
    n, labelled, rounds = len(found.log.y), int(nothing.n.sum()), found.log.n_rounds
    sizes = np.diff(found.log.starts)
    size = f"{int(np.median(sizes)):,} rows" if np.ptp(sizes[:-1]) == 0 else f"{sizes.min():,} to {sizes.max():,} rows"
    others = len(found.scores) - 3 - (found.tuned is not None)  # without doing nothing, the default, hindsight
    said = [
        f"{found.n_holdout:,} rows are the holdout, and {n:,} were replayed in {rounds:,} rounds of {size}, without "
        "labels."
    ]
    if labelled < n:
        said.append(
            f"Only the {labelled:,} rows with a label are scored. If these are not a random part of the log, the "
            "result may not hold for the rest."
        )
    said += _decisions(found)
    said.append(
        f"Changes are to doing nothing, with {100 * found.level:g} % intervals from {found.resamples:,} resamples of "
        f"blocks of {found.block} rounds."
    )
    if others > 1:
        said.append(
            f"The sentence is about the default alone. The other {others} methods are context: the best of so many may "
            "look good by chance. Choose one of them only if it also wins on another log."
        )
    said.append(
        f"'{HINDSIGHT}' is told the labels of the {found.neighbours:,} rounds before and after each round, which "
        "nobody has in time. All other methods see no label after the holdout."
    )
    said += _anchors(found)
    held = float(found.trust.held_back.mean())
    if held > 0:
        said.append(f"The default reduced its correction in {100 * held:.0f} % of the rounds.")
    said += [f"Left out: {name}, because {why}; ask for it with --methods." for name, why in found.left_out.items()]
    return said


def _decisions(found: Backtest) -> list[str]:
    """The way in which decisions are taken, and what precision and recall are of."""
    rule, names = found.rule, found.names
    said = []
    positive = None if rule.positive is None else names[rule.positive]
    if rule.costs is not None:
        if rule.threshold is None:
            said.append("Each row gets the decision that costs least by the method's probabilities, and its real cost.")
        else:
            said.append(f"The decision is {positive} where its probability is at least {rule.threshold:g}.")
            said.append(_implied(found, rule.threshold))
        cost, nothing, default = MEASURES["cost"], found.score(NOTHING), found.score(DEFAULT)
        shown = [cost.shown(one.expected_cost or 0.0, cost.of(nothing)) for one in (nothing, default)]
        said.append(
            f"Expected cost per {PER:,} rows, by the probabilities themselves: {shown[0]} doing nothing, {shown[1]} "
            "with the default. The nearer to the real cost, the better the probabilities."
        )
        further = rule.decisions[len(names) :]
        if further:
            counts = found.score(DEFAULT).decided[len(names) :]
            shares = [f"{name} for {count:,} rows" for name, count in zip(further, counts, strict=True)]
            said.append(
                f"The default decided {' and '.join(shares)}; this counts neither as a mistake nor as finding a class."
            )
        said.append(f"Precision and recall are {f'of {called(positive)}' if positive else 'means over the classes'}.")
        return said
    counts = found.played[NOTHING].decided.sum(axis=1)
    rare = int(counts.argmin())
    share = counts[rare] / counts.sum()
    if len(names) == 2 and share < _RARE and found.by == "error":
        said.append(
            f"Only {100 * share:.2g} % of the labels are {called(names[rare])}: the error rate says little about "
            f"such a rare class. Give the costs of mistakes, such as --costs 1:20 --positive {names[rare]}."
        )
    return said


def _implied(found: Backtest, threshold: float) -> str:
    """The costs that a threshold stands for, and whether the verdict is by them."""
    dear, cheap = f"a missed {found.names[found.rule.positive or 0]}", "a false alarm"
    odds = threshold / (1.0 - threshold)
    if odds > 1.0:
        dear, cheap = cheap, dear
    much = "as much as" if threshold == 0.5 else f"{max(odds, 1.0 / odds):.6g} times"
    means = f"A threshold of {threshold:g} means that {dear} costs {much} {cheap}"
    if found.by == "error" and threshold != 0.5:
        return f"{means}, but the error counts both alike. For a verdict by that cost, leave out --by error."
    by = "the verdict is by that cost" if found.by == "cost" else "that is the cost shown"
    return f"{means}: {by} (a false alarm counts 1). If your mistakes cost otherwise, give --costs instead."


def _anchors(found: Backtest) -> list[str]:
    """The part of the gain that simpler means would have had."""
    measure, default, calibrated = found.measure, found.score(DEFAULT), found.score(CALIBRATED)
    like = measure.of(found.score(NOTHING))

    def beside(gives: str, anchor: Score, beyond: Change) -> str:
        return (
            f"{gives} {measure.shown(measure.of(anchor), like)}; the default's difference to that is "
            f"{_limits(measure, beyond, like)}{measure.points}"
        ) + ("." if beyond.clear else ", which could be chance.")

    said = []
    if found.tuned is not None and found.beyond_tuned is not None and found.by in ("error", "cost"):
        threshold = found.tuned.threshold or 0.0
        at = f"to {threshold:.3g}" if math.isfinite(threshold) else "out of reach"
        gives = f"Moving the threshold once, {at}, by what costs least on the holdout, gives {measure.title}"
        said.append(beside(gives, found.score(TUNED), found.beyond_tuned))
    if measure.change_of(calibrated).clear and measure.change_of(default).clear:
        gives = f"Calibrating the model on the holdout, without following the class mix, gives {measure.title}"
        said.append(beside(gives, calibrated, found.beyond_calibration))
    return said


def reading(found: Backtest) -> dict[str, str]:
    """Explanations of the columns of decisions, for the report."""
    rule, k = found.rule, len(found.names)
    of = "the classes, as a mean," if rule.positive is None else found.names[rule.positive]
    said = {
        "precision, recall, F1": f"of {of}: the share of the decisions for it that were right, the share of its rows "
        "that were found, and twice their product over their sum.",
        "Brier score": "mean squared distance between probabilities and label"
        + (", for two classes halved." if k == 2 else "."),
    }
    if rule.costs is not None:
        said["cost"] = f"real cost of the decisions per {PER:,} rows with a label, " + (
            "by the costs that were given; every method takes the decision with the least expected cost by its own "
            "probabilities."
            if rule.threshold is None
            else "by the costs that the threshold implies (a false alarm counts 1); every method decides by the same "
            "threshold on its own probabilities."
        )
        said["expected cost"] = "what the method's own probabilities expect; near the real cost where they are right."
    return said


def plain(found: Backtest) -> dict[str, Any]:
    """Everything that programs may want to know, as plain data."""
    trust = found.trust
    return {
        "baserate": __version__,
        "verdict": found.verdict,
        "by": found.by,
        "sentence": found.sentence,
        "classes": list(found.names),
        "positive": None if found.rule.positive is None else found.names[found.rule.positive],
        "threshold": found.rule.threshold,
        "decisions": list(found.rule.decisions),
        "costs": None if found.rule.costs is None else found.rule.costs.tolist(),
        "tuned_threshold": None if found.tuned is None else _finite(found.tuned.threshold or 0.0),
        "holdout_rows": found.n_holdout,
        "rows": len(found.log.y),
        "labelled_rows": int(found.played[NOTHING].n.sum()),
        "rounds": found.log.n_rounds,
        "level": found.level,
        "resamples": found.resamples,
        "block_rounds": found.block,
        "seed": found.seed,
        "smallest_probability": SMALLEST,
        "hindsight_neighbours": found.neighbours,
        "alarm_since_round": None if trust.since is None else trust.since + 1,
        "alarm_why": trust.why,
        "label_shift_untested": trust.untested,
        "evidence": _finite(float(trust.evidence[-1])),
        "held_back_share": float(trust.held_back.mean()),
        "methods": [
            {name: value._asdict() if isinstance(value, Change) else value for name, value in score._asdict().items()}
            | {"decided": dict(zip(found.rule.decisions, score.decided, strict=True))}
            for score in found.scores
        ],
        "beyond_calibration": found.beyond_calibration._asdict(),
        "beyond_tuned": None if found.beyond_tuned is None else found.beyond_tuned._asdict(),
        "left_out": found.left_out,
        "notes": list(found.notes),
    }


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
