"""A daily job with a state file
=============================

A daily job that is only one command: ``baserate adapt DAY --holdout HOLDOUT -o OUT --state STATE``.

The first run fits on the holdout; each later run resumes where the previous one stopped. A killed run is simply run
again, and its output is the same as without the kill. This example simulates three days and kills the second run
halfway, without a chance to clean up.
"""

import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import baserate
from baserate.shifts import Monotone, sample_stream
from baserate_lab.models import outputs

ROWS, ROUND = 1000, 100


def write(path, proba, y=None):
    """Write a file of probabilities, with labels if there are any."""
    columns = [f"p_{c}" for c in range(proba.shape[1])]
    table = np.column_stack([proba] if y is None else [proba, y])
    header = ",".join(columns if y is None else [*columns, "label"])
    np.savetxt(path, table, delimiter=",", header=header, comments="", fmt="%.17g")


def job(folder, day):
    """Command of a crontab entry."""
    words = ["adapt", f"day{day}.csv", "--holdout", "holdout.csv", "-o", f"adapted{day}.csv"]
    words += ["--state", "shop.state", "--rounds", str(ROUND)]
    quiet = subprocess.DEVNULL
    return subprocess.Popen([sys.executable, "-m", "baserate", *words], cwd=folder, stdout=quiet, stderr=quiet)


def main(seed=0):
    """Simulate three days, and compare with a process that was never stopped."""
    images = outputs("mnist", "forest")
    drift = Monotone(second=np.eye(10)[3])
    stream = sample_stream(images.target_proba, images.target_y, drift, n_rounds=3, batch_size=ROWS, rng=seed)
    held = images.holdout_proba[:2000], images.holdout_y[:2000]
    adapter = baserate.RegressAndReweight().fit(*held)
    wrong, same = np.zeros(2), True
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write(folder / "holdout.csv", *held)
        for batch in stream:
            write(folder / f"day{batch.index}.csv", batch.proba)
            if batch.index == 1:
                killed = job(folder, 1)
                while killed.poll() is None and not list(folder.glob(".adapted1.csv.*.part")):
                    time.sleep(0.01)  # it has not started to write
                killed.kill()
                print(f"day 1: killed, exit status {killed.wait()}, run again")
            if job(folder, batch.index).wait() != 0:
                raise SystemExit(f"the job of day {batch.index} failed")
            rows = np.genfromtxt(folder / f"adapted{batch.index}.csv", delimiter=",", names=True, encoding="utf-8")
            adapted = np.column_stack([rows[f"adapted_p_{c}"] for c in range(10)])
            wrong += [(proba.argmax(axis=1) != batch.y).sum() for proba in (batch.proba, adapted)]
            expected = [adapter.step(batch.proba[start : start + ROUND]).proba for start in range(0, ROWS, ROUND)]
            same = same and np.abs(adapted - np.concatenate(expected)).max() < 1e-12
    print(f"wrong: {wrong[0] / 3 / ROWS:.1%} of the model's own answers, {wrong[1] / 3 / ROWS:.1%} of the adapted ones")
    print(f"what one long process gives: {'yes' if same else 'no'}")


if __name__ == "__main__":
    main()

# sphinx_gallery_thumbnail_path = "images/fraud.svg"
