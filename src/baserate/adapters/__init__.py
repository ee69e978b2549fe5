"""Adapters keep a fixed model right without labels after training (unsupervised online label shift)."""

from baserate.adapters.atlas import ATLAS
from baserate.adapters.base import Base
from baserate.adapters.optimal_fixed import OptimalFixed
from baserate.adapters.oracle import Oracle
from baserate.adapters.regress_and_reweight import RegressAndReweight
from baserate.adapters.retrain_last_layer import RetrainLastLayer
from baserate.adapters.rogd import ROGD
from baserate.adapters.uogd import UOGD

__all__ = ["ATLAS", "ROGD", "UOGD", "Base", "OptimalFixed", "Oracle", "RegressAndReweight", "RetrainLastLayer"]
