"""Advice after errors of the command line; tests/project/test_natural_mistakes.py has whole commands."""

from types import SimpleNamespace

import pytest

from baserate.commands.advice import advice


def error(command, **told):
    return SimpleNamespace(ctx=SimpleNamespace(info_name=command), format_message=lambda: "as it was.", **told)


@pytest.mark.parametrize(
    ("command", "option", "meant"),
    [("adapt", "--target", "--holdout-label COL"), ("backtest", "--truth", "--label COL")],
)
def test_columns_of_labels_are_named_by_command(command, option, meant):
    said = advice(error(command, option_name=option))
    assert said.startswith(f"{option} is no option here")
    assert meant in said


def test_other_errors_keep_their_own_words():
    assert advice(error("inspect", option_name="--target")) == ""
    assert advice(error("adapt", option_name="--rond")) == ""
    assert advice(error(None)) == ""
