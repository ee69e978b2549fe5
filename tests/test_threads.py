"""Parts that are worked on at the same time are all of it, and nobody is left behind."""

import threading
import time

import numpy as np
import pytest

from baserate import Bank, threads
from baserate.adapters import RegressAndReweight
from baserate.state import dumps
from baserate.threads import in_threads
from baserate.trackers import Aligator, Arrows, FollowTheFixedWindow, FollowTheHistory, LikelihoodMixture

K = 3


@pytest.mark.parametrize(
    ("n", "n_threads", "n_parts"), [(0, 4, 1), (1999, 4, 1), (2000, 4, 2), (10_001, 4, 4), (9000, 1, 1)]
)
def test_the_parts_are_the_whole(monkeypatch, n, n_threads, n_parts):
    monkeypatch.setattr(threads, "max_threads", lambda: n_threads)
    done, parts = np.zeros(n), []

    def work(begin, end):
        done[begin:end] += 1
        parts.append(threading.get_ident())

    in_threads(work, n)
    np.testing.assert_array_equal(done, np.ones(n))
    assert len(parts) == n_parts
    assert threading.get_ident() in parts


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
@pytest.mark.parametrize("bad", [0, 2])
def test_an_error_is_raised_when_all_other_parts_are_done(monkeypatch, error, bad):
    monkeypatch.setattr(threads, "max_threads", lambda: 3)
    done = []

    def work(begin, end):
        if begin == bad * 1000:
            raise error
        time.sleep(0.05)
        done.append(begin)

    with pytest.raises(error):
        in_threads(work, 3000)
    assert sorted(done) == [begin for begin in (0, 1000, 2000) if begin != bad * 1000]


def rounds(rng, n_keys):
    """Rounds with some rows of most keys, new ones among them, in any order; some have labels."""
    for t in range(4):
        keys = rng.integers(n_keys * (t + 2) // 5, size=2 * n_keys)
        y = np.where(rng.random(len(keys)) < 0.2, rng.integers(K, size=len(keys)), -1)
        yield keys, rng.dirichlet(np.ones(K), size=len(keys)), y if t % 2 else None


@pytest.mark.parametrize("cls", [LikelihoodMixture, Arrows, Aligator, FollowTheFixedWindow, FollowTheHistory])
def test_threads_give_a_bank_the_same_bits(monkeypatch, cls):
    rng = np.random.default_rng(0)
    y = rng.integers(K, size=300)
    holdout = 0.6 * np.eye(K)[y] + 0.4 * rng.dirichlet(np.ones(K), size=len(y))
    adapter = RegressAndReweight(cls(K), calibrator=None, gate=False, alpha=None).fit(holdout, y)
    saved, predicted, n_threads = {}, {}, set()
    for n in (1, 3):
        monkeypatch.setattr(threads, "max_threads", lambda n=n: n)
        bank, ran = Bank(adapter), set()
        update_rows = bank.adapter.tracker_.update_rows

        def watched(*arguments, ran=ran, update_rows=update_rows):
            ran.add(threading.get_ident())
            update_rows(*arguments)

        bank.adapter.tracker_.update_rows = watched
        steps = [bank.step(*batch) for batch in rounds(np.random.default_rng(1), 4000)]
        del bank.adapter.tracker_.update_rows
        saved[n], predicted[n] = dumps(bank), np.vstack([step.proba for step in steps] + [step.prior for step in steps])
        n_threads.add(len(ran))
    assert saved[1] == saved[3]
    assert predicted[1].tobytes() == predicted[3].tobytes()
    assert (max(n_threads) > 1) == cls.in_threads
