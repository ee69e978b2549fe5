"""Adapters keep a fixed model right without labels after training (unsupervised online label shift)."""

from baserate.adapters.base import Base
from baserate.adapters.oracle import Oracle
from baserate.adapters.regress_and_reweight import RegressAndReweight

__all__ = ["Base", "Oracle", "RegressAndReweight"]
