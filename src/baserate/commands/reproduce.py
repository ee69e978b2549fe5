"""``baserate reproduce``: the paper's tables and figures, by the laboratory, if it is installed."""

import typer

from baserate.commands.ending import fail

GROUP = "baserate.commands"
"""The group of entry points by which another distribution brings a command: a function of the words that follow it."""


def reproduce(context: typer.Context) -> None:
    """Reproduce the paper's tables and figures, beside the printed numbers."""
    from importlib.metadata import entry_points  # brings a mail parser along, for which --help would have to wait

    for entry in entry_points(group=GROUP, name="reproduce"):
        entry.load()(context.args)
        return
    fail(
        "the paper's experiments are a package of their own, which is not installed; run: pip install baserate-lab "
        "(in a clone of the repository: pip install ./lab)"
    )
