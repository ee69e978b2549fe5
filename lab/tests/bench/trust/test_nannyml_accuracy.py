"""What to install to compare with NannyML."""

import sys

import numpy as np
import pytest

from baserate_lab.bench.trust import nannyml_accuracy


def test_what_to_install_for_nannyml(monkeypatch):
    monkeypatch.setitem(sys.modules, "nannyml", None)
    with pytest.raises(ImportError, match="pip install nannyml"):
        nannyml_accuracy.Cbpe(np.eye(2), np.arange(2))
