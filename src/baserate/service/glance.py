"""Glance: the few readings of a stream that are told even while its state is on disk alone."""

from typing import NamedTuple, Self

from baserate.service.definitions import Label
from baserate.service.points import finite
from baserate.service.state import StreamState


class Glance(NamedTuple):
    """Readings of a stream."""

    classes: list[Label]
    round: int
    rows: int
    labels: int
    waiting: int
    missed_labels: int
    label_lag: float
    shadow: bool
    prior: list[float]
    source_prior: list[float]
    alarm: bool
    weight: float
    evidence: float
    reason: str
    health: list[str]

    @classmethod
    def of(cls, state: StreamState) -> Self:
        """Read them off a state."""
        adapter = state.adapter
        return cls(
            state.definition.classes,
            adapter.rounds_,
            state.rows_seen,
            state.labels_seen,
            len(state.waiting),
            adapter.missed_labels_,
            state.waiting.mean_lag,
            state.shadow,
            adapter.prior_.tolist(),
            adapter.source_prior_.tolist(),
            adapter.assumption_alarm_,
            finite(adapter.correction_weight_, 1.0),
            finite(adapter.assumption_evidence_, 1e308),
            adapter.fallback_reason_,
            state.health,
        )
