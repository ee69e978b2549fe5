"""The demo, small, and its page."""

import pytest

from baserate.demo import run_demo, train_model
from baserate.reports import demo as report


@pytest.fixture(scope="session")
def demo():
    return run_demo(train_model(0), 50, 5, seed=3)


@pytest.fixture(scope="session")
def page(demo):
    return report.render(demo)
