"""Would it have helped? A labelled log of predictions is replayed, and every method is scored on it."""

from baserate.backtesting.blocks import Change
from baserate.backtesting.played import Played
from baserate.backtesting.replay import Trust
from baserate.backtesting.run import Backtest, backtest
from baserate.backtesting.scores import Score

__all__ = ["Backtest", "Change", "Played", "Score", "Trust", "backtest"]
