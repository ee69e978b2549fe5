"""The demo and its tour of trust, small, once for all tests."""

import functools

from baserate.demo import prepare_problem, run_demo
from baserate.demo.trust_tour import tour

ROUNDS, BATCH = 60, 8


@functools.cache
def small_problem():
    return prepare_problem(0)


@functools.cache
def small_demo():
    return run_demo(small_problem(), ROUNDS, BATCH, seed=5)


@functools.cache
def small_tour():
    return tour(600, 10, seed=1)
