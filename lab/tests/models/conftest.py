"""Small networks are slower on many threads than on one, and wait for each other on a busy machine."""

import sys

import pytest


@pytest.fixture(autouse=True)
def _one_thread():
    torch = sys.modules.get("torch")
    before = torch and torch.get_num_threads()
    if torch:
        torch.set_num_threads(1)
    yield
    if torch:
        torch.set_num_threads(before)
