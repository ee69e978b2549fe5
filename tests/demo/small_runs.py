"""The demo and its tour of trust, small, once for all tests."""

import functools

from baserate.demo import run_demo, train_model
from baserate.demo.trust_tour import tour

ROUNDS, BATCH = 60, 8


@functools.cache
def small_model():
    return train_model(0)


@functools.cache
def small_demo():
    return run_demo(small_model(), ROUNDS, BATCH, seed=5)


@functools.cache
def small_tour():
    return tour(600, 10, seed=1)
