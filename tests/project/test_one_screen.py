"""A round of the main object can be followed: few files, few classes."""

import sys
from pathlib import Path

import numpy as np

import baserate
from baserate import RegressAndReweight

PACKAGE = Path(baserate.__file__).parent


def model_outputs(rng, n, share):
    y = (rng.random(n) < share).astype(int)
    odds = np.exp(2.0 * rng.normal(2.0 * y - 1.0, 1.0))
    return np.column_stack([1 / (1 + odds), odds / (1 + odds)]), y


def test_a_round_goes_through_at_most_ten_files():
    rng = np.random.default_rng(0)
    adapter = RegressAndReweight().fit(*model_outputs(rng, 1000, 0.5))
    assert adapter.calibrator_.degrees_of_freedom_ == 0
    for _ in range(5):
        adapter.step(model_outputs(rng, 10, 0.8)[0])
    batch = model_outputs(rng, 10, 0.8)[0]
    files = set()

    def note(frame, event, arg):
        path = Path(frame.f_code.co_filename)
        if event == "call" and path.is_relative_to(PACKAGE):
            files.add(str(path.relative_to(PACKAGE)))

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        adapter.step(batch)
    finally:
        sys.setprofile(before)
    assert "adapters/regress_and_reweight/adapter.py" in files
    assert len(files) <= 10, sorted(files)


def test_the_main_object_inherits_from_few_classes():
    own = [cls for cls in RegressAndReweight.__mro__ if cls.__module__.startswith("baserate")]
    assert len(own) <= 4, own
