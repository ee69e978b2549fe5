"""Bets on samples that were chosen with known probabilities are bets on all samples."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from baserate.state import dumps, loads
from baserate.trust import Gate
from baserate.trust.gate.bets import RAREST, inverse_weights

PROBABILITIES = st.lists(st.floats(1e-6, 1.0), min_size=1, max_size=30)


@given(PROBABILITIES, st.lists(st.booleans(), min_size=30, max_size=30), st.integers(1, 29))
def test_weights_are_inverse_at_most_one_and_do_not_depend_on_how_samples_are_batched(values, tells, cut):
    probabilities, known = np.array(values), np.array(tells[: len(values)])
    limits, again = np.array([1.0, 0.0]), np.array([1.0, 0.0])
    found = inverse_weights(probabilities, known, limits)
    parts = [inverse_weights(probabilities[part], known[part], again) for part in (slice(cut), slice(cut, None))]
    np.testing.assert_array_equal(np.concatenate(parts)[known], found[known])
    np.testing.assert_array_equal(limits, again)
    assert ((found > 0.0) & (found <= 1.0)).all()
    least, largest = 1.0, 0.0
    for p, tell, weight in zip(values, known, found, strict=True):  # one at a time, by hand
        if tell:
            least, largest = min(least, p), max(largest, p)
            assert weight == pytest.approx(min(1.0, max(least, RAREST * largest) / p))


def fitted():
    return Gate().fit([[0.9, 0.1], [0.2, 0.8]] * 50, [0, 1] * 50)


def test_a_correction_that_hurts_on_average_but_not_where_labels_are_dense():
    """Samples that are often chosen, on which it helps, are few: without weights the verdict is wrong."""
    rng, verdicts = np.random.default_rng(0), {"weighted": [], "plain": []}
    for _ in range(40):
        gates = {"weighted": fitted(), "plain": fitted()}
        dense = rng.random(20_000) < 0.2
        difference = np.where(dense, -1.0, 1.0) * (rng.random(20_000) < 0.5)  # of losses: it hurts in 80 %
        chosen = np.where(dense, 0.5, 0.05)
        rows = rng.random(20_000) < chosen
        for name, gate in gates.items():
            losses = np.maximum(difference[rows], 0.0), np.maximum(-difference[rows], 0.0)
            gate.update_labels(*losses, *([chosen[rows]] if name == "weighted" else []))
            verdicts[name].append(gate.verdict_)
    assert verdicts["weighted"].count("hurts") >= 38
    assert verdicts["plain"].count("hurts") <= 2


@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_wrong_verdicts_are_as_rare_as_without_weights(sign):
    """Samples that differ by chance alone, labelled with probabilities that depend on what is predicted."""
    rng, wrong, runs = np.random.default_rng(5), 0, 400
    for _ in range(runs):
        gate = fitted()
        difference = np.where(rng.random(400) < 0.5, 1.0, -1.0)
        chosen = np.where(rng.random(400) < 0.5, 0.4, 0.1)
        rows = np.flatnonzero(rng.random(400) < chosen)[:100]
        d = sign * difference[rows]
        gate.update_labels(np.maximum(d, 0.0), np.maximum(-d, 0.0), chosen[rows])
        wrong += gate.verdict_ != ""
    assert wrong / runs <= 2 * 0.05


def test_a_gate_goes_on_with_the_probabilities_it_has_seen():
    gate = fitted()
    gate.update_labels([1.0, 0.0], [0.0, 1.0], [0.1, 0.4])
    again = loads(dumps(gate))
    for one in (gate, again):
        one.update_labels([1.0, 1.0], [0.0, 0.0], [0.2, 0.1])
    assert again.evidence_ == gate.evidence_
    other = fitted()
    other.update_labels([1.0, 1.0], [0.0, 0.0], [0.2, 0.1])
    assert "_chosen" not in fitted().get_state()
    assert other.evidence_ != gate.evidence_


@pytest.mark.parametrize("bad", [[0.5], [0.5, 0.0], [0.5, 1.5], [0.5, np.nan]])
def test_bad_probabilities_are_refused(bad):
    gate = fitted()
    before = dumps(gate)
    with pytest.raises(ValueError, match="probabilities"):
        gate.update_labels([1.0, 0.0], [0.0, 1.0], bad)
    assert dumps(gate) == before
