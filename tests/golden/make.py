"""Write the states anew: ``python -m tests.golden.make``."""

import contextlib
import shutil
import tempfile
from pathlib import Path

import numpy as np

import baserate

from ..files.killing import done
from ..files.streams import frame, holdout, write
from .running import FOLDER, arithmetic, go_on, objects

STREAMS = {"adapt": ["--id", "id", "--wait", "30"], "adapt-keyed": ["--key", "shop"]}
OPTIONS = ["--rounds", "20", "--labels", "truth", "--level", "0.8"]


def _day(n, seed):
    table, y = frame(n, seed=seed, shop=(["north", "south", "west"] * n)[:n])
    return table.with_columns(truth=np.where(np.arange(n) % 7 == 0, np.array(["cat", "dog", "eel"])[y], None))


def make() -> None:
    """Write every state, and how it goes on."""
    said = {"arithmetic": arithmetic()}
    for name, obj in objects().items():
        baserate.save(obj, FOLDER / f"{name}.baserate")
        said[name] = go_on(name, obj)
    np.savez_compressed(FOLDER / "continued.npz", **said)
    make_adapt_states()


def make_adapt_states() -> None:
    """Write the states of `adapt --state`, and how they go on."""
    write(_day(60, seed=4), FOLDER / "adapt-next.csv")
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        write(holdout(120), Path("holdout.csv"))
        write(_day(200, seed=3), Path("day.csv"))
        for name, options in STREAMS.items():
            words = ["--state", "state", *options, *OPTIONS]
            done("day.csv", "--holdout", "holdout.csv", "-o", "o.csv", *words)
            shutil.copy("state", FOLDER / f"{name}.baserate")
            done(FOLDER / "adapt-next.csv", "-o", f"{name}-next.csv", *words)
            for part in (f"{name}-next.csv", f"{name}-next.rounds.csv"):
                shutil.copy(part, FOLDER / f"continued-{part}")
            Path("state").unlink()


if __name__ == "__main__":
    make()
