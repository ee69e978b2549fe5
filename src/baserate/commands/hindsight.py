"""The part of ``baserate adapt`` that looks back: ``--hindsight``."""

import json

from baserate.commands.ending import FAILURE, complain, fail
from baserate.commands.notes import kept_warnings
from baserate.commands.streams import say
from baserate.commands.words import as_note
from baserate.files.adapting import AdaptJob
from baserate.files.errors import printable


def run_in_hindsight(job: AdaptJob, *, as_json: bool) -> None:
    """Adapt a complete file in hindsight; write a report if there is to be one, and say what was done."""
    from baserate.files.adapting.in_hindsight import adapt_in_hindsight
    from baserate.reports.prevalence_doubts import OF_PREDICTIONS, warnings_of

    try:
        with kept_warnings() as told:
            done, beside = adapt_in_hindsight(job)
        warnings = warnings_of(beside.doubts, beside.names, OF_PREDICTIONS)
        if beside.result is not None and job.report is not None:
            from baserate.reports.prevalence import write

            write(job.report, beside.result, job.stream.shown, warnings, made_by="adapt --hindsight")
    except (ValueError, TypeError, ModuleNotFoundError) as error:
        fail(as_note(" ".join(str(error).split())))
    except OSError as error:
        fail(f"could not read or write {error.filename or job.stream.shown} ({error.strerror or error}).", FAILURE)
    for text in told:
        complain(f"note: {as_note(text)}")
    aside = job.out.is_stream
    if as_json:
        found = {name: value for name, value in done._asdict().items() if value is not None} | {"warnings": warnings}
        say(json.dumps(found, indent=2), err=aside)
    else:
        say(
            f"{done.rows:,} rows in {done.rounds:,} rounds, by the class mix in hindsight; {done.changed:,} changed "
            "class.",
            err=aside,
        )
        if done.decisions is not None:
            counts = ", ".join(f"{printable(name)} {count:,}" for name, count in done.decisions.items())
            cost = "" if done.expected_cost is None else f"; expected cost of a row: {done.expected_cost:.4g}"
            say(f"Decisions: {counts}{cost}.", err=aside)
    for text in warnings:
        complain(text)
    if beside.result is not None and job.report is not None:
        say(f"Report: {printable(str(job.report.resolve()))}", err=as_json or aside)
