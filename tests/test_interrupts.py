"""Ctrl-C gets through where another library would swallow it."""

import warnings

import pytest

from baserate.interrupts import ctrl_c_gets_through


def test_the_warning_of_ctrl_c_is_ctrl_c_again():
    with pytest.raises(KeyboardInterrupt), ctrl_c_gets_through():
        warnings.warn("Training interrupted by user.", UserWarning, stacklevel=1)


def test_other_warnings_stay_warnings():
    with pytest.warns(UserWarning, match="something else"), ctrl_c_gets_through():
        warnings.warn("something else", UserWarning, stacklevel=1)
