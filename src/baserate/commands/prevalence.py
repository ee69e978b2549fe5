"""``baserate prevalence``: the class mix of each period of a log, with limits."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from baserate.commands.ending import FAILURE, check_page, check_writable, complain, fail
from baserate.commands.notes import kept_warnings
from baserate.commands.progress import progress_bars
from baserate.commands.reading import (
    INPUT,
    LABELS,
    OUTPUT,
    ROUNDS,
    Columns,
    Holdout,
    Logits,
    Percent,
    Positive,
    Prefix,
    Score,
    Separator,
    TimeFormat,
    check_separator_is_used,
)
from baserate.commands.streams import say
from baserate.commands.words import as_note, split_names
from baserate.files.errors import printable
from baserate.files.formats import format_names, separator_named, source_named

if TYPE_CHECKING:
    from baserate.files.labelled_log import LogJob
    from baserate.files.periods import Period
    from baserate.files.prevalence import PrevalenceResult

_MOST_LINES = 60


def prevalence(
    log: Annotated[
        str, typer.Argument(metavar="LOG", help="File of the model's probabilities (- for standard input).")
    ],
    out: Annotated[
        str | None,
        typer.Option(
            "--out", "-o", metavar="FILE", help="Output file: a row for each period and class.", show_default=False
        ),
    ] = None,
    holdout: Holdout = None,
    holdout_label: Annotated[
        str, typer.Option(metavar="COL", help="Column of labels in the holdout.", rich_help_panel=INPUT)
    ] = "label",
    prefix: Prefix = "p_",
    columns: Columns = None,
    score: Score = None,
    positive: Positive = None,
    percent: Percent = False,
    logits: Logits = False,
    separator: Separator = None,
    period: Annotated[
        str | None,
        typer.Option(
            metavar="TIME|N",
            help="Length of a period: 1d, 1w (from Monday), 1mo, or rows.  (default: 1w with --time, else 1000 rows)",
            rich_help_panel=ROUNDS,
        ),
    ] = None,
    time: Annotated[
        str | None,
        typer.Option(
            metavar="COL",
            help="Column of time stamps; rows are sorted by it. Times without an offset are UTC.",
            rich_help_panel=ROUNDS,
        ),
    ] = None,
    time_format: TimeFormat = None,
    key: Annotated[
        str | None,
        typer.Option(metavar="COL", help="Column that says which stream a row is of.", rich_help_panel=INPUT),
    ] = None,
    labels: Annotated[
        str | None,
        typer.Option(
            metavar="COL",
            help="Column of labels of audited rows, chosen at random; empty elsewhere.",
            rich_help_panel=LABELS,
        ),
    ] = None,
    level: Annotated[
        float, typer.Option(help="Level of the limits: how often they should contain the true share.")
    ] = 0.9,
    report: Annotated[
        Path | None, typer.Option(metavar="FILE", help="HTML report with plots.", rich_help_panel=OUTPUT)
    ] = None,
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
    """Estimate the class mix of each period of a log, with limits, from a model's outputs.

    baserate prevalence log.csv --holdout holdout.csv --time day --labels audit -o weeks.csv --report weeks.html
    """
    from baserate.files.labelled_log import LogJob
    from baserate.files.periods import parse_period
    from baserate.files.scales import OutputOptions, scale_named

    if holdout is None:
        fail("--holdout is missing; give a file of labelled rows that the model was not trained on.")
    if not 1e-9 <= level < 1.0:
        fail(f"--level is {level:g}; give a number strictly between 0 and 1.")
    if log == holdout == "-":
        fail("LOG and --holdout are both standard input; give a file for one of them.")
    try:
        between = separator_named(separator)
        wanted = parse_period(period or ("1w" if time is not None else "1000"))
        job = LogJob(
            log=source_named(log, format, separator=between),
            label=labels,
            holdout=source_named(holdout, option=None, separator=between),
            holdout_label=holdout_label,
            time=time,
            prefix=prefix,
            names=split_names(columns),
            outputs=OutputOptions(score, positive, scale_named(percent=percent, logits=logits)),
            time_format=time_format,
            key=key,
            scored=False,
        )
        check_separator_is_used(between, job.log, job.holdout)
        sink = None if out is None else source_named(out, option=None, to_write=True)
    except ValueError as error:
        fail(str(error))
    for option, path in (("-o", None if out in (None, "-") else Path(str(out))), ("--report", report)):
        if path is None:
            continue
        check_writable(path, option, "weeks.csv" if option == "-o" else "weeks.html")
        if any(path.resolve() == Path(name).resolve() for name in (log, holdout) if name != "-"):
            fail(f"{option} {path} is read by this run; name another file.")
    if report is not None:
        check_page(report, "--report", "weeks.html")
    if report is not None:
        try:
            from baserate.reports import figures  # noqa: F401
        except ModuleNotFoundError as error:
            fail(f"{error} (or leave --report out)")
    result = _run(job, wanted, level)
    from baserate.files.prevalence import tidy_rows, write_rows
    from baserate.reports.prevalence_doubts import WITH_AUDITS, WITHOUT_AUDITS, warnings_of

    audited = any(each.found.audited is not None for each in result.keys)
    warnings = warnings_of(result.doubts, result.log.classes.names, WITH_AUDITS if audited else WITHOUT_AUDITS)
    rows = tidy_rows(result)
    try:
        if sink is not None:
            write_rows(rows, sink)
        if report is not None:
            from baserate.reports.prevalence import write

            write(report, result, job.log.shown, warnings)
    except OSError as error:
        fail(f"could not write {error.filename or out} ({error.strerror}).", FAILURE)
    if as_json:
        found = {"log": job.log.shown, "level": level, "warnings": warnings, "periods": rows}
        say(json.dumps(found, indent=2), err=out == "-")
    else:
        _print(result, to_stderr=out == "-")
    for text in warnings:
        complain(text)
    for title, name in (("Output", out), ("Report", None if report is None else str(report))):
        if name is not None and name != "-":
            say(f"{title}: {printable(str(Path(name).resolve()))}", err=as_json or out == "-")


def _run(job: "LogJob", period: "Period", level: float) -> "PrevalenceResult":
    from baserate.files.prevalence import file_prevalence

    try:
        with progress_bars() as progress, kept_warnings() as told:
            task = progress.add_task("Reading", total=None)

            def show_progress(done: int, total: int) -> None:
                progress.update(task, description="Looking back", completed=done, total=total)

            result = file_prevalence(job, period, level=level, watch=show_progress)
    except (ValueError, TypeError, ModuleNotFoundError) as error:
        fail(as_note(" ".join(str(error).split())))
    except OSError as error:
        fail(f"could not read {error.filename or job.log.shown} ({error.strerror or error}).", FAILURE)
    for text in told:
        complain(f"note: {as_note(text, result.log.classes)}")
    if job.label is not None and result.log.y.max() < 0:
        complain(f"note: column {job.label} has no label in any row, so that there are no shares by audits.")
    if result.log.sorted:
        complain(f"note: rows were not in the order of {job.time}, and have been sorted by it.")
    return result


def _print(result: "PrevalenceResult", *, to_stderr: bool) -> None:
    from rich.console import Console

    from baserate.reports.prevalence_rows import columns, sentence, table_rows
    from baserate.reports.tables import to_rich

    console = Console(highlight=False, stderr=to_stderr)
    console.print(printable(sentence(result)), markup=False, soft_wrap=True)
    console.print()
    rows = [{**row, "period": _short(str(row["period"]))} for row in table_rows(result)]
    audited = any(each.found.audited is not None for each in result.keys)
    group = "key" if result.log.keys is not None else ""
    shown = columns(audited, short=True, one_class=len(result.log.classes.names) == 2)
    console.print(to_rich(rows[:_MOST_LINES], shown, group=group, beside=True))
    if len(rows) > _MOST_LINES:
        console.print(f"{len(rows) - _MOST_LINES:,} more lines; name a file with -o.", markup=False)


def _short(period: str) -> str:
    """The name of a period in a narrow terminal."""
    return period.removeprefix("rows ").replace(" to ", "-") if period.startswith("rows ") else period
