"""Networks of tests are trained on one thread, and without oneDNN."""

import sys

import pytest


@pytest.fixture(autouse=True)
def _one_thread_without_onednn():
    """Small networks are slower on many threads than on one, and wait for each other on a busy machine.

    On some processors the convolutions of oneDNN, as torch 2.13 comes with it, write where they must not: trainings
    of tiny networks end in a segmentation fault now and then.
    """
    torch = sys.modules.get("torch")
    if torch is None:
        yield
        return
    threads, torch.backends.mkldnn.enabled = torch.get_num_threads(), False
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)
    torch.backends.mkldnn.enabled = True
