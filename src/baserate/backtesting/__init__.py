"""Would it have helped? A labelled log of predictions is replayed, and every method is scored on it."""

from baserate.backtesting.blocks import Change
from baserate.backtesting.replay import Played, Trust
from baserate.backtesting.run import Backtest, Score, backtest

__all__ = ["Backtest", "Change", "Played", "Score", "Trust", "backtest"]
