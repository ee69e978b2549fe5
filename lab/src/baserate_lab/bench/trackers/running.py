"""Running a cell of the benchmark."""

import warnings

import numpy as np
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from baserate.adapters import Base, Oracle, RegressAndReweight
from baserate.evaluation import evaluate
from baserate.protocols import Adapter, Tracker
from baserate.trackers import FLHFTL, FollowTheHistory, LikelihoodMixture
from baserate.trust import HoldoutWarning
from baserate_lab.bench.trackers import cells
from baserate_lab.bench.trackers.cells import TrackingCell, TrackingResult
from baserate_lab.bench.trackers.sets import Fitted, holdout
from baserate_lab.bench.trackers.some_labels import SomeLabels
from baserate_lab.bench.trackers.streams import Stream, stream
from baserate_lab.bench.trackers.two_mixes import TwoMixes

PROTOCOL = 3
"""Raise this when the same cell would give another result: stored cells are then run again."""


def run_tracking(cell: TrackingCell) -> TrackingResult:
    """Run a cell; the result depends on the cell alone."""
    with threadpool_limits(1):  # bit-identical on any machine, and faster for small matrices
        learnt = holdout(cell.data, cell.holdout, cell.distortion, cell.seed)
        along = stream(cell.data, cell.shift, cell.n, cell.seed, cell.distortion, cell.rounds)
        with warnings.catch_warnings():
            # Some cells test small holdouts and miscalibrated outputs on purpose.
            warnings.filterwarnings("ignore", message="the confusion matrix is nearly singular", category=UserWarning)
            warnings.simplefilter("ignore", HoldoutWarning)
            method = adapter(cell.method, along, learnt.calibrator).fit(learnt.proba, learnt.y)
        if cell.labels:
            assert isinstance(method, RegressAndReweight)
            method = SomeLabels(method, *cells.LABELS[cell.labels], cell.seed)
        found = evaluate(method, along.batches, labels=bool(cell.labels))
    return TrackingResult(found.mse, found.error_rate)


def adapter(method: str, along: Stream, calibrator: Fitted) -> Adapter:
    """An unfitted method; `Base` is the unchanged model, all others calibrate first."""
    if method == cells.BASE:
        return Base()
    if method == cells.CALIBRATED:
        return Base(calibrator=calibrator)
    if method == cells.ORACLE:
        return Oracle(along.path, calibrator=calibrator)
    tracker = _tracker(method, along)
    transductive = method == cells.TRANSDUCTIVE
    return RegressAndReweight(tracker, calibrator=calibrator, transductive=transductive, gate=False)


def _tracker(method: str, along: Stream) -> Tracker:
    n_rounds, k = along.path.shape
    if method == cells.START:
        return FLHFTL(k)
    if method == cells.WINDOW:
        return FLHFTL(k, experts="window")
    if method == cells.HISTORY:
        return FollowTheHistory(k)
    if method == cells.TOLD:
        first, second = along.ends
        return TwoMixes(first, second, flip=1 / np.sqrt(n_rounds))  # the default of the shift
    assert method in (cells.CAUSAL, cells.TRANSDUCTIVE)
    return LikelihoodMixture(k)
