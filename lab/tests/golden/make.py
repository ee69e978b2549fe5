"""Write the states anew: ``python -m lab.tests.golden.make``."""

import numpy as np

import baserate

from .running import FOLDER, go_on, objects


def make() -> None:
    """Write every state, and how it goes on."""
    said = {}
    for name, obj in objects().items():
        baserate.save(obj, FOLDER / f"{name}.baserate")
        said[name] = go_on(obj)
    np.savez_compressed(FOLDER / "continued.npz", **said)


if __name__ == "__main__":
    make()
