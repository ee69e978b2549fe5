"""Rows that wait are read in a thread, while others come and go."""

import threading

import numpy as np

from baserate.service.waiting import Waiting


def test_rows_are_read_while_others_come_and_go():
    waiting, over = Waiting(), threading.Event()

    def come_and_go():
        i = 0
        while not over.is_set():
            ids = [f"{i}-{j}" for j in range(20)]
            waiting.add(float(i), np.full((20, 2), 0.5), None, ids, at_most=400)
            i += 1

    thread = threading.Thread(target=come_and_go)
    thread.start()
    try:
        for _ in range(300):
            ids, since, rows = waiting.rows()
            assert len(ids) == len(since) == len(rows)
            assert all(name.startswith(f"{at:.0f}-") for name, at in zip(ids, since, strict=True))
    finally:
        over.set()
        thread.join()
