"""A deliberately broken class fails each contract check, and only for the reason it should."""

import itertools

import numpy as np
import pytest

from baserate import checks
from baserate.adapters import UOGD, Base, RegressAndReweight
from baserate.marginals import BBSE
from baserate.shifts import Constant
from baserate.state import Component
from baserate.trackers import FollowTheHistory, LastSighting
from baserate.validation import check_vector

K = 3


class WrongShape(FollowTheHistory):
    def predict(self):
        return super().predict()[:2]


class NotFinite(FollowTheHistory):
    def predict(self):
        return super().predict() * np.nan


class PredictMoves(FollowTheHistory):
    def predict(self):
        out = super().predict()
        self.update(out + 0.1)
        return out


class Random(FollowTheHistory):
    def update(self, z, evidence=None):
        super().update(np.asarray(z) + next(Random.noise))

    noise = itertools.count(1.0)


class ReturnsItsState(LastSighting):
    def predict(self):
        return self._state.last[0]


class KeepsTheInput(Component):
    def __init__(self, n_classes):
        self.n_classes = n_classes
        self.reset()

    def reset(self):
        self.last = np.full(self.n_classes, 1 / self.n_classes)

    def predict(self):
        return self.last.copy()

    def update(self, z, evidence=None):
        self.last = check_vector(z, self.n_classes)


class ChangesItsParameter(FollowTheHistory):
    def __init__(self, n_classes, *, prior=None, scale=1):
        super().__init__(n_classes, prior=prior)
        self.scale = scale

    def update(self, z, evidence=None):
        super().update(z)
        self.scale += 1


class ForgetsToSave(FollowTheHistory):
    def get_state(self):
        return {**super().get_state(), "_state": self.new_state(self.predict()[np.newaxis])._asdict()}


class IgnoresUpdates(FollowTheHistory):
    def update(self, z, evidence=None):
        check_vector(z, self.n_classes)


class SharesState(FollowTheHistory):
    def __deepcopy__(self, memo):
        twin = SharesState(self.n_classes)
        twin._state = self._state
        return twin


class ResetsNothing(FollowTheHistory):
    def reset(self):
        if not hasattr(self, "_state"):
            super().reset()


class WrongSign(FollowTheHistory):
    def predict(self):
        birth = np.full(self.n_classes, 1 / self.n_classes)
        return 2 * birth - super().predict()


class OnlyTheSimplex(FollowTheHistory):
    def update(self, z, evidence=None):
        if (check_vector(z, self.n_classes) < 0).any():
            raise ValueError("z leaves the simplex")
        super().update(z)


class Overflows(FollowTheHistory):
    def predict(self):
        out = super().predict()
        return out if np.abs(out).max() < 10 else out * np.inf


class Hoards(FollowTheHistory):
    def update(self, z, evidence=None):
        super().update(z)
        self.history = np.append(getattr(self, "history", np.empty(0)), z)

    def reset(self):
        super().reset()
        self.history = np.empty(0)


class MixesKeys(FollowTheHistory):
    def update_rows(self, state, rows, z, evidence=None):
        super().update_rows(state, rows, z[::-1].copy(), evidence)


class AcceptsNaN(FollowTheHistory):
    def update(self, z, evidence=None):
        self.update_rows(self._state, np.zeros(1, dtype=int), np.asarray(z, dtype=float)[np.newaxis])


class MovesBeforeItChecks(FollowTheHistory):
    def update(self, z, evidence=None):
        self._state.seen[:] += 1
        super().update(z)
        self._state.seen[:] -= 1


class AnonymousError(FollowTheHistory):
    def update(self, z, evidence=None):
        try:
            super().update(z)
        except (ValueError, TypeError) as error:
            raise ValueError("no") from error


class Unnormalised(RegressAndReweight):
    def predict_proba(self, proba):
        return 2 * super().predict_proba(proba)


class StepUpdatesFirst(RegressAndReweight):
    def step(self, proba, y=None):
        self.update(proba, y)
        return super().step(proba, y)


class EmptyIsAnError(RegressAndReweight):
    def update(self, proba, y=None):
        if len(proba) == 0:
            raise ValueError("proba is empty")
        super().update(proba, y)


class NeverStarts(RegressAndReweight):
    def reset(self):
        pass


class EstimatesMore(BBSE):
    def estimate(self, proba):
        self.counter = getattr(self, "counter", 0) + 1
        return super().estimate(proba) * self.counter


class NegativeShare(Constant):
    def path(self, n_rounds, n_classes, rng=None):
        return super().path(n_rounds, n_classes, rng) - [[1.0, 0.0, -1.0]]


class Unseeded(Constant):
    def path(self, n_rounds, n_classes, rng=None):
        super().path(n_rounds, n_classes, rng)
        return np.random.default_rng().dirichlet(np.ones(n_classes), size=n_rounds)


class KeepsTheHoldout(UOGD):
    def fit(self, X, y):
        super().fit(X, y)
        self._features = np.asarray(X)
        return self


class SharesWhatItIsGiven(RegressAndReweight):
    def set_state(self, state):
        self.__dict__.update(state)
        return self


class AnotherPrior(RegressAndReweight):
    def step(self, proba, y=None):
        step = super().step(proba, y)
        return step._replace(prior=self.prior_)


class EmptyMoves(UOGD):
    def _advance(self, features, labels):
        super()._advance(features, labels)
        self._heads = self._heads + 1e-3


class AcceptsNaNFeatures(UOGD):
    def _check_batch(self, X):
        return np.nan_to_num(np.asarray(X, dtype=np.float64).reshape(-1, K))


LAYER = [[2.0, 0.0, -1.0], [0.0, 2.0, 0.0], [-1.0, 0.0, 2.0]]
SABOTEURS = [
    (KeepsTheHoldout(LAYER), checks.check_no_aliases),
    (SharesWhatItIsGiven(), checks.check_states_are_not_shared),
    (AnotherPrior(), checks.check_step),
    (EmptyMoves(LAYER), checks.check_empty_batch),
    (AcceptsNaNFeatures(LAYER), checks.check_bad_input),
    (WrongShape(K), checks.check_output),
    (NotFinite(K), checks.check_output),
    (Unnormalised(), checks.check_output),
    (NegativeShare(), checks.check_output),
    (PredictMoves(K), checks.check_pure),
    (EstimatesMore(), checks.check_pure),
    (Random(K), checks.check_deterministic),
    (Unseeded(), checks.check_deterministic),
    (ReturnsItsState(K), checks.check_no_aliases),
    (KeepsTheInput(K), checks.check_no_aliases),
    (ChangesItsParameter(K), checks.check_clone),
    (ForgetsToSave(K), checks.check_resume),
    (IgnoresUpdates(K), checks.check_moves),
    (SharesState(K), checks.check_copies_are_independent),
    (ResetsNothing(K), checks.check_reset),
    (NeverStarts(), checks.check_reset),
    (WrongSign(K), checks.check_tracker_learns),
    (IgnoresUpdates(K), checks.check_tracker_learns),
    (OnlyTheSimplex(K), checks.check_tracker_takes_any_vector),
    (Overflows(K), checks.check_tracker_takes_any_vector),
    (Hoards(K), checks.check_memory),
    (MixesKeys(K), checks.check_bank),
    (AcceptsNaN(K), checks.check_bad_input),
    (MovesBeforeItChecks(K), checks.check_bad_input),
    (AnonymousError(K), checks.check_bad_input),
    (StepUpdatesFirst(), checks.check_step),
    (EmptyIsAnError(), checks.check_empty_batch),
]


@pytest.mark.parametrize(("saboteur", "check"), SABOTEURS, ids=lambda v: getattr(v, "__name__", type(v).__name__))
def test_the_broken_are_found(saboteur, check):
    assert check in checks.checks_for(saboteur)
    with pytest.raises((AssertionError, ValueError)):
        check(saboteur)


def test_every_check_has_a_saboteur():
    every = {check for check in vars(checks).values() if getattr(check, "__name__", "").startswith("check_")}
    assert every == {check for _, check in SABOTEURS}


class Structural:
    """A tracker that inherits from nothing."""

    def __init__(self, n_classes=3):
        self.n_classes = n_classes
        self.reset()

    def reset(self):
        self.total, self.n = np.zeros(self.n_classes), 0

    def predict(self):
        return self.total / self.n if self.n else np.full(self.n_classes, 1 / self.n_classes)

    def update(self, z, evidence=None):
        self.total, self.n = self.total + z, self.n + 1


def test_a_structural_tracker_is_a_tracker():
    applicable = checks.checks_for(Structural())
    assert checks.check_tracker_learns in applicable
    for check in applicable:
        check(Structural())


def test_what_follows_no_contract_is_told_so():
    with pytest.raises(AssertionError, match="none of the contracts"):
        checks.checks_for(object())


def test_an_unknown_argument_is_reported():
    class Extra(Base):
        def forecast(self, horizon):
            return horizon

    with pytest.raises(AssertionError, match="horizon"):
        checks.check_bad_input(Extra())
