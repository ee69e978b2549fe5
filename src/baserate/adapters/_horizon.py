"""Guesses of a stream's length, for step sizes that depend on it."""

FIRST_GUESS = 128
"""The first guess is not one round: the steps of so short a stream would throw away what the model knows."""


def horizon_at(rounds: int, horizon: int | None) -> int:
    """The length to assume after some rounds: the one given, or else a guess that quadruples when it is reached."""
    if horizon is not None:
        return horizon
    guess = FIRST_GUESS
    while guess <= rounds:
        guess *= 4
    return guess
