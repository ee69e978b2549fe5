"""All parts that watch an adapter, fed by one stream, against the same parts fed by hand."""

import math

import numpy as np
import pytest

from baserate import load, save
from baserate.adapters import RegressAndReweight
from baserate.state import dumps, loads
from baserate.trackers import FLHFTL, LikelihoodMixture
from baserate.trust import (
    AccuracyEstimate,
    AssumptionCheck,
    ExplainedShare,
    Gate,
    PriorBand,
    SerialDependence,
    UnknownMass,
)
from baserate.trust.gate import gate as gates
from baserate.trust.monitor import TrustMonitor

from .honest_model import DRIFT, K, holdout, stream


def by_hand(proba, y, rounds):
    """Predictions and weights of the default adapter, its parts one by one; 256 samples are looked at together."""
    plain = RegressAndReweight(gate=False, alpha=None).fit(proba, y)
    calibrated = plain.calibrate(proba)
    gate = Gate().fit(calibrated, y, plain.source_prior_)
    check, unknown = AssumptionCheck().fit(proba, y), UnknownMass(500).fit(proba, y)
    dependence = SerialDependence()
    kept, neighbours, seen = [], [], 0
    begins, explained = True, ExplainedShare().fit(proba, y)
    for batch in rounds:
        mix = gate.mix(plain.prior_)
        weighted = plain.calibrate(batch) * (mix / plain.source_prior_)
        foreseen = batch if gate.off_ else weighted / weighted.sum(axis=1, keepdims=True)
        yield foreseen, gate.weight_, check, unknown, dependence
        plain.update(batch)
        enough = check.samples_ >= 5_000
        stride = max(math.isqrt(len(batch) // 6) if enough else len(batch) // 512, 1)
        kept.append(batch[::stride])
        neighbours = [*neighbours, batch] if stride == 1 else [batch[:512]]
        seen += 1
        n = sum(map(len, kept))
        if n < 256 and begins and any(n - len(batch) < early <= n for early in (64, 128)):
            dependence.reset()
            dependence.update(np.concatenate(neighbours))
            gate.update(plain.prior_, rounds=0, dependent=dependence.dependent_, explained=False)
        elif n < 256:
            if 0.5 * np.abs(plain.prior_ - gate.rehearsed_at_).sum() > 0.1:  # a jump is not waited with
                gate.update(plain.prior_, rounds=0)
        else:
            rows = np.concatenate(kept)
            check.take_in(rows, seen)
            unknown.update(rows[::4])
            explained.update(rows)
            if begins:
                dependence.reset()
            begins = False
            dependence.update(np.concatenate(neighbours))
            signs = {"dependent": dependence.dependent_, "explained": explained.explained_}
            gate.update(plain.prior_, check.alarm_, seen, **signs)
            if check.alarm_:
                check.reset()
            kept, neighbours, seen = [], [], 0


@pytest.mark.parametrize("alike", [False, True])
@pytest.mark.parametrize("size", [40, 900])
@pytest.mark.parametrize("n", [1, 10, 300, 4000])
def test_it_is_its_parts(size, n, alike, monkeypatch):
    # Whatever the holdout would say: a rehearsal that holds back far from the source prior.
    monkeypatch.setattr(
        gates, "rehearse", lambda *holdout_and_mix, thin: 0.5 if holdout_and_mix[-1].max() > 0.3 else 1.0
    )
    proba, y = holdout(size)
    rng = np.random.default_rng(1)
    mixes = [*DRIFT[::3], *np.tile([0.1, 0.1, 0.3, 0.5], (150 if n < 300 else 20 if n == 300 else 5, 1))]
    rounds = [batch[:n] for mix in mixes for batch, _ in stream([mix], rng, n * (8 if n == 1 else 1))]
    if alike:  # at last every sample comes several times
        few = max(n // 4, 1)
        rounds += [batch[:few].repeat(-(-n // few), axis=0)[:n] for batch in rounds for _ in range(4 // n or 1)]
    adapter = RegressAndReweight().fit(proba, y)
    weights = []
    for (expected, weight, check, unknown, dependence), batch in zip(by_hand(proba, y, rounds), rounds, strict=True):
        assert adapter.correction_weight_ == weight
        assert adapter.serial_correlation_ == dependence.correlation_
        assert adapter.unknown_mass_ == unknown.mass_
        assert adapter.assumption_evidence_ >= check.evidence_
        pure = adapter.predict_proba(batch)
        step = adapter.step(batch)
        np.testing.assert_allclose(step.proba, expected, rtol=1e-9, atol=1e-12)
        np.testing.assert_array_equal(pure, step.proba)
        weights.append(weight)
    assert n == 1 or min(weights) < 1.0  # or nothing has been compared
    assert dependence.dependent_ == alike


def test_the_band_and_the_accuracy_are_those_of_the_parts():
    proba, y = holdout()
    for tracker in (LikelihoodMixture(K), FLHFTL(K)):
        adapter = RegressAndReweight(tracker, calibrator=None).fit(proba, y)
        band, accuracy = PriorBand().fit(proba, y), AccuracyEstimate().fit(proba, y)
        for batch, _ in stream(DRIFT, np.random.default_rng(2)):
            mix = np.exp(adapter.log_offsets()) * adapter.source_prior_
            accuracy.update(batch, mix / mix.sum())
            adapter.step(batch)
            band.update(batch, adapter.tracker_)
        expected = band.interval(adapter.prior_, adapter.tracker_, 0.8)
        np.testing.assert_array_equal(adapter.prior_interval(0.8), expected)
        np.testing.assert_allclose(adapter.estimated_accuracy(0.8), accuracy.estimate(0.8), rtol=1e-9)
        assert adapter.prior_interval(0.5)[0, 1] < adapter.prior_interval(0.95)[0, 1]


def test_nothing_is_collected_twice_or_lost_by_saving(tmp_path):
    adapter = RegressAndReweight().fit(*holdout(300))
    batches = [batch for batch, _ in stream([*DRIFT, *DRIFT[::-1]], np.random.default_rng(8), noise=2.0)]
    for t, batch in enumerate(batches):
        if t % 37 == 5:
            save(adapter, tmp_path / "adapter.baserate")
            adapter_again = load(tmp_path / "adapter.baserate")
            assert dumps(adapter_again) == dumps(adapter)
        adapter.update(batch)
        if t % 37 >= 5:
            adapter_again.update(batch)
            assert dumps(adapter_again) == dumps(adapter)
    assert adapter.assumption_alarm_


def _monitor(k=K):
    proba, y = holdout(600)
    if k < K:
        proba, y = np.tile([[0.9, 0.1], [0.2, 0.8]], (60, 1)), np.arange(120) % 2
    return TrustMonitor().fit(proba, proba, y, np.full(k, 1 / k), FLHFTL(k))


@pytest.mark.parametrize("name", ["_band", "_accuracy", "check_", "_unknown", "explained_", "source_prior_"])
def test_parts_of_other_classes_are_refused(name):
    monitor = _monitor()
    loads(dumps(monitor))
    setattr(monitor, name, getattr(_monitor(2), name))
    with pytest.raises(ValueError, match=r"not of length"):
        loads(dumps(monitor))


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("_band", PriorBand()),
        ("_accuracy", AccuracyEstimate()),
        ("check_", AssumptionCheck()),
        ("_unknown", UnknownMass()),
        ("explained_", ExplainedShare()),
        ("_band", UnknownMass()),
        ("dependence_", None),
        ("known_", False),
        ("checks_", False),
        ("_n_rounds", -1),
        ("_past_evidence", 0.5),
        ("_past_findings", [(K, "doubt", None, True, 0.1, 0.1, 0.1, 1.0)]),
        ("_past_findings", [(0, "<script>", None, True, 0.1, 0.1, 0.1, 1.0)]),
        ("_past_findings", [(0, "doubt", None, True, 0.1, 0.1, 0.1)]),
    ],
)
def test_a_damaged_state_is_refused(name, wrong):
    monitor = _monitor()
    setattr(monitor, name, wrong)
    with pytest.raises(ValueError, match=r"holds TrustMonitor|does not fit together: TrustMonitor"):
        loads(dumps(monitor))


def test_nothing_is_left_of_a_holdout_before():
    monitor = _monitor()
    monitor.fit(None, None, None, np.array([0.5, 0.5]), FLHFTL(2))
    assert dumps(loads(dumps(monitor))) == dumps(TrustMonitor().fit(None, None, None, np.array([0.5, 0.5]), FLHFTL(2)))


def test_of_large_rounds_fewer_samples_are_looked_at_once_rounds_abound(monkeypatch):
    looked_at = []
    monkeypatch.setattr(AssumptionCheck, "take_in", lambda self, rows, rounds: looked_at.append((len(rows), rounds)))
    adapter = RegressAndReweight(calibrator=None).fit(*holdout())
    batch, _ = next(stream(DRIFT[:1], np.random.default_rng(3), 100))
    for rounds, each in ((0, 100), (999, 100), (1000, 25)):  # every fourth one
        adapter.reset()
        adapter._monitor.check_.rounds_ = rounds
        looked_at.clear()
        for _ in range(24):
            adapter.step(batch)
        rows, seen = np.sum(looked_at, axis=0)
        assert rows == each * seen > 0


def test_large_rounds_are_thinned_once_enough_samples_were_looked_at(monkeypatch):
    looked_at, real = [], AssumptionCheck.take_in

    def take_in(self, rows, rounds):
        looked_at.append((len(rows), rounds, self.samples_))
        real(self, rows, rounds)

    monkeypatch.setattr(AssumptionCheck, "take_in", take_in)
    adapter = RegressAndReweight(calibrator=None).fit(*holdout())
    batches = [batch for batch, _ in stream(np.repeat(DRIFT[:1], 70, axis=0), np.random.default_rng(3), 100)]
    for batch in batches:
        adapter.step(batch)
    assert not adapter.assumption_alarm_
    full = [100 * rounds == n for n, rounds, _ in looked_at]
    # The evaluation in which 5,000 are reached is the last in which every sample counts.
    assert full == [before + 300 <= 5_100 for *_, before in looked_at]
    assert looked_at[-1][:2] == (275, 11)


def test_a_rounded_stream_has_no_unknown_mass():
    rng = np.random.default_rng(5)

    def scores(n, share):
        y = (rng.random(n) < share).astype(int)
        odds = np.exp(1.2 * (rng.normal(1.2 * y, 1.0) - 0.6))
        return np.column_stack([1 / (1 + odds), odds / (1 + odds)]), y

    adapter = RegressAndReweight().fit(*scores(1000, 0.3))
    proba, _ = scores(6000, 0.7)
    for part in np.split(proba.round(2), 60):
        adapter.step(part)
        assert adapter.unknown_mass_ == 0.0
