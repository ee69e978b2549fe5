"""``baserate backtest``: whether it would have helped on a labelled log of predictions."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from baserate.commands.ending import FAILURE, check_page, complain, fail
from baserate.commands.notes import kept_warnings
from baserate.commands.progress import progress_bars
from baserate.commands.reading import (
    COMPARISON,
    INPUT,
    OUTPUT,
    ROUNDS,
    Columns,
    Costs,
    Holdout,
    Logits,
    Percent,
    Positive,
    Prefix,
    Score,
    Separator,
    Threshold,
    TimeFormat,
    check_separator_is_used,
)
from baserate.commands.streams import say
from baserate.commands.words import as_note, split_names
from baserate.files.errors import printable, shortened
from baserate.files.formats import format_names, separator_named, source_named

if TYPE_CHECKING:
    from baserate.backtesting import Backtest
    from baserate.files.costs import DecisionOptions
    from baserate.files.labelled_log import LabelledLog, LogJob

_MEASURES = ("error", "cost", "log-loss", "brier")


def backtest(
    log: Annotated[str, typer.Argument(metavar="LOG", help="File of probabilities and labels (- for standard input).")],
    label: Annotated[str, typer.Option(metavar="COL", help="Column of the true labels, empty where unknown.")],
    holdout: Holdout = None,
    holdout_share: Annotated[
        float | None,
        typer.Option(
            metavar="SHARE",
            help="Without --holdout: the share of LOG, its first rows, to use as one.  (default: 0.2)",
            rich_help_panel=INPUT,
        ),
    ] = None,
    holdout_label: Annotated[
        str | None,
        typer.Option(
            metavar="COL", help="Column of labels in the holdout.  (default: as in LOG)", rich_help_panel=INPUT
        ),
    ] = None,
    prefix: Prefix = "p_",
    columns: Columns = None,
    score: Score = None,
    positive: Positive = None,
    percent: Percent = False,
    logits: Logits = False,
    separator: Separator = None,
    rounds: Annotated[
        str,
        typer.Option(
            metavar="N|TIME|auto",
            help="Length of a round: rows, or a time such as 15min or 7d; auto: about 200 rounds.",
            rich_help_panel=ROUNDS,
        ),
    ] = "auto",
    time: Annotated[
        str | None,
        typer.Option(
            metavar="COL",
            help="Column of time stamps; rows are sorted by it. Times without an offset are UTC.",
            rich_help_panel=ROUNDS,
        ),
    ] = None,
    time_format: TimeFormat = None,
    methods: Annotated[
        list[str] | None,
        typer.Option(
            metavar="A,B,...",
            help="Trackers to compare, by their names in the table; none for no others.",
            rich_help_panel=COMPARISON,
        ),
    ] = None,
    costs: Costs = None,
    threshold: Threshold = None,
    by: Annotated[
        str | None,
        typer.Option(
            metavar="MEASURE",
            help="Measure of the verdict: error, cost, log-loss or brier.  (default: cost with --costs or --threshold, "
            "else error)",
            rich_help_panel=COMPARISON,
        ),
    ] = None,
    report: Annotated[
        Path | None, typer.Option(metavar="FILE", help="HTML report with plots.", rich_help_panel=OUTPUT)
    ] = None,
    level: Annotated[
        float,
        typer.Option(
            help="Level of the intervals: how often they should contain the true difference.",
            rich_help_panel=COMPARISON,
        ),
    ] = 0.95,
    seed: Annotated[
        int, typer.Option(min=0, help="Seed of the bootstrap behind the intervals.", rich_help_panel=COMPARISON)
    ] = 0,
    format: Annotated[  # noqa: A002
        str | None,
        typer.Option(
            help=f"Format of LOG: {format_names(last=' or ')}.  (default: by its suffix)", rich_help_panel=INPUT
        ),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print JSON instead of a table.", rich_help_panel=OUTPUT)
    ] = False,
) -> None:
    """Would this have helped? Replay a labelled log of a model's predictions, and say in one sentence what to do.

    baserate backtest log.csv --label truth --report backtest.html
    """
    from baserate.files.costs import parse_decisions
    from baserate.files.labelled_log import LogJob
    from baserate.files.rounds import parse_round_length
    from baserate.files.scales import OutputOptions, scale_named

    if holdout is not None and holdout_share is not None:
        fail("--holdout and --holdout-share are two ways to the same; give one of them.")
    if not 1e-9 <= level < 1.0:  # below, an interval is a point
        fail(f"--level is {level:g}; give a number strictly between 0 and 1.")
    if log == holdout == "-":
        fail("LOG and --holdout are both standard input; give a file for one of them.")
    if by is not None and by not in _MEASURES:
        fail(f"--by is {by}; choose one of {', '.join(_MEASURES)}.")
    if by == "cost" and costs is None and threshold is None:
        fail("--by cost needs to know what mistakes cost; add --costs, such as --costs 1:20.")
    try:
        between = separator_named(separator)
        decisions = parse_decisions(costs, threshold, positive)
        job = LogJob(
            log=source_named(log, format, separator=between),
            label=label,
            holdout=None if holdout is None else source_named(holdout, option=None, separator=between),
            holdout_label=holdout_label or label,
            share=0.2 if holdout_share is None else holdout_share,
            rounds=parse_round_length(rounds),
            time=time,
            prefix=prefix,
            names=split_names(columns),
            outputs=OutputOptions(score, positive, scale_named(percent=percent, logits=logits)),
            time_format=time_format,
        )
        check_separator_is_used(between, job.log, job.holdout)
    except ValueError as error:
        fail(str(error))
    if report is not None:
        if any(report.resolve() == Path(name).resolve() for name in (log, holdout) if name not in (None, "-")):
            fail(f"--report {report} is read by this run; name another file.")
        check_page(report, "--report", "backtest.html")
        try:
            from baserate.reports import figures  # noqa: F401
        except ModuleNotFoundError as error:
            fail(f"{error} (or leave --report out)")
    read, found = _run(job, decisions, methods=_tracker_names(methods), by=by, level=level, seed=seed)
    if report is not None:
        from baserate.reports.backtest import write

        try:
            write(report, found, job.log.shown, read.times)
        except OSError as error:
            fail(f"could not write the report to {report} ({error.strerror}).", FAILURE)
    _print_result(read, found, job, as_json)
    if report is not None:
        say(f"Report: {printable(str(report.resolve()))}", err=as_json)


def _tracker_names(methods: list[str] | None) -> list[str] | None:
    """``--methods a,b`` and ``--methods a --methods b``; ``none`` stands for no tracker at all."""
    if methods is None:
        return None
    names = [name.strip() for part in methods for name in part.split(",")]
    return [] if names == ["none"] else names


def _run(job: "LogJob", decisions: "DecisionOptions", **settings: Any) -> tuple["LabelledLog", "Backtest"]:
    from baserate.backtesting import backtest as replay
    from baserate.files.costs import rule_for
    from baserate.files.formats import check_readable
    from baserate.files.labelled_log import read_log

    classes = None
    try:
        with progress_bars() as progress:
            task = progress.add_task("Reading", total=None)
            check_readable(decisions.table)
            with kept_warnings() as told:
                read = read_log(job)
                classes = read.classes
                rule = rule_for(decisions, classes)  # which may note how its file is read

            def show_progress(method: str, done: int, total: int) -> None:
                progress.update(task, description=f"Replaying: {method}", completed=done, total=total)

            found = replay(
                read.proba,
                read.y,
                holdout=read.holdout,
                rounds=read.starts,
                idle=read.idle,
                names=read.classes.names,
                costs=rule.costs if rule.threshold is None else None,
                threshold=rule.threshold,
                positive=rule.positive,
                decisions=rule.decisions[len(read.classes.names) :],
                watch=show_progress,
                **settings,
            )
        for text in told:
            complain(f"note: {text}")
        return read, found._replace(notes=tuple(as_note(note, classes) for note in found.notes))
    except (ValueError, TypeError, ModuleNotFoundError) as error:
        fail(as_note(" ".join(str(error).split()), classes))
    except OSError as error:
        fail(f"could not read {error.filename or job.log.shown} ({error.strerror or error}).", FAILURE)


def _print_result(read: "LabelledLog", found: "Backtest", job: "LogJob", as_json: bool) -> None:
    from baserate.reports.backtest_rows import facts, in_short, plain, rows

    if read.sorted:
        complain(f"note: rows were not in the order of {job.time}, and have been sorted by it.")
    for note in found.notes:
        complain(f"note: {note}")
    if as_json:
        say(json.dumps({"log": job.log.shown} | plain(found), indent=2))
        return
    from rich.console import Console

    from baserate.reports.tables import to_rich

    console = Console(highlight=False)
    console.print(printable(found.sentence), markup=False, soft_wrap=True)
    console.print()
    table = rows(found, shortened(job.log.shown, 23))
    console.print(to_rich(table, in_short(found, table), group="log", mark="default", beside=True))
    console.print()
    for fact in facts(found):
        console.print(printable(fact), markup=False, soft_wrap=True)
