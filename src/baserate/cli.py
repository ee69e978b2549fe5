"""The command line, put together of one module per command.

What is slow to import is imported inside the commands, so that ``baserate --help`` is not kept waiting.
"""

import sys
from collections.abc import Sequence
from typing import Annotated, NoReturn

import typer

from baserate._version import __version__
from baserate.commands.adapt import adapt
from baserate.commands.backtest import backtest
from baserate.commands.demo import demo
from baserate.commands.inspect import inspect
from baserate.commands.prevalence import prevalence
from baserate.commands.reading import WORDS
from baserate.commands.reproduce import reproduce
from baserate.commands.running import run_app
from baserate.commands.serve import serve_app
from baserate.commands.streams import say
from baserate.commands.warmup import warmup

app = typer.Typer(add_completion=False, context_settings={"help_option_names": ["-h", "--help"]})
app.command()(demo)
app.command(epilog=WORDS)(adapt)
app.command()(inspect)
app.command(epilog=WORDS)(backtest)
app.command(epilog=WORDS)(prevalence)
app.command()(warmup)
app.add_typer(serve_app, name="serve")
# Its options, --help among them, are those of the laboratory.
app.command(add_help_option=False, context_settings={"ignore_unknown_options": True, "allow_extra_args": True})(
    reproduce
)


@app.callback(invoke_without_command=True)
def _baserate(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Show the version and exit.")] = False,
) -> None:
    """Keeps any classifier right while class proportions drift."""
    if version:
        say(f"baserate {__version__}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        say(context.get_help())


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command line.

    Parameters
    ----------
    arguments : sequence of str, optional
        What follows the program's name. Default: those of this process.
    """
    run_app(app, sys.argv[1:] if arguments is None else arguments, "baserate")
