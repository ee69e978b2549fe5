"""The options that several commands have: how files are read, and what decisions cost."""

from typing import Annotated

import typer

from baserate.files.source import Source

INPUT, ROUNDS, LABELS, DECISIONS = "Input", "Time and rounds", "Labels", "Decisions"
OUTPUT, STATE, COMPARISON = "Output", "State", "Comparison"
"""The groups of options in the help."""

WORDS = (
    "Words: a round is a batch of rows that is predicted with one class mix; the holdout is labelled rows that the "
    "model was not trained on; the class mix is the share of each class; a band is the range in which the true share "
    "should be."
)
"""The words that the help is written in, below the options of a command."""

MAX_BYTES = "Largest state to load, in bytes. Raise it only for files that you trust."

Holdout = Annotated[
    str | None,
    typer.Option("--holdout", metavar="FILE", help="Labelled rows that the model was not trained on."),
]
Prefix = Annotated[str, typer.Option("--prefix", help="Prefix of the columns of probabilities.", rich_help_panel=INPUT)]
Columns = Annotated[
    str | None,
    typer.Option("--columns", metavar="A,B,...", help="Columns of probabilities, by name.", rich_help_panel=INPUT),
]
Score = Annotated[
    str | None,
    typer.Option(
        "--score",
        metavar="COL",
        help="Column with the score of a two-class model: the probability of the positive class.",
        rich_help_panel=INPUT,
    ),
]
Positive = Annotated[
    str | None,
    typer.Option(
        "--positive",
        metavar="NAME",
        help="Name of the positive class, for --score, --costs and --threshold.",
        rich_help_panel=INPUT,
    ),
]
Percent = Annotated[
    bool, typer.Option("--percent", help="The columns are percentages, from 0 to 100.", rich_help_panel=INPUT)
]
Logits = Annotated[
    bool, typer.Option("--logits", help="The columns are logits, not probabilities.", rich_help_panel=INPUT)
]
Separator = Annotated[
    str | None,
    typer.Option(
        "--separator",
        metavar="CHAR",
        help="Character between columns of CSV files, such as ';' or tab.  (default: found from the header)",
        rich_help_panel=INPUT,
    ),
]
TimeFormat = Annotated[
    str | None,
    typer.Option(
        "--time-format",
        metavar="FORMAT",
        help="Format of --time if it is not ISO 8601 or a number, such as '%d/%m/%Y %H:%M'.",
        rich_help_panel=ROUNDS,
    ),
]
Costs = Annotated[
    str | None,
    typer.Option(
        "--costs",
        metavar="FP:FN|FILE",
        help="Costs of a false alarm and of a missed positive, in any unit, such as 1:20; or a file of costs with a "
        "row for each true class.",
        rich_help_panel=DECISIONS,
    ),
]
Threshold = Annotated[
    float | None,
    typer.Option(
        "--threshold",
        metavar="T",
        help="Decide for the positive class where its probability is at least this.",
        rich_help_panel=DECISIONS,
    ),
]


def check_separator_is_used(separator: str | None, *sources: Source | None) -> None:
    """Refuse a separator that no file is read with."""
    if separator is not None and not any(source is not None and source.separator for source in sources):
        raise ValueError("--separator is for CSV files, and none of these is one; leave it out.")
