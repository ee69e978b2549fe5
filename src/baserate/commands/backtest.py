"""``baserate backtest``: whether it would have helped on a labelled log of predictions."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from baserate.commands.ending import FAILURE, check_writable, complain, fail
from baserate.commands.progress import progress_bars
from baserate.commands.streams import say
from baserate.commands.words import as_note, split_names
from baserate.files.errors import printable
from baserate.files.formats import format_names, source_named

if TYPE_CHECKING:
    from baserate.backtesting import Backtest
    from baserate.files.labelled_log import LabelledLog, LogJob


def backtest(
    log: Annotated[str, typer.Argument(metavar="LOG", help="File of probabilities and labels (- for standard input).")],
    label: Annotated[str, typer.Option(metavar="COL", help="Column of the true labels, empty where unknown.")],
    holdout: Annotated[
        str | None, typer.Option(metavar="FILE", help="Labelled rows that the model was not trained on.")
    ] = None,
    holdout_share: Annotated[
        float | None,
        typer.Option(
            metavar="SHARE", help="Without --holdout: the share of LOG, its first rows, to use as one.  (default: 0.2)"
        ),
    ] = None,
    holdout_label: Annotated[
        str | None, typer.Option(metavar="COL", help="Column of labels in the holdout.  (default: as in LOG)")
    ] = None,
    prefix: Annotated[str, typer.Option(help="Prefix of the columns of probabilities.")] = "p_",
    columns: Annotated[str | None, typer.Option(metavar="A,B,...", help="Columns of probabilities, by name.")] = None,
    rounds: Annotated[
        str,
        typer.Option(
            metavar="N|TIME|auto",
            help="Length of a round: rows, or a time such as 15min or 7d; auto: about 200 rounds.",
        ),
    ] = "auto",
    time: Annotated[
        str | None, typer.Option(metavar="COL", help="Column of time stamps; rows are sorted by it.")
    ] = None,
    methods: Annotated[
        list[str] | None,
        typer.Option(metavar="A,B,...", help="Compare these trackers only, named as in the table, or none."),
    ] = None,
    report: Annotated[Path | None, typer.Option(metavar="FILE", help="HTML report with plots.")] = None,
    level: Annotated[
        float, typer.Option(help="Level of the intervals: how often they should contain the true difference.")
    ] = 0.95,
    seed: Annotated[int, typer.Option(min=0, help="The same seed gives the same intervals.")] = 0,
    format: Annotated[  # noqa: A002
        str | None, typer.Option(help=f"Format of LOG: {format_names(last=' or ')}.  (default: by its suffix)")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Would this have helped? Replay a labelled log of a model's predictions, and say in one sentence what to do.

    baserate backtest log.csv --label truth --report backtest.html
    """
    from baserate.files.labelled_log import LogJob
    from baserate.files.rounds import parse_round_length

    if holdout is not None and holdout_share is not None:
        fail("--holdout and --holdout-share are two ways to the same; give one of them.")
    if not 1e-9 <= level < 1.0:  # below, an interval is a point
        fail(f"--level is {level:g}; give a number strictly between 0 and 1.")
    if log == holdout == "-":
        fail("LOG and --holdout are both standard input; give a file for one of them.")
    try:
        job = LogJob(
            log=source_named(log, format),
            label=label,
            holdout=None if holdout is None else source_named(holdout, option=None),
            holdout_label=holdout_label or label,
            share=0.2 if holdout_share is None else holdout_share,
            rounds=parse_round_length(rounds),
            time=time,
            prefix=prefix,
            names=split_names(columns),
        )
    except ValueError as error:
        fail(str(error))
    if report is not None:
        check_writable(report, "--report", "backtest.html")
        if any(report.resolve() == Path(name).resolve() for name in (log, holdout) if name not in (None, "-")):
            fail(f"--report {report} is read by this run; name another file.")
        try:
            from baserate.reports import figures  # noqa: F401
        except ModuleNotFoundError as error:
            fail(f"{error} (or leave --report out)")
    read, found = _run(job, _tracker_names(methods), level, seed)
    if report is not None:
        from baserate.reports.backtest import write

        try:
            write(report, found, job.log.shown)
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


def _run(job: "LogJob", methods: list[str] | None, level: float, seed: int) -> tuple["LabelledLog", "Backtest"]:
    from baserate.backtesting import backtest as replay
    from baserate.files.labelled_log import read_log

    try:
        with progress_bars() as progress:
            task = progress.add_task("Reading", total=None)
            read = read_log(job)

            def show_progress(method: str, done: int, total: int) -> None:
                progress.update(task, description=f"Replaying: {method}", completed=done, total=total)

            return read, replay(
                read.proba,
                read.y,
                holdout=read.holdout,
                rounds=read.starts,
                idle=read.idle,
                methods=methods,
                names=read.classes.names,
                level=level,
                seed=seed,
                watch=show_progress,
            )
    except (ValueError, TypeError, ModuleNotFoundError) as error:
        fail(" ".join(str(error).split()))
    except OSError as error:
        fail(f"could not read {error.filename or job.log.shown} ({error.strerror or error}).", FAILURE)


def _print_result(read: "LabelledLog", found: "Backtest", job: "LogJob", as_json: bool) -> None:
    from baserate.reports.backtest_rows import IN_SHORT, facts, plain, rows

    if read.sorted:
        complain(f"note: rows were not in the order of {job.time}, and have been sorted by it.")
    for note in found.notes:
        complain(f"note: {as_note(note)}")
    if as_json:
        say(json.dumps({"log": job.log.shown} | plain(found), indent=2))
        return
    from rich.console import Console

    from baserate.reports.tables import to_rich

    console = Console(highlight=False)
    console.print(printable(found.sentence), markup=False, soft_wrap=True)
    console.print()
    console.print(to_rich(rows(found, job.log.shown), IN_SHORT, group="log", mark="default"))
    console.print()
    for fact in facts(found):
        console.print(printable(fact), markup=False, soft_wrap=True)
