"""Runs of `baserate backtest`, and a log for them."""

import json

import numpy as np
import polars as pl
from typer.testing import CliRunner

from baserate.cli import app

from ..files.streams import CLASSES, P, model_outputs


def log(n=3000, n_balanced=600):
    """A balanced beginning, then a stream of which most is eels; with times, one a minute."""
    first, y_first = model_outputs(n_balanced, (1 / 3, 1 / 3, 1 / 3), 0)
    then, y_then = model_outputs(n - n_balanced, (0.1, 0.1, 0.8), 1)
    proba, y = np.concatenate([first, then]), np.concatenate([y_first, y_then])
    table = pl.DataFrame(proba, schema=P).with_columns(
        truth=pl.Series([CLASSES[c] for c in y]), minute=pl.Series(60 * np.arange(n))
    )
    return table, proba, y


def run(*arguments):
    return CliRunner().invoke(app, ["backtest", *map(str, arguments)])


def done(*arguments):
    result = run(*arguments)
    assert result.exit_code == 0, (result.output, result.exception)
    return result


def found(*arguments):
    return json.loads(done(*arguments, "--json", "--methods", "none").stdout)


def refused(*arguments):
    result = run(*arguments)
    assert result.exit_code == 2, (result.output, result.exception)
    assert result.stdout == ""
    (line,) = result.stderr.splitlines()
    assert line.startswith("baserate: ")
    return line.removeprefix("baserate: ")
