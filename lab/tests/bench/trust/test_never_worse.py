"""The gated adapter against the model left alone."""

from types import SimpleNamespace

import pytest

from baserate_lab.bench.trust import never_worse


@pytest.mark.parametrize(("shift", "size"), [("none", 30), ("Square", 200), ("Monotone", 200)])
def test_the_gated_adapter_is_not_worse_than_the_model_and_keeps_the_gain(world, monkeypatch, shift, size):
    found = SimpleNamespace(
        holdout_proba=world.proba[:5000],
        holdout_y=world.y[:5000],
        target_proba=world.proba[5000:],
        target_y=world.y[5000:],
    )
    monkeypatch.setattr(never_worse, "outputs", lambda *model, progress: found)
    row = never_worse.compare_with_base("any", ("any", "any"), shift, size, range(3))
    assert row.gated - row.base < never_worse.ALLOWED
    if shift == "none":
        assert row.ungated - row.base > 1.5 * never_worse.ALLOWED  # thirty samples are too few, which the gate sees
    else:
        assert row.base - row.gated >= 0.85 * (row.base - row.ungated) > 1.0


def test_a_long_real_stream_is_cut_and_its_order_kept(world, monkeypatch):
    found = SimpleNamespace(
        holdout_proba=world.proba[:500],
        holdout_y=world.y[:500],
        target_proba=world.proba[500:1500],
        target_y=world.y[500:1500],
    )
    monkeypatch.setattr(never_worse, "outputs", lambda *model, progress: found)
    monkeypatch.setattr(never_worse, "LONGEST", 205)
    wrong, weights, held = never_worse.play_stream(("any", "any"), never_worse.ORDER, 200, 0, 0.0)
    assert held == 200
    assert wrong.shape == (3, 205)
    assert len(weights) == 21
    assert wrong[0].tolist() == (found.target_proba.argmax(axis=1) != found.target_y)[:205].tolist()
