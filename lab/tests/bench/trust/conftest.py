"""Gaussian classes, small, for the experiments of trust."""

import warnings

import pytest

from baserate_lab.bench.trust._draws import World
from baserate_lab.bench.trust._violations import gaussian_pool


@pytest.fixture(scope="session")
def pool():
    return gaussian_pool()


@pytest.fixture(scope="session")
def world(pool):
    return World(pool.predict(pool.x), pool.y)


@pytest.fixture(autouse=True)
def _quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # holdouts are small here
        yield
