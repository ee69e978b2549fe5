"""Readings of a stream as plain data, for answers and for the dashboard."""

from typing import Any

import numpy as np

from baserate.service.points import Point, finite
from baserate.service.running import RunningStream


def tell_summary(stream: RunningStream, point: Point | None) -> dict[str, Any]:
    """Return a stream at a glance."""
    seen = stream.glance._asdict()
    hidden = ("missed_labels", "label_lag")
    return {
        "name": stream.name,
        "created": stream.created,
        **{name: value for name, value in seen.items() if name not in hidden},
        "at": None if point is None else point.at,
        "rate": 0.0 if point is None else point.rate,
        "accuracy": None if point is None else point.plain()["accuracy"],
    }


def tell_stream(stream: RunningStream) -> dict[str, Any]:
    """Return everything that a stream says about itself."""
    state = stream.state
    adapter = state.adapter
    band, accuracy = adapter.prior_interval(), adapter.estimated_accuracy()
    offsets = [float(value) if np.isfinite(value) else None for value in adapter.log_offsets()]
    calibrator = adapter.calibrator_
    return {
        "name": stream.name,
        "classes": state.definition.classes,
        "options": state.definition.options,
        "created": stream.created,
        "round": adapter.rounds_,
        "rows": state.rows_seen,
        "buffered_rows": state.buffered_rows,
        "labels": state.labels_seen,
        "waiting": len(state.waiting),
        "missed_labels": adapter.missed_labels_,
        "label_lag": state.waiting.mean_lag,
        "shadow": state.shadow,
        "prior": adapter.prior_.tolist(),
        "source_prior": adapter.source_prior_.tolist(),
        "bands": np.clip(band, 0.0, 1.0).tolist(),
        "offsets": offsets,
        "gate": {
            "weight": finite(adapter.correction_weight_, 1.0),
            "fallback": adapter.fallback_active_,
            "reason": adapter.fallback_reason_,
            "since": adapter.fallback_since_,
        },
        "evidence": {
            "value": finite(adapter.assumption_evidence_, 1e308),
            "alarm": adapter.assumption_alarm_,
            "alarm_at": None if adapter.alpha is None else 1.0 / adapter.alpha,
            "untested": adapter.assumption_untested_,
            "findings": [str(finding) for finding in adapter.assumption_findings_],
        },
        "estimated_accuracy": {
            "value": None if np.isnan(accuracy.value) else float(accuracy.value),
            "low": float(accuracy.low),
            "high": float(accuracy.high),
        },
        "unknown_mass": finite(adapter.unknown_mass_, 0.0),
        "serial_correlation": finite(adapter.serial_correlation_, 0.0),
        "calibration": getattr(calibrator, "reason_", ""),
        "health": state.health,
    }
