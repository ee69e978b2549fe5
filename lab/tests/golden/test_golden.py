"""States of the laboratory's classes load and go on."""

import importlib
import importlib.util
import pkgutil

import numpy as np
import pytest

import baserate
import baserate_lab
from baserate.state import Component, registered

from .running import FOLDER, go_on

CONTINUED = np.load(FOLDER / "continued.npz")
HAS_TORCH = importlib.util.find_spec("torch") is not None


def test_every_saved_class_has_a_state_here():
    for module in pkgutil.walk_packages(baserate_lab.__path__, "baserate_lab."):
        if module.name.endswith("__main__"):
            continue
        try:
            importlib.import_module(module.name)
        except ModuleNotFoundError:
            if HAS_TORCH:
                raise
    own = {name for name, cls in registered().items() if cls.__module__.startswith("baserate_lab.")}
    assert all(issubclass(registered()[name], Component) for name in own)
    assert own == set(CONTINUED.files)
    assert all(name.startswith("lab_") for name in own)


@pytest.mark.parametrize("name", CONTINUED.files)
def test_a_state_goes_on(name):
    if name == "lab_resnet18" and not HAS_TORCH:
        pytest.skip("needs torch")
    obj = baserate.load(FOLDER / f"{name}.baserate")
    np.testing.assert_allclose(go_on(obj), CONTINUED[name], rtol=1e-5, atol=1e-7)  # torch computes in float32
