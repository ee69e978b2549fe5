"""``baserate adapt``: a user's own file of probabilities."""

import gc
import json
import signal
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Annotated, Any

import typer

from baserate.commands.ending import FAILURE, check_writable, complain, fail
from baserate.commands.notes import kept_warnings
from baserate.commands.progress import progress_bars
from baserate.commands.reading import (
    INPUT,
    LABELS,
    MAX_BYTES,
    OUTPUT,
    ROUNDS,
    STATE,
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
from baserate.files.errors import printable
from baserate.files.formats import format_names, separator_named, source_named

if TYPE_CHECKING:
    from baserate.files.adapting import AdaptJob, AdaptResult


def adapt(
    stream: Annotated[
        str, typer.Argument(metavar="STREAM", help="File of the model's probabilities (- for standard input).")
    ],
    out: Annotated[
        str,
        typer.Option("--out", "-o", metavar="FILE", help="Output file (- for standard output)."),
    ],
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
    rounds: Annotated[
        str,
        typer.Option(
            metavar="N|TIME|auto",
            help="Length of a round: rows, or a time such as 15min, 1h or 7d; auto: 100 rows, more in a large file.",
            rich_help_panel=ROUNDS,
        ),
    ] = "auto",
    time: Annotated[
        str | None,
        typer.Option(
            metavar="COL",
            help="Column of time stamps, in order. Times without an offset are UTC.",
            rich_help_panel=ROUNDS,
        ),
    ] = None,
    time_format: TimeFormat = None,
    key: Annotated[
        str | None,
        typer.Option(metavar="COL", help="Track one class mix per value of this column.", rich_help_panel=ROUNDS),
    ] = None,
    labels: Annotated[
        str | None,
        typer.Option(metavar="COL", help="Column of labels in STREAM, empty where unknown.", rich_help_panel=LABELS),
    ] = None,
    id: Annotated[  # noqa: A002
        str | None, typer.Option(metavar="COL", help="Column of row ids, which must be unique.", rich_help_panel=LABELS)
    ] = None,
    wait: Annotated[
        int,
        typer.Option(
            metavar="N", help="How many rows to remember for late labels (needs --id).", rich_help_panel=LABELS
        ),
    ] = 0,
    late: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="File of late labels for remembered rows: columns of --id and of --late-label.",
            rich_help_panel=LABELS,
        ),
    ] = None,
    late_label: Annotated[
        str | None,
        typer.Option(
            metavar="COL",
            help="Column of labels in the file of --late.  (default: that of --labels, else label)",
            rich_help_panel=LABELS,
        ),
    ] = None,
    late_probability: Annotated[
        str | None,
        typer.Option(
            metavar="COL",
            help="Column of the probability with which a row was chosen for its label, in the file of --late.  "
            "(default: that of a file of --ask)",
            rich_help_panel=LABELS,
        ),
    ] = None,
    ask: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="Write a file of the N rows whose labels would tell most; fill it in, and give it to --late (needs "
            "--id, --wait and --state).",
            rich_help_panel=LABELS,
        ),
    ] = None,
    ask_file: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="File of --ask.  (default: OUT.ask.csv)", rich_help_panel=LABELS),
    ] = None,
    costs: Costs = None,
    threshold: Threshold = None,
    hindsight: Annotated[
        bool,
        typer.Option(
            "--hindsight",
            help="STREAM is complete: predict each round by the class mix of all rounds (the whole file in memory).",
            rich_help_panel=ROUNDS,
        ),
    ] = False,
    state: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Keep the state in this file; resumes after a crash, and continues with the next file.",
            rich_help_panel=STATE,
        ),
    ] = None,
    rounds_file: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Table of rounds: class mix, band and warnings of each.  (default: OUT.rounds.csv)",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    report: Annotated[
        Path | None, typer.Option(metavar="FILE", help="HTML report with plots.", rich_help_panel=OUTPUT)
    ] = None,
    level: Annotated[
        float,
        typer.Option(help="Level of the band: how often it should contain the true class mix.", rich_help_panel=OUTPUT),
    ] = 0.9,
    only: Annotated[
        bool, typer.Option("--only", help="Write only the columns that baserate used or added.", rich_help_panel=OUTPUT)
    ] = False,
    wide: Annotated[
        bool,
        typer.Option("--wide", help="Also write the class mix and its band into every row.", rich_help_panel=OUTPUT),
    ] = False,
    out_prefix: Annotated[str, typer.Option(help="Prefix of new columns.", rich_help_panel=OUTPUT)] = "adapted_",
    format: Annotated[  # noqa: A002
        str | None,
        typer.Option(
            help=f"Format of STREAM: {format_names(last=' or ')}.  (default: by its suffix)", rich_help_panel=INPUT
        ),
    ] = None,
    out_format: Annotated[
        str | None,
        typer.Option(
            help="Format of the output.  (default: by its suffix; for -, that of STREAM)", rich_help_panel=OUTPUT
        ),
    ] = None,
    refit: Annotated[
        bool,
        typer.Option(
            "--refit",
            help="The model was replaced: learn from its new --holdout, keep the class mix.",
            rich_help_panel=STATE,
        ),
    ] = False,
    restart: Annotated[
        bool,
        typer.Option(
            "--restart", help="Discard an unfinished file: go back to the state before it.", rich_help_panel=STATE
        ),
    ] = False,
    max_bytes: Annotated[int | None, typer.Option(min=0, metavar="N", help=MAX_BYTES, rich_help_panel=STATE)] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print JSON instead of a table.", rich_help_panel=OUTPUT)
    ] = False,
) -> None:
    """Adapt a file of a model's probabilities to the class mix as it drifts.

    baserate adapt today.parquet --holdout holdout.parquet -o adapted.parquet
    """
    # Starting up makes 150,000 objects that stay. To look for garbage among them again and again would take a third of
    # a second, and there is none.
    gc.set_threshold(200_000)
    from baserate.files.adapting import AdaptJob, ColumnRoles
    from baserate.files.costs import parse_decisions
    from baserate.files.rounds import parse_round_length
    from baserate.files.scales import OutputOptions, scale_named

    try:
        between = separator_named(separator)
        source = source_named(stream, format, separator=between)
        # What is read from a pipe and written to one has one format.
        target = source_named(
            out, out_format or (source.format.name if out == "-" else None), option="--out-format", to_write=True
        )
        if rounds_file is None and not target.is_stream:
            rounds_file = target.path.with_name(f"{target.path.stem}.rounds.csv")
        if ask is not None and ask_file is None and not target.is_stream:
            ask_file = target.path.with_name(f"{target.path.stem}.ask.csv")
        job = AdaptJob(
            stream=source,
            out=target,
            holdout=None
            if holdout is None
            else source_named(holdout, format if holdout == "-" else None, option=None, separator=between),
            rounds_file=rounds_file,
            state=state,
            columns=ColumnRoles(labels, key, time, id),
            rounds=parse_round_length(rounds),
            prefix=prefix,
            names=split_names(columns),
            holdout_label=holdout_label,
            outputs=OutputOptions(score, positive, scale_named(percent=percent, logits=logits)),
            time_format=time_format,
            out_prefix=out_prefix,
            only=only,
            wide=wide,
            level=level,
            refit=refit,
            restart=restart,
            wait=wait,
            late=None if late is None else source_named(late, option=None, separator=between),
            late_label=late_label,
            late_probability=late_probability,
            ask=ask,
            ask_file=ask_file,
            report=report,
            max_bytes=max_bytes,
            decisions=parse_decisions(costs, threshold, positive),
        )
        check_separator_is_used(between, job.stream, job.holdout, job.late)
    except ValueError as error:
        fail(str(error))
    if report is not None:
        _check_report(report, job)
    if hindsight:
        from baserate.commands.hindsight import run_in_hindsight

        run_in_hindsight(job, as_json=as_json)
        return
    done = _run(job)
    _print_summary(done, job, as_json)
    if report is not None and done.earlier_file:
        complain("note: no report was written, because others were taken in after this file.")
    elif report is not None:
        _report(report, done, job, as_json)


def _check_report(report: Path, job: "AdaptJob") -> None:
    check_writable(report, "--report", "report.html")
    if job.rounds_file is None:
        fail("--report needs the table of rounds; name a file for it with --rounds-file.")
    try:
        from baserate.reports import figures  # noqa: F401
    except ModuleNotFoundError as error:
        fail(f"{error} (or leave --report out)")


def _run(job: "AdaptJob") -> "AdaptResult":
    from baserate.files.adapting import what_is_left
    from baserate.files.errors import FileProblemError

    before = _interrupt_on_signals()
    try:
        with kept_warnings() as told:
            done = _run_with_progress(job)
        for text in told:
            complain(f"note: {as_note(text, done.state.classes)}")
        return done
    except (FileProblemError, ValueError, TypeError) as error:
        fail(_one_line(error))
    except ModuleNotFoundError as error:
        fail(str(error))
    except BrokenPipeError:
        raise typer.Exit(FAILURE) from None
    except OSError as error:
        name = f" {error.filename}" if error.filename else ""
        fail(f"could not write{name} ({error.strerror or error}); {what_is_left(job)}", FAILURE)
    except KeyboardInterrupt:
        complain(what_is_left(job))
        raise
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())


def _stop(_number: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def _interrupt_on_signals() -> dict[signal.Signals, Any]:
    """Let the signals that end a process do what Ctrl-C does, so that nothing is left; the handlers before."""
    ends = [number for number in signal.Signals if number.name in ("SIGTERM", "SIGHUP")]
    # What is ignored stays so: nohup asks for it.
    return {number: signal.signal(number, _stop) for number in ends if signal.getsignal(number) != signal.SIG_IGN}


def _run_with_progress(job: "AdaptJob") -> "AdaptResult":
    from baserate.files.adapting import ProgressCallback, adapt_file

    with progress_bars() as progress:
        task = progress.add_task("Fitting", total=None)

        def begin(total: int | None, done: int) -> None:
            progress.update(task, description="Adapting", total=total, completed=done)

        return adapt_file(job, ProgressCallback(begin, lambda n: progress.advance(task, n)))


def _print_summary(done: "AdaptResult", job: "AdaptJob", as_json: bool) -> None:
    from baserate.files.adapting.story import tracked_by
    from baserate.files.adapting.summary import show, summarise, told

    # The table of rounds is that of this file, and tells nothing where later ones were taken in since.
    known = job.rounds_file is not None and not done.earlier_file
    tracked = tracked_by(done.state, job.rounds_file, job.level) if known and job.rounds_file is not None else None
    found: dict[str, Any] = (
        told(tracked, job.level)
        | summarise(done.state, job.level)
        | {
            "out": job.out.name,
            "rounds_file": None if job.rounds_file is None else str(job.rounds_file),
            "ask_file": None if job.ask_file is None else str(job.ask_file),
            "rows_now": done.rows,
            "resumed_at_row": done.first_row,
            "nothing_to_do": done.nothing_to_do,
            "earlier_file": done.earlier_file,
        }
    )
    to_stderr = job.out.is_stream
    if as_json:
        say(json.dumps(found, indent=2), err=to_stderr)
        return
    from rich.console import Console

    show(Console(highlight=False, stderr=to_stderr), found, tracked)


def _report(path: Path, done: "AdaptResult", job: "AdaptJob", as_json: bool) -> None:
    from baserate.reports.adapt import write

    assert job.rounds_file is not None
    try:
        write(path, done.state, job.rounds_file, job.level)
    except OSError as error:
        fail(f"could not write the report to {path} ({error.strerror}).", FAILURE)
    say(f"Report: {printable(str(path.resolve()))}", err=as_json or job.out.is_stream)
