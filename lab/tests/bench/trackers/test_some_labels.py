"""Some labels, at once or late."""

import numpy as np

from baserate_lab.bench.trackers.some_labels import SomeLabels


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
