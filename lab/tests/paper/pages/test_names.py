"""Names for people."""

from baserate_lab.paper.pages import names
from baserate_lab.paper.pages.names import duration

from .made_up import record


def test_a_problem_is_a_data_set_and_its_model():
    assert record(dataset="crop", model="forest").problem == "crop forest"
    assert [names.problem(name) for name in ("crop forest", "cifar10", "x y")] == ["Crop (forest)", "CIFAR-10", "x (y)"]


def test_durations():
    assert [duration(s) for s in (0.4, 59.6, 3599.4, 3600)] == ["0 s", "1 min 0 s", "59 min 59 s", "1 h 0 min"]
