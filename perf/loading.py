"""Time of `baserate.load` on typical states, of this version against another one.

python perf/loading.py --before FOLDER    a checkout of the version to compare with

Each version writes the states that it loads. A load is timed in a new process after one that warms it up, and the two
versions take turns.
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

BOUND = 1.3
ROOT = Path(__file__).resolve().parents[1]

_WRITE = """
import sys, warnings
import numpy as np
import baserate
from baserate import Bank, RegressAndReweight
from baserate.trackers import FollowTheHistory

warnings.simplefilter("ignore")
K, N_KEYS, rng = 10, 10_000, np.random.default_rng(0)


def outputs(n, mix=None):
    y = rng.choice(K, size=n, p=mix)
    scores = np.exp(rng.normal(size=(n, K)) + 3.0 * (y[:, np.newaxis] == np.arange(K)))
    return scores / scores.sum(axis=1, keepdims=True), y


def running(n_waiting):
    adapter = RegressAndReweight(max_waiting=n_waiting).fit(*outputs(5_000))
    mix = rng.dirichlet(np.ones(K))
    for i in range(3_000):
        adapter.step(outputs(10, mix)[0], ids=[f"row-{i}-{j}" for j in range(10)] if n_waiting else None)
    return adapter


def bank(tracker=None, name="shop-{:05d}".format):
    streams = Bank(RegressAndReweight(tracker, calibrator=None, gate=False, alpha=None).fit(*outputs(5_000)))
    keys = [name(i) for i in range(N_KEYS)]
    for _ in range(5):
        streams.step(keys, outputs(N_KEYS)[0])
    return streams


made = {
    "adapter": lambda: running(0),
    "waiting": lambda: running(1_000),
    "full": lambda: running(10_000),
    "bank": bank,
    "history": lambda: bank(FollowTheHistory(K)),
    "numbers": lambda: bank(FollowTheHistory(K), int),
}[sys.argv[1]]()
baserate.save(made, sys.argv[2])
"""
_LOAD = """
import gc, sys
from time import perf_counter
import baserate

baserate.load(sys.argv[1])
gc.collect()
gc.disable()
start = perf_counter()
baserate.load(sys.argv[1])
print(perf_counter() - start)
"""
STATES = {
    "adapter": "adapter, 10 classes, 3,000 rounds",
    "waiting": "the same, 1,000 rows wait for labels",
    "full": "the same, 10,000 rows wait for labels",
    "bank": "bank, 10,000 keys, LikelihoodMixture",
    "history": "bank, 10,000 keys, FollowTheHistory",
    "numbers": "the same, keys are whole numbers",
}


def run(tree, code, *arguments):
    """The output of a program that uses the version in a folder."""
    environment = {**os.environ, "PYTHONPATH": str(tree / "src"), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-c", code, *map(str, arguments)]
    return subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout


def loading(before, repeats):
    """Times of the versions for each state: pairs of (name, {folder: seconds of each turn}, bytes)."""
    with tempfile.TemporaryDirectory() as folder:
        for kind, name in STATES.items():
            files = {tree: Path(folder) / f"{kind}-{i}" for i, tree in enumerate((before, ROOT))}
            for tree, file in files.items():
                run(tree, _WRITE, kind, file)
            times = {tree: [] for tree in files}
            for _ in range(repeats):
                for tree, file in files.items():
                    times[tree].append(float(run(tree, _LOAD, file)))
            yield name, times, files[ROOT].stat().st_size


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--before", type=Path, required=True, help="a checkout of the version to compare with")
    parser.add_argument("--repeats", type=int, default=25)
    options = parser.parse_args()
    before = options.before.resolve()
    missed = False
    for name, times, size in loading(before, options.repeats):
        best = [1e3 * min(times[tree]) for tree in (before, ROOT)]
        middle = [1e3 * statistics.median(times[tree]) for tree in (before, ROOT)]
        ratio = best[1] / best[0]
        missed |= ratio > BOUND
        print(
            f"{name} ({size / 1e6:.2f} MB): best {best[0]:.2f} to {best[1]:.2f} ms, "
            f"{ratio:.2f} times, at most {BOUND}; "
            f"median {middle[0]:.2f} to {middle[1]:.2f} ms, {middle[1] / middle[0]:.2f} times"
        )
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
