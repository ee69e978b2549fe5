"""Threads that share an adapter: nothing is lost, and nothing breaks."""

import copy
import pickle
import sys
import threading

import joblib
import numpy as np
import pytest
from sklearn.base import clone

from baserate import Bank, RegressAndReweight
from baserate.checks._roles import PROBA, Y
from baserate.state import dumps, loads

THREADS, CALLS = 8, 60


@pytest.fixture
def often_switched():
    """Python changes threads after every few instructions."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def together(work):
    """Run ``work(thread, call)`` many times in several threads that begin at once; raise what they raised."""
    begin, errors = threading.Barrier(THREADS), []

    def run(thread):
        begin.wait()
        try:
            for call in range(CALLS):
                work(thread, call)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(thread,)) for thread in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


def test_no_round_is_lost(often_switched):
    adapter = RegressAndReweight(max_waiting=100).fit(PROBA, Y)

    def work(thread, call):
        ids = [f"{thread}-{call}-{i}" for i in range(5)]
        rows = np.arange(5) + (7 * thread + call) % 50
        adapter.step(PROBA[rows], Y[rows] if call % 3 == 0 else None, ids=ids)
        adapter.update_labels(ids[:2], Y[rows[:2]])
        if call % 10 == 0:
            adapter.prior_interval()
            adapter.estimated_accuracy()
            loads(dumps(adapter))
        adapter.predict_proba(PROBA[:3])

    together(work)
    assert adapter.rounds_ == THREADS * CALLS
    np.testing.assert_allclose(adapter.prior_.sum(), 1.0)


def test_one_guard_makes_one_of_several_calls(often_switched):
    adapter = RegressAndReweight().fit(PROBA, Y)

    def work(thread, call):
        with adapter.guard:
            before = adapter.rounds_
            adapter.update(PROBA[:5])
            adapter.update(PROBA[:5])
            assert adapter.rounds_ == before + 2

    together(work)
    assert adapter.rounds_ == 2 * THREADS * CALLS


def test_no_key_of_a_bank_is_lost(often_switched):
    bank = Bank(RegressAndReweight().fit(PROBA, Y))

    def work(thread, call):
        bank.step([f"{thread}-{call}-{i}" for i in range(5)], PROBA[:5])
        if call % 20 == 0:
            bank.adapter.refit(PROBA, Y)

    together(work)
    assert bank.rounds_ == THREADS * CALLS
    assert len(bank) == 5 * THREADS * CALLS
    assert len(np.unique(list(bank._row.values()))) == len(bank)


def test_the_guard_is_no_part_of_the_state():
    adapter = RegressAndReweight().fit(PROBA, Y)
    adapter.update(PROBA[:5])
    with adapter.guard:
        twins = [copy.deepcopy(adapter), pickle.loads(pickle.dumps(adapter)), loads(dumps(adapter))]
        (there,) = joblib.Parallel(n_jobs=1)(joblib.delayed(copy.deepcopy)(one) for one in [adapter])
    for twin in (*twins, there):
        assert twin.guard is not adapter.guard
        assert dumps(twin) == dumps(adapter)
    assert clone(adapter).guard is not adapter.guard
    assert b"guard" not in dumps(adapter)
