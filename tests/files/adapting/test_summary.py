"""The summary in the terminal."""

import io
import re

import numpy as np
import pytest
from rich.console import Console

from baserate.files.adapting.summary import alarm_sentence, show, told
from baserate.files.adapting.tracked import follow

from ..paths import bump, table, two

ALARM = {
    "alarm": True,
    "evidence": 1e6,
    "alarm_at": 20.0,
    "findings": ["doubt is too high"],
}


def found_of(shares, **more):
    prior = {name: float(path[-1]) for name, path in shares.items()}
    return {
        "rows": 6000,
        "rounds": 60,
        "files": 1,
        "classes": list(shares),
        "source_prior": {name: float(path[0]) for name, path in shares.items()},
        "labelled": 0,
        "late_labels": 0,
        "level": 0.9,
        "prior": prior,
        "low": {name: share * 0.9 for name, share in prior.items()},
        "high": {name: share * 1.05 for name, share in prior.items()},
        "accuracy": {"value": 0.9, "low": 0.88, "high": 0.92},
        "accuracy_in_doubt": "",
        "evidence": 1.0,
        "alarm": False,
        "alarm_at": 20.0,
        "findings": [],
        "untested": "",
        "fallback": False,
        "correction_weight": 1.0,
        "serial_correlation": 0.0,
        "unknown_mass": 0.0,
        **more,
    }


def tracked_of(shares, **options):
    now, source = (np.array([path[i] for path in shares.values()]) for i in (-1, 0))
    return follow([table(shares, **options)], list(shares), now, np.stack([0.9 * now, 1.05 * now], axis=1), source)


def printed(found, tracked, width=80):
    console = Console(file=io.StringIO(), width=width)
    show(console, found, tracked)
    return console.file.getvalue().splitlines()


@pytest.mark.parametrize("days", [None, 0.02, 1.0, 2.9, 30.0, 300.0, 900.0])
@pytest.mark.parametrize("name", ["fraud", "a class whose name is as long as a whole sentence is"])
def test_the_table_fits_80_columns(days, name):
    shares = {"good": 1 - bump(high=0.998), name: bump(high=0.998)}
    lines = printed(found_of(shares), tracked_of(shares, days=days))
    lines = lines[lines.index("") + 1 :]
    rows = lines[: lines.index("")]
    assert len(rows) == 2 + len(shares), "a row takes two lines"
    assert max(map(len, rows)) <= 80
    words = " ".join(rows)
    assert ("(round" in words) is (days is None)
    assert "0.8 %" in words
    assert "99.8 %" in words
    assert len(re.findall(r"\(\S.*?\)", words)) == 2 * len(shares)


def test_the_headline_is_the_first_line():
    shares = two(bump())
    assert printed(found_of(shares), tracked_of(shares))[0] == told(tracked_of(shares), 0.9)["headline"]


def test_an_alarm_comes_before_it():
    shares = two(bump())
    tracked = tracked_of(shares, alarm=np.arange(60) >= 40, days=1.0)
    lines = printed(found_of(shares, **ALARM), tracked, width=500)
    assert lines[0].startswith(
        "ALARM since 10 April: drift beyond the class mix (evidence 1,000,000, alarm at 20): doubt is"
    )
    assert lines[1].startswith("fraud rose")
    assert sum("ALARM" in line for line in lines) == 1
    assert not any("No sign of drift" in line for line in lines)


def test_an_alarm_from_before_the_file():
    tracked = tracked_of(two(bump()), alarm=np.ones(60, dtype=bool), first_round=900)
    assert alarm_sentence(ALARM, tracked).startswith("ALARM since before this file: drift")
    assert alarm_sentence(ALARM).startswith("ALARM: drift")


def test_without_a_path_there_is_a_table_still():
    lines = printed(found_of(two(bump())), None)
    assert lines[0].split() == ["class", "holdout", "now", "90", "%", "band"]


def test_plain_data():
    found = told(tracked_of(two(bump()), alarm=np.arange(60) >= 40), 0.9)
    assert found["path"]["fraud"] == {
        "start": 0.008,
        "lowest": 0.008,
        "lowest_round": 1,
        "highest": 0.098,
        "highest_round": 21,
        "moved": True,
    }
    assert found["alarm_since_round"] == 41
    assert told(None, 0.9) == {"headline": None}
