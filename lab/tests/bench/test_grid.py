"""Each cell of a grid is run once, in any number of processes, and what is done is kept."""

import os
import threading
import time
from collections import Counter

import joblib
import pytest

from baserate_lab.bench import grid
from baserate_lab.bench.grid import Failure
from baserate_lab.bench.store import Store
from baserate_lab.paper.runs import growth
from baserate_lab.paper.runs.cells import PaperCell, PaperResult

CELLS = [PaperCell("d", "m", "ber", 10 * i, method, i) for i in range(4) for method in ("Base", "FTH", "OFC")]


@pytest.fixture
def diary(tmp_path):
    folder = tmp_path / "begun"
    folder.mkdir()
    return folder


def begun(diary):
    """How often each cell was begun; through files, because other processes run them."""
    return Counter(path.name.partition(".")[0] for path in diary.iterdir())


def name(cell):
    return f"{cell.method}-{cell.seed}"


SLOW = 1.5
"""Seconds that a cell takes whose turn must not come before others were seen to: ages, on a machine of any load."""


def noting(diary, raising=None, slow_from=None, when=0):
    """A function of cells that notes each it begins; cell 7 raises, if told to, when so many results were kept."""
    slow = [] if slow_from is None else CELLS[slow_from:]

    # Made here, so that it travels by value: other processes cannot import a module of tests.
    def function(cell):
        (diary / f"{cell.method}-{cell.seed}.{time.monotonic_ns()}.{os.getpid()}").touch()
        time.sleep(SLOW if cell in slow else 0.02)
        if raising is not None and cell.method == "FTH" and cell.seed == 2:
            while len(list((diary.parent / "kept").glob("*"))) < when:
                time.sleep(0.01)
            raise raising
        return PaperResult(cell.holdout / 7, None, None, float(cell.seed))

    return function


EXPECTED = {cell: PaperResult(cell.holdout / 7, None, None, float(cell.seed)) for cell in CELLS}


def opened(tmp_path, named="results.parquet"):
    return Store(tmp_path / named, PaperCell, PaperResult, protocol=1)


HERE = [("sequential", 1), ("threading", 2), ("loky", 2)]


@pytest.mark.parametrize(("backend", "n_jobs"), HERE)
def test_each_cell_is_run_once_and_never_again(tmp_path, diary, backend, n_jobs):
    watched = []
    with joblib.parallel_config(backend, n_jobs=n_jobs):
        failures = grid.run_missing([*CELLS, CELLS[0]], noting(diary), opened(tmp_path), watch=watched.append)
        assert failures == {}
        assert begun(diary) == Counter({name(cell): 1 for cell in CELLS})
        assert sorted(watched) == sorted(CELLS)
        assert dict(opened(tmp_path).results) == EXPECTED
        before = (tmp_path / "results.parquet").read_bytes()
        grid.run_missing(CELLS[::-1], noting(diary), opened(tmp_path), watch=watched.append)
    assert len(watched) == len(CELLS)
    assert begun(diary).total() == len(CELLS)
    assert (tmp_path / "results.parquet").read_bytes() == before


def test_only_what_is_missing_is_run(tmp_path, diary):
    store = opened(tmp_path)
    store.keep(CELLS[3], PaperResult(0.5, None, None, 9.0))
    grid.run_missing(CELLS[:6], noting(diary), store)
    assert begun(diary) == Counter(name(cell) for cell in CELLS[:6] if cell != CELLS[3])
    assert store.results[CELLS[3]].error == 0.5
    assert store.results[CELLS[4]] == EXPECTED[CELLS[4]]


@pytest.mark.parametrize(("backend", "n_jobs"), HERE)
def test_what_is_expected_to_fail_fails_alone(tmp_path, diary, backend, n_jobs):
    store, watched = opened(tmp_path), []
    with joblib.parallel_config(backend, n_jobs=n_jobs):
        failures = grid.run_missing(
            CELLS, noting(diary, LookupError("no data")), store, expected=(OSError, LookupError), watch=watched.append
        )
    failed = CELLS[7]
    assert failures == {failed: Failure("no data")}
    assert dict(opened(tmp_path).results) == {cell: EXPECTED[cell] for cell in CELLS if cell != failed}
    assert sorted(watched) == sorted(CELLS)
    # It may work the next time.
    assert grid.run_missing(CELLS, noting(diary), opened(tmp_path)) == {}
    assert begun(diary) == Counter({name(cell): 1 + (cell == failed) for cell in CELLS})


@pytest.mark.parametrize(("backend", "n_jobs"), HERE)
def test_what_is_not_expected_ends_the_run_and_what_is_done_is_kept(tmp_path, diary, backend, n_jobs):
    watched = []
    (tmp_path / "kept").mkdir()

    def watch(cell):
        watched.append(cell)
        (tmp_path / "kept" / name(cell)).touch()

    with joblib.parallel_config(backend, n_jobs=n_jobs), pytest.raises(ZeroDivisionError, match="a bug"):
        grid.run_missing(
            CELLS,
            noting(diary, ZeroDivisionError("a bug"), slow_from=8, when=5),
            opened(tmp_path),
            expected=(LookupError,),
            watch=watch,
        )
    kept = opened(tmp_path).results
    assert dict(kept) == {cell: EXPECTED[cell] for cell in watched}
    assert 5 <= len(kept) <= 7
    assert begun(diary).total() < len(CELLS)


class Enough:
    """Ctrl-C when so many cells are done."""

    def __init__(self, n):
        self.left = n

    def __call__(self, cell):
        self.left -= 1
        if self.left == 0:
            raise KeyboardInterrupt


@pytest.mark.parametrize(("backend", "n_jobs"), HERE)
def test_ctrl_c_loses_only_what_is_running(tmp_path, diary, backend, n_jobs):
    with joblib.parallel_config(backend, n_jobs=n_jobs):
        with pytest.raises(KeyboardInterrupt):
            grid.run_missing(CELLS, noting(diary, slow_from=5), opened(tmp_path), watch=Enough(5))
        kept = opened(tmp_path).results
        assert dict(kept) == {cell: EXPECTED[cell] for cell in kept}
        assert len(kept) == 5
        once = begun(diary)
        assert once.total() <= 5 + (n_jobs if n_jobs > 1 else 0)
        grid.run_missing(CELLS, noting(diary), opened(tmp_path))
    assert dict(opened(tmp_path).results) == EXPECTED
    twice = begun(diary)
    assert {cell: twice[name(cell)] for cell in kept} == dict.fromkeys(kept, 1)
    lost = {n for n in once if n not in {name(cell) for cell in kept}}
    assert all(count == 1 + (n in lost) for n, count in twice.items())
    if n_jobs == 1:
        assert not lost


def test_nothing_runs_on_after_ctrl_c(tmp_path, diary):
    with joblib.parallel_config("threading", n_jobs=2):
        with pytest.raises(KeyboardInterrupt) as ended:
            grid.run_missing(CELLS, noting(diary, slow_from=2), opened(tmp_path), watch=Enough(2))
        # Also while someone still looks at the traceback, which keeps the loop from being cleared away.
        assert ended.tb is not None
        time.sleep(SLOW + 0.5)
        assert begun(diary).total() <= 2 + 2


def test_results_depend_neither_on_the_order_nor_on_the_number_of_processes(tmp_path):
    cells = [PaperCell("", "", "", 0, method, seed, n_rounds=40) for method in growth.TRACKERS for seed in range(2)]
    found = []
    for i, (backend, n_jobs, order) in enumerate([("sequential", 1, 1), ("loky", 2, -1), ("threading", 3, 1)]):
        store = opened(tmp_path, f"{i}.parquet")
        with joblib.parallel_config(backend, n_jobs=n_jobs):
            grid.run_missing(cells[::order], growth.run_growth, store)
        found.append({cell: result._replace(seconds=0.0) for cell, result in store.results.items()})
    assert found[0] == found[1] == found[2]
    assert list(found[0]) == cells


def test_the_items_come_with_their_own_results():
    with joblib.parallel_config("threading", n_jobs=4):
        found = dict(grid.each(lambda x: time.sleep(0.02 * (x % 3)) or x**2, range(12)))
    assert found == {x: x**2 for x in range(12)}
    assert list(grid.each(str, [])) == []


def test_a_backend_that_gives_lists_only_gives_them_in_chunks():
    # As the backends of Ray and Spark do. The function must be one that processes can import.
    with joblib.parallel_config("multiprocessing", n_jobs=2):
        work = grid.each(int, [*"0123", "four", *"56789"])
        assert [next(work) for _ in range(4)] == [(c, int(c)) for c in "0123"]
        with pytest.raises(ValueError, match="four"):
            next(work)
        assert sorted(grid.each(int, [*"0123", "four", *"5678"], (ValueError,)), key=lambda pair: pair[0]) == [
            *((c, int(c)) for c in "012345678"[:4] + "5678"),
            ("four", Failure("invalid literal for int() with base 10: 'four'")),
        ]


def test_a_wrong_number_of_processes_is_said_by_joblib():
    with joblib.parallel_config(n_jobs=0), pytest.raises(ValueError, match="n_jobs == 0"):
        list(grid.each(str, [1, 2]))


@pytest.fixture
def cluster():
    distributed = pytest.importorskip("distributed")
    running = set(threading.enumerate())
    # Workers in threads of this process: nothing to start, nothing to leave behind.
    with distributed.Client(processes=False, n_workers=2, threads_per_worker=1, dashboard_address=":0") as client:
        yield client
    deadline = time.monotonic() + 5
    while left := {thread for thread in set(threading.enumerate()) - running if not thread.daemon}:
        assert time.monotonic() < deadline, left
        time.sleep(0.05)


def test_a_cluster_of_dask_runs_the_cells(tmp_path, diary, cluster):
    with joblib.parallel_config("dask"):
        watched = []
        done = noting(diary, LookupError("no data"))
        failures = grid.run_missing(CELLS, done, opened(tmp_path), expected=(LookupError,), watch=watched.append)
        assert failures == {CELLS[7]: Failure("no data")}
        assert sorted(watched) == sorted(CELLS)
        assert dict(opened(tmp_path).results) == {cell: EXPECTED[cell] for cell in CELLS if cell != CELLS[7]}
        grid.run_missing(CELLS, noting(diary), opened(tmp_path))
    assert dict(opened(tmp_path).results) == EXPECTED
    assert begun(diary) == Counter({name(cell): 1 + (cell == CELLS[7]) for cell in CELLS})


def test_a_cluster_of_dask_can_be_interrupted(tmp_path, diary, cluster):
    with joblib.parallel_config("dask"):
        with pytest.raises(KeyboardInterrupt):
            grid.run_missing(CELLS, noting(diary, slow_from=3), opened(tmp_path), watch=Enough(3))
        kept = opened(tmp_path).results
        assert len(kept) == 3
        with pytest.raises(ZeroDivisionError, match="a bug"):
            grid.run_missing(CELLS, noting(diary, ZeroDivisionError("a bug")), opened(tmp_path))
        grid.run_missing(CELLS, noting(diary), opened(tmp_path))
    assert dict(opened(tmp_path).results) == EXPECTED
    assert {cell: begun(diary)[name(cell)] for cell in kept} == dict.fromkeys(kept, 1)
