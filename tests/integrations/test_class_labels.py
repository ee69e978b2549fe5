"""The classes that a wrapped model knows, and those that it is told."""

import numpy as np
import pandas as pd
import pytest

from baserate.integrations._class_labels import check_classes, check_every_class

TEXT = np.array(["spam", "ham", "eggs"])  # not sorted, as a foreign model may have them


def test_every_class_is_needed():
    check_every_class(np.array([2, 0, 1]), TEXT)
    with pytest.raises(ValueError, match="no sample of 'ham'"):
        check_every_class(np.array([2, 0, 0]), TEXT)


def test_classes_are_checked():
    check_classes(["ham", "eggs", "spam"], TEXT)
    check_classes(pd.Series(["ham", "eggs", "spam"]), TEXT)
    with pytest.raises(ValueError, match="names 'cheese', of which there was no sample"):
        check_classes(["ham", "eggs", "spam", "cheese"], TEXT)
    with pytest.raises(ValueError, match="leaves out 'ham'"):
        check_classes(["eggs", "spam"], TEXT)
