"""The cells of the trackers' benchmark: what runs, and that it depends on nothing but the cell."""

import itertools
from collections import Counter

import numpy as np
import pytest

from baserate.adapters import RegressAndReweight
from baserate.evaluation import evaluate
from baserate.shifts import Bernoulli
from baserate.trackers import FLHFTL
from baserate_lab.bench import grid
from baserate_lab.bench.store import Store
from baserate_lab.bench.trackers import cells, running, sets, streams
from baserate_lab.bench.trackers.__main__ import main
from baserate_lab.bench.trackers.cells import TrackingCell, TrackingProblem, TrackingResult

from .short_streams import ROUNDS, forget


def tiny():
    plain = [
        TrackingProblem("digits", shift, 10, rounds=ROUNDS) for shift in ("Bernoulli", "Sinusoidal drawn", "RandomWalk")
    ]
    miscalibrated = [TrackingProblem("digits", "Constant", 10, 200, "biased", rounds=ROUNDS)]
    labelled = [TrackingProblem("digits", "Bernoulli", 10, labels=known, rounds=ROUNDS) for known in ("some", "all")]
    asked = [
        *itertools.product(cells.METHODS, plain + miscalibrated),
        *itertools.product([cells.TOLD], plain[:1]),
        *itertools.product([cells.CALIBRATED], miscalibrated),
        *itertools.product([cells.CAUSAL, cells.HISTORY], labelled),
    ]
    return [TrackingCell(method, seed, *problem) for method, problem in asked for seed in range(2)]


def test_the_filter_is_told_the_rate_of_the_shift():
    along = streams.stream("digits", "Bernoulli", 10, 0, "", 400)
    tracker = running.adapter(cells.TOLD, along, None).tracker
    paths = [Bernoulli().path(400, 2, seed) for seed in range(200)]
    switched = np.mean([np.abs(np.diff(path[:, 0])) > 0 for path in paths])
    assert tracker.flip == 1 / 20
    assert switched == pytest.approx(tracker.flip, rel=0.05)
    assert {tuple(mix) for mix in along.path} == {tuple(mix) for mix in tracker.mixes}


def test_the_same_bits_in_another_order(tmp_path):
    asked = tiny()
    forget()
    once = Store(tmp_path / "a.parquet", TrackingCell, TrackingResult, protocol=1)
    assert grid.run_missing(asked, running.run_tracking, once) == {}
    forget()
    shuffled = [asked[i] for i in np.random.default_rng(1).permutation(len(asked))]
    again = {cell: running.run_tracking(cell) for cell in shuffled}
    read = Store(tmp_path / "a.parquet", TrackingCell, TrackingResult, protocol=1)
    assert dict(read.results) == again
    assert len({result.error for result in again.values()}) > 10  # there is something to compare


def test_the_calibrator_that_is_shared_is_the_default_one():
    cell = TrackingCell(cells.START, 0, "digits", "Bernoulli", 10, distortion="too sure", rounds=ROUNDS)
    learnt = sets.holdout("digits", 0, cell.distortion, 0)
    along = streams.stream("digits", "Bernoulli", 10, 0, cell.distortion, ROUNDS)
    counted = np.bincount(learnt.y, minlength=10) / len(learnt.y)
    adapter = RegressAndReweight(FLHFTL(10), gate=False, source_prior=counted)
    usual = evaluate(adapter.fit(learnt.proba, learnt.y), along.batches)
    assert running.run_tracking(cell) == TrackingResult(usual.mse, usual.error_rate)
    raw = evaluate(RegressAndReweight(FLHFTL(10), calibrator=None).fit(learnt.proba, learnt.y), along.batches)
    assert raw.mse != usual.mse


def test_late_labels_are_taken_in():
    cell = TrackingCell(cells.CAUSAL, 0, "digits", "Monotone", 10, labels="late", rounds=60)
    assert running.run_tracking(cell) != running.run_tracking(cell._replace(labels=""))
    assert running.run_tracking(cell) == running.run_tracking(cell)


def test_the_command_goes_on_where_it_was_stopped_and_writes_a_page(tmp_path, monkeypatch, capsys):
    from baserate_lab.bench.trackers import __main__ as command

    runs = []

    def run(cell):
        runs.append(cell)
        if len(runs) == 5:
            raise KeyboardInterrupt
        return TrackingResult(0.1, 0.2)

    monkeypatch.setattr(command, "run_tracking", run)
    monkeypatch.setattr(command.joblib, "parallel_config", lambda n_jobs: command.joblib.parallel_backend("sequential"))
    options = ["--seeds", "2", "--data", "digits", "--tables", "constant", "main", "--out", str(tmp_path)]
    assert main(options) == 130
    assert "run the same command to resume" in capsys.readouterr().err
    assert main(options) == 0
    counts = Counter(runs)
    assert len(counts) == 27 * 6 * 2 + 3 * 2
    assert set(counts.values()) == {1, 2}
    assert sum(counts.values()) == len(counts) + 1
    made = (tmp_path / "trackers.md").read_text()
    assert "<svg" in (tmp_path / "trackers.svg").read_text()
    assert main([*options, "--no-run"]) == 0
    assert (tmp_path / "trackers.md").read_text() == made
    assert sum(counts.values()) == len(runs)


def test_the_command_says_what_is_wrong(tmp_path, capsys):
    assert main(["--no-run", "--out", str(tmp_path)]) == 2
    assert "no results" in capsys.readouterr().err
    (tmp_path / "results.parquet").write_bytes(b"nonsense")
    assert main(["--no-run", "--out", str(tmp_path)]) == 2
    assert "damaged" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["--seeds", "0"])
