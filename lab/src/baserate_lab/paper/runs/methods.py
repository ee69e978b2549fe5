"""The paper's methods by label, set up as in the published runs."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from baserate.adapters import ATLAS, ROGD, UOGD, Base, OptimalFixed, Oracle, RegressAndReweight, RetrainLastLayer
from baserate.calibrators import TemperatureScaling, VectorScaling
from baserate.integrations import LastLayer
from baserate.marginals import BBSE, MLLS, RLLS
from baserate.protocols import Adapter, Batch, Calibrator, FloatArray, IntArray, MarginalEstimator, Tracker
from baserate.shifts import frequencies
from baserate.trackers import FLHFTL, Arrows, FollowTheFixedWindow, FollowTheHistory, LastSighting
from baserate_lab.paper.published import Lagged, PublishedATLAS, PublishedROGD, PublishedUOGD, published_step_sizes

CALIBRATORS: dict[str, Callable[[], Calibrator]] = {"temperature": TemperatureScaling, "vector": VectorScaling}
CALIBRATED = "Base (calibrated)"
"""Label of the base model with its calibrator, which not every calibrator leaves at the same classes."""
MARGINALS: dict[str, Callable[[], MarginalEstimator]] = {"BBSE": BBSE, "MLLS": MLLS, "RLLS": RLLS}


class Setting(NamedTuple):
    """Everything that a method may need."""

    stream: list[Batch]
    holdout: FloatArray
    """Probabilities of the part of the holdout that methods are given."""
    holdout_y: IntArray
    marginal: str
    calibrator: str
    lipschitz: float | None
    uogd_lipschitz: float
    layer: LastLayer | None

    @property
    def k(self) -> int:
        """Number of classes."""
        return int(self.holdout.shape[1])

    def new_calibrator(self) -> Calibrator:
        """An unfitted calibrator."""
        return CALIBRATORS[self.calibrator]()


def _calibrated_base(s: Setting) -> Adapter:
    # Temperature scaling does not change the predicted classes, vector scaling does.
    source = np.bincount(s.holdout_y, minlength=s.k) / len(s.holdout_y)
    return Oracle(np.tile(source, (len(s.stream), 1)), calibrator=s.new_calibrator())


def _follow(tracker: Callable[[int], Tracker]) -> Callable[[Setting], Adapter]:
    return lambda s: RegressAndReweight(tracker(s.k), MARGINALS[s.marginal](), s.new_calibrator(), gate=False)


def _window(k: int) -> FLHFTL:
    return FLHFTL(k, experts="window")


def _rogd(s: Setting) -> Adapter:
    return PublishedROGD(MARGINALS[s.marginal](), s.new_calibrator(), lipschitz=s.lipschitz, horizon=len(s.stream))


def _layer(s: Setting) -> tuple[FloatArray, FloatArray | None]:
    assert s.layer is not None, "features are loaded for the methods of NEED_FEATURES"
    # A layer trained without intercepts gets none.
    return s.layer.coef, s.layer.intercept if s.layer.intercept.any() else None


def _steps(s: Setting) -> dict[str, Any]:
    joint = s.holdout.T @ np.eye(s.k)[s.holdout_y] / len(s.holdout_y)
    sigma = float(np.linalg.eigvals(joint).real.min())
    return published_step_sizes(_layer(s)[0], s.uogd_lipschitz, max(sigma, 1e-3 / s.k), len(s.stream))


def _uogd(s: Setting) -> Adapter:
    return PublishedUOGD(*_layer(s), MARGINALS[s.marginal](), step_size=_steps(s)["step_size"])


def _atlas(s: Setting) -> Adapter:
    horizon = len(s.stream)
    return PublishedATLAS(*_layer(s), MARGINALS[s.marginal](), step_sizes=_steps(s)["step_sizes"], horizon=horizon)


def _retrain(s: Setting) -> Adapter:
    return RetrainLastLayer(*_layer(s), Lagged(_window(s.k)), MARGINALS[s.marginal]())


METHODS: dict[str, Callable[[Setting], Adapter]] = {
    "Base": lambda _: Base(),
    CALIBRATED: _calibrated_base,
    "OFC": lambda s: OptimalFixed.from_stream(s.stream, calibrator=s.new_calibrator()),
    "Oracle": lambda s: Oracle(frequencies(s.stream), calibrator=s.new_calibrator()),
    "FTH": _follow(FollowTheHistory),
    "FTFWH": _follow(FollowTheFixedWindow),
    "ROGD": _rogd,
    "UOGD": _uogd,
    "ATLAS": _atlas,
    "FLH-FTL": _follow(lambda k: Lagged(_window(k))),
    "BBSE": _follow(LastSighting),
    "RT-FLH-FTL": _retrain,
    "FLH-FTL (literal)": _follow(FLHFTL),
    "FLH-FTL (no lag)": _follow(_window),
}
"""Builders of unfitted methods by label; called with a `Setting`."""

PAPER = ("Base", "OFC", "Oracle", "FTH", "FTFWH", "ROGD", "UOGD", "ATLAS", "FLH-FTL")
"""Rows of the paper's tables."""

BEYOND = ("FLH-FTL (literal)", "FLH-FTL (no lag)")
"""Rows below them: the paper's algorithm as stated, and the published variant without its lag."""

DEFAULTS: dict[str, Callable[[Setting], Adapter]] = {
    "Oracle (default)": lambda s: Oracle([batch.q for batch in s.stream]),
    "FTH (default)": lambda s: RegressAndReweight(FollowTheHistory(s.k), gate=False),
    "FTFWH (default)": lambda s: RegressAndReweight(FollowTheFixedWindow(s.k), gate=False),
    "ROGD (default)": lambda _: ROGD(),
    "UOGD (default)": lambda s: UOGD(*_layer(s)),
    "ATLAS (default)": lambda s: ATLAS(*_layer(s)),
    "FLH-FTL (default)": lambda s: RegressAndReweight(FLHFTL(s.k), gate=False),
    "FLH-FTL windows (default)": lambda s: RegressAndReweight(_window(s.k), gate=False),
    "Arrows (default)": lambda s: RegressAndReweight(Arrows(s.k), gate=False),
}
"""Methods with the library's defaults: an automatically chosen calibrator and no horizon; the oracle is given q_t.

There is no gate, as the paper's methods have none."""

METHODS |= DEFAULTS

NEED_FEATURES = frozenset({"UOGD", "ATLAS", "RT-FLH-FTL", "UOGD (default)", "ATLAS (default)"})
"""Methods that update the last layer; a forest has none."""
