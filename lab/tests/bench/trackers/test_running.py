"""The cells of the trackers' benchmark: what runs, and that it depends on nothing but the cell."""

import itertools
from collections import Counter

import numpy as np
import pytest

from baserate.adapters import RegressAndReweight
from baserate.evaluation import evaluate
from baserate.protocols import Evidence
from baserate.shifts import Bernoulli
from baserate.trackers import FLHFTL
from baserate_lab.bench import grid
from baserate_lab.bench.store import Store
from baserate_lab.bench.trackers import cells, running, sets, streams
from baserate_lab.bench.trackers.__main__ import main
from baserate_lab.bench.trackers.cells import Cell, Problem, Result
from baserate_lab.bench.trackers.some_labels import SomeLabels
from baserate_lab.bench.trackers.two_mixes import TwoMixes

ROUNDS = 12


def forget():
    sets._holdout.cache_clear()
    streams.stream.cache_clear()


def tiny():
    plain = [Problem("digits", shift, 10, rounds=ROUNDS) for shift in ("Bernoulli", "Sinusoidal drawn", "RandomWalk")]
    dishonest = [Problem("digits", "Constant", 10, 200, "biased", rounds=ROUNDS)]
    labelled = [Problem("digits", "Bernoulli", 10, labels=known, rounds=ROUNDS) for known in ("some", "all")]
    asked = [
        *itertools.product(cells.METHODS, plain + dishonest),
        *itertools.product([cells.TOLD], plain[:1]),
        *itertools.product([cells.CALIBRATED], dishonest),
        *itertools.product([cells.CAUSAL, cells.HISTORY], labelled),
    ]
    return [Cell(method, seed, *problem) for method, problem in asked for seed in range(2)]


def test_the_filter_gives_the_probabilities_of_the_states():
    rng = np.random.default_rng(0)
    source = np.array([0.5, 0.3, 0.2])
    first, second, flip = np.array([0.6, 0.3, 0.1]), np.array([0.0, 0.2, 0.8]), 0.15
    proba = rng.dirichlet(np.ones(3), size=(6, 4))
    proba[2, 0] = [1.0, 0.0, 0.0]  # which the second mix rules out
    tracker = TwoMixes(first, second, flip)
    for t, batch in enumerate(proba):
        # Every course that the states may have taken, one by one.
        weights = np.zeros(2)
        for later in itertools.product([0, 1], repeat=t):
            course = [0, *later]
            weight = np.prod([flip if a != b else 1 - flip for a, b in itertools.pairwise(course)])
            for past, state in zip(proba[:t], course, strict=False):
                weight *= np.prod([sum((first, second)[state] * row / source) for row in past])
            weights[course[-1]] += weight
        weights /= weights.sum()
        np.testing.assert_allclose(tracker.predict(), weights[0] * first + weights[1] * second, rtol=1e-10)
        tracker.update(np.zeros(3), Evidence(batch, source))
    tracker.reset()
    np.testing.assert_allclose(tracker.predict(), first, atol=1e-12)


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
    once = Store(tmp_path / "a.parquet", Cell, Result, protocol=1)
    assert grid.run(asked, running.run, once) == {}
    forget()
    shuffled = [asked[i] for i in np.random.default_rng(1).permutation(len(asked))]
    again = {cell: running.run(cell) for cell in shuffled}
    read = Store(tmp_path / "a.parquet", Cell, Result, protocol=1)
    assert dict(read.results) == again
    assert len({result.error for result in again.values()}) > 10  # there is something to compare


def test_methods_share_streams_and_seeds_do_not():
    one, two = (streams.stream("digits", "Square drawn", 10, seed, "", ROUNDS) for seed in (0, 1))
    assert np.abs(one.path - two.path).max() > 0.05
    forget()
    again = streams.stream("digits", "Square drawn", 10, 0, "", ROUNDS)
    distorted = streams.stream("digits", "Square drawn", 10, 0, "too sure", ROUNDS)
    for a, b, c in zip(one.batches, again.batches, distorted.batches, strict=True):
        assert np.array_equal(a.rows, b.rows)
        assert np.array_equal(a.rows, c.rows)
        assert np.array_equal(a.proba, b.proba)
        assert (c.proba.max(axis=1) >= a.proba.max(axis=1)).all()  # surer
        assert np.array_equal(c.proba.argmax(axis=1), a.proba.argmax(axis=1))
    told = running.run(Cell(cells.ORACLE, 0, "digits", "Square drawn", 10, rounds=ROUNDS))
    assert told.mse == 0.0


def test_no_shift_is_the_mix_of_the_holdout():
    pool = sets.load("digits")
    still = streams.stream("digits", streams.STILL, 10, 0, "", ROUNDS)
    np.testing.assert_allclose(still.path, np.tile(np.bincount(pool.holdout_y) / len(pool.holdout_y), (ROUNDS, 1)))


def test_every_set_has_enough_samples_for_the_largest_rounds():
    assert np.bincount(sets.load("digits").y).min() >= max(cells.SIZES)


def test_the_calibrator_that_is_shared_is_the_default_one():
    cell = Cell(cells.START, 0, "digits", "Bernoulli", 10, distortion="too sure", rounds=ROUNDS)
    learnt = sets.holdout("digits", 0, cell.distortion, 0)
    along = streams.stream("digits", "Bernoulli", 10, 0, cell.distortion, ROUNDS)
    usual = evaluate(RegressAndReweight(FLHFTL(10), gate=False).fit(learnt.proba, learnt.y), along.batches)
    assert running.run(cell) == Result(usual.mse, usual.error_rate)
    raw = evaluate(RegressAndReweight(FLHFTL(10), calibrator=None).fit(learnt.proba, learnt.y), along.batches)
    assert raw.mse != usual.mse


def test_a_small_holdout_is_drawn_by_the_seed():
    one, two = (sets.holdout("digits", 200, "", seed) for seed in (0, 1))
    assert len(one.y) == len(two.y) == 200
    assert not np.array_equal(one.y, two.y)
    assert sets.holdout("digits", 0, "", 0) is sets.holdout("digits", 0, "", 1)


class Recorder:
    def __init__(self):
        self.calls = []

    def step(self, proba, y=None, *, ids=None):
        self.calls.append(("step", None if y is None else list(y), ids))

    def update_labels(self, ids, y):
        self.calls.append(("labels", list(ids), list(y)))


def test_late_labels_come_after_the_step_of_so_many_rounds_later():
    adapter = Recorder()
    labelled = SomeLabels(adapter, 0.5, 3, seed=0)
    y = np.arange(80).reshape(10, 8)
    for labels in y:
        labelled.step(np.zeros((8, 2)), labels)
    steps = -1
    told = []
    for name, first, second in adapter.calls:
        if name == "step":
            steps += 1
            assert first is None
            assert second == y[steps].tolist()
        else:
            assert first == second  # the label of a sample is its number here
            assert set(first) <= set(y[steps - 3])
            told += first
    assert 15 < len(told) < 41
    at_once = Recorder()
    now = SomeLabels(at_once, 0.5, 0, seed=0)
    for labels in y:
        now.step(np.zeros((8, 2)), labels)
    known = [label for _, labels, _ in at_once.calls for label in labels if label != -1]
    assert known[: len(told)] == told  # the same ones, earlier


def test_late_labels_are_taken_in():
    cell = Cell(cells.CAUSAL, 0, "digits", "Monotone", 10, labels="late", rounds=60)
    assert running.run(cell) != running.run(cell._replace(labels=""))
    assert running.run(cell) == running.run(cell)


def test_what_is_planned():
    count = Counter({table: len(plan()) for table, plan in cells.TABLES.items()})
    assert count["main"] == 6 * 9 * 3
    assert count["small-holdout"] == 5 * 5
    assert count["miscalibration"] == 4 * 4 * 2 * 5
    assert count["labels"] == 3 * 3 * 3 + 3 * 9
    every = cells.cells(cells.TABLES, seeds=2)
    assert len(every) == len(set(every))
    assert len(cells.cells(["main"], 3, ["digits"])) == 9 * 3 * 6 * 3


def test_the_command_goes_on_where_it_was_stopped_and_writes_a_page(tmp_path, monkeypatch, capsys):
    from baserate_lab.bench.trackers import __main__ as command

    runs = []

    def run(cell):
        runs.append(cell)
        if len(runs) == 5:
            raise KeyboardInterrupt
        return Result(0.1, 0.2)

    monkeypatch.setattr(command, "run", run)
    monkeypatch.setattr(command.joblib, "parallel_config", lambda n_jobs: command.joblib.parallel_backend("sequential"))
    options = ["--seeds", "2", "--data", "digits", "--tables", "constant", "main", "--out", str(tmp_path)]
    assert main(options) == 130
    assert "goes on from there" in capsys.readouterr().err
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
