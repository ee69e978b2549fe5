"""Shifts: paths of class mixes, and streams sampled along them."""

from baserate.shifts.adversary import Adversary
from baserate.shifts.bernoulli import Bernoulli
from baserate.shifts.constant import Constant
from baserate.shifts.monotone import Monotone
from baserate.shifts.random_walk import RandomWalk
from baserate.shifts.sinusoidal import Sinusoidal
from baserate.shifts.square import Square
from baserate.shifts.stream import frequencies, replay_stream, sample_stream

__all__ = [
    "Adversary",
    "Bernoulli",
    "Constant",
    "Monotone",
    "RandomWalk",
    "Sinusoidal",
    "Square",
    "frequencies",
    "replay_stream",
    "sample_stream",
]
