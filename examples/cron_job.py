"""A job that runs once a day and keeps what it knows in a file: ``python cron_job.py STATE HOLDOUT DAY OUT``.

The first run learns the holdout, the others go on where the one before stopped. The state is replaced in one step and
last: a run that is killed has written nothing that counts, and can be run again. Without arguments three days are
played through, each in a process of its own; one is killed half-way and run again.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

import baserate


def run(state, holdout, day, out):
    """Adapt the probabilities in the file `day`, a hundred at a time."""
    if state.exists():
        adapter = baserate.load(state)
    else:
        known = np.load(holdout)
        adapter = baserate.RegressAndReweight().fit(known["proba"], known["y"])
    proba = np.load(day)
    steps = [adapter.step(proba[start : start + 100]) for start in range(0, len(proba), 100)]
    if os.environ.get("PULL_THE_PLUG"):
        os._exit(1)
    np.save(out, np.concatenate([step.proba for step in steps]))
    baserate.save(adapter, state)


def main(seed=0):
    """Play three days, and compare with a process that was never stopped."""
    from baserate.models import outputs
    from baserate.shifts import Monotone, sample_stream

    images = outputs("mnist", "forest")
    drift = Monotone(second=np.eye(10)[3])
    stream = sample_stream(images.target_proba, images.target_y, drift, n_rounds=3, batch_size=1000, rng=seed)
    adapter = baserate.RegressAndReweight().fit(images.holdout_proba, images.holdout_y)
    wrong, same = np.zeros(2), True
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        np.savez(folder / "holdout.npz", proba=images.holdout_proba, y=images.holdout_y)
        for batch in stream:
            day, out = folder / f"day{batch.index}.npy", folder / f"adapted{batch.index}.npy"
            np.save(day, batch.proba)
            command = [sys.executable, __file__, folder / "state.baserate", folder / "holdout.npz", day, out]
            if batch.index == 2:
                killed = subprocess.run(command, env={**os.environ, "PULL_THE_PLUG": "1"}, check=False)
                print(f"day 2: killed with exit status {killed.returncode}, run again")
            subprocess.run(command, check=True)
            adapted = np.load(out)
            wrong += [(proba.argmax(axis=1) != batch.y).sum() for proba in (batch.proba, adapted)]
            expected = [adapter.step(batch.proba[start : start + 100]).proba for start in range(0, 1000, 100)]
            same = same and np.array_equal(adapted, np.concatenate(expected))
    print(f"wrong: {wrong[0] / 3000:.1%} of the model's own answers, {wrong[1] / 3000:.1%} of the adapted ones")
    print(f"bit for bit what one long process gives: {'yes' if same else 'no'}")


if __name__ == "__main__":
    if len(sys.argv) == 1:
        main()
    else:
        parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
        for argument in ("state", "holdout", "day", "out"):
            parser.add_argument(argument, type=Path)
        run(**vars(parser.parse_args()))
