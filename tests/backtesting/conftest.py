"""A backtest of a stream that drifts."""

import pytest

from baserate.backtesting import backtest

from .logs import SHARE, drifting


@pytest.fixture(scope="session")
def drift():
    return backtest(*drifting(), holdout=SHARE)
