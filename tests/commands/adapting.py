"""Runs of `baserate adapt` with a holdout."""

from typer.testing import CliRunner

from baserate.cli import app


def adapt(*arguments, holdout="holdout.csv"):
    given = ["--holdout", holdout] if holdout else []
    return CliRunner().invoke(app, ["adapt", *map(str, arguments), *given])


def done(*arguments, **more):
    result = adapt(*arguments, **more)
    assert result.exit_code == 0, (result.output, result.exception)
    return result
