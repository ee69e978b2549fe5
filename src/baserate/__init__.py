"""baserate keeps any classifier right while class proportions drift."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from baserate._version import __version__ as __version__

if TYPE_CHECKING:
    from baserate.adapters import RegressAndReweight
    from baserate.bank import Bank
    from baserate.decisions import decide
    from baserate.evaluation import evaluate
    from baserate.integrations import LabelShiftClassifier
    from baserate.known_prior import reweight
    from baserate.smoothing import smooth
    from baserate.state import dumps, load, loads, save

__all__ = [
    "Bank", "LabelShiftClassifier", "RegressAndReweight", "decide", "dumps", "evaluate", "load", "loads", "reweight",
    "save", "smooth",
]  # fmt: skip

# Imported on first use: `import baserate` and `baserate --help` must not wait for numba and scikit-learn.
_HOME = {
    "Bank": "baserate.bank",
    "LabelShiftClassifier": "baserate.integrations",
    "RegressAndReweight": "baserate.adapters",
    "decide": "baserate.decisions",
    "dumps": "baserate.state",
    "evaluate": "baserate.evaluation",
    "load": "baserate.state",
    "loads": "baserate.state",
    "reweight": "baserate.known_prior",
    "save": "baserate.state",
    "smooth": "baserate.smoothing",
}


_SUB_PACKAGES = {
    "adapters", "backtesting", "calibrators", "checks", "datasets", "decisions", "integrations", "learners",
    "marginals", "metrics", "shifts", "smoothing", "trackers", "trust",
}  # fmt: skip


def __getattr__(name: str) -> Any:
    if name in _SUB_PACKAGES:
        return import_module(f"baserate.{name}")
    if name not in _HOME:
        raise AttributeError(f"module 'baserate' has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return sorted({*_HOME, *_SUB_PACKAGES, "__version__"})
