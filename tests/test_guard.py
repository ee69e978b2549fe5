"""Guards keep threads apart, and are no part of what they guard."""

import copy
import os
import pickle
import threading

import numpy as np
import pytest

import baserate
from baserate.guard import Guard, copied_alone, guarded


class Counter:
    def __init__(self):
        self.guard, self.also = Guard(), None
        self.inside = self.most = self.done = 0

    @guarded
    def enter(self, pause):
        self.inside += 1
        self.most = max(self.most, self.inside)
        pause.wait(0.001)
        self.inside -= 1
        self.done += 1
        return self.nested()

    @guarded
    def nested(self):
        return self.done


def test_one_thread_at_a_time():
    counter, pause = Counter(), threading.Event()
    threads = [threading.Thread(target=lambda: [counter.enter(pause) for _ in range(5)]) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (counter.most, counter.done) == (1, 40)


def test_copies_have_a_guard_of_their_own():
    counter = Counter()
    counter.also = counter.guard
    with counter.guard:
        for other in (copy.deepcopy(counter), pickle.loads(pickle.dumps(counter))):
            assert other.guard is not counter.guard
            assert other.also is other.guard
            done = threading.Thread(target=other.nested, daemon=True)
            done.start()
            done.join(10)
            assert not done.is_alive(), "a copy does not wait for what it was copied from"


def test_a_copy_waits_for_whoever_moves_it():
    counter, taken = Counter(), []
    with counter.guard:
        copying = threading.Thread(target=lambda: taken.append(copied_alone(counter, {})), daemon=True)
        copying.start()
        copying.join(0.05)
        assert not taken
    copying.join(10)
    assert taken[0].done == 0


@pytest.mark.parametrize("banked", [False, True])
def test_a_deep_copy_of_an_adapter_holds_its_guard(banked):
    proba = np.tile(0.7 * np.eye(2) + 0.15, (50, 1))
    adapter = baserate.RegressAndReweight().fit(proba, [0, 1] * 50)
    subject = baserate.Bank(adapter) if banked else adapter
    copies = []
    with subject.guard:
        copying = threading.Thread(target=lambda: copies.append(copy.deepcopy(subject)), daemon=True)
        copying.start()
        copying.join(0.05)
        assert not copies
    copying.join(30)
    assert copies[0].guard is not subject.guard
    assert baserate.dumps(copies[0]) == baserate.dumps(subject)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # other threads are what this is about
def test_a_forked_process_finds_guards_open():
    counter, held, free = Counter(), threading.Event(), threading.Event()

    def hold():
        with counter.guard:
            held.set()
            free.wait(30)

    holding = threading.Thread(target=hold, daemon=True)
    holding.start()
    held.wait(10)
    child = os.fork()
    if child == 0:
        os._exit(0 if counter.guard.lock.acquire(timeout=5) else 1)
    free.set()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
