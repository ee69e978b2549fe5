"""Processes that share a stream
=============================

Several processes that serve one stream, and share one adapter through a store.

The store is a table of SQLite here; Redis, S3 or any database that can replace a value *if it is still the one that was
read* does as well. Each worker reads the state with its version, makes its step, and writes the new state only if the
version is still the same. If another worker was faster, it makes its step again, after the other one: no batch is lost,
and none is counted twice.
"""

import multiprocessing
import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path

import numpy as np

import baserate
from baserate.shifts import Constant, sample_stream
from baserate_lab.models import outputs

WORKERS, BATCHES = 3, 30


def create(path, adapter):
    """Put a fitted adapter into a new store."""
    with closing(sqlite3.connect(path)) as base, base:
        base.execute("CREATE TABLE streams (name TEXT PRIMARY KEY, version INTEGER, state BLOB)")
        base.execute("INSERT INTO streams VALUES ('mail', 0, ?)", [baserate.dumps(adapter)])


def read(base):
    """Return the adapter, and the version of its state."""
    version, state = base.execute("SELECT version, state FROM streams WHERE name = 'mail'").fetchone()
    return baserate.loads(state), version


def replace(base, adapter, version):
    """Write a state in the place of a version; False if that has been replaced meanwhile."""
    with base:
        done = base.execute(
            "UPDATE streams SET version = version + 1, state = ? WHERE name = 'mail' AND version = ?",
            [baserate.dumps(adapter), version],
        )
    return done.rowcount == 1


def step(base, proba):
    """Make a step of the shared stream; return its result, and how often another worker was faster."""
    for late in range(1000):
        adapter, version = read(base)
        result = adapter.step(proba)
        if replace(base, adapter, version):
            return result, late
    raise RuntimeError("others were faster a thousand times")


def work(path, begin, batches):
    """Serve some batches; return the number of wrong answers, and of steps that were made again."""
    wrong, again = 0, 0
    with closing(sqlite3.connect(path, timeout=60)) as base:
        step(base, np.empty((0, 2)))  # whatever is compiled on first use is compiled now
        begin.wait()
        for proba, y in batches:
            result, late = step(base, proba)
            wrong += int((result.labels != y).sum())
            again += late
    return wrong, again


def _in_process(path, begin, batches, results):
    results.put(work(path, begin, batches))


def main(seed=0):
    """Let workers share a stream of mail in which there is far less spam than in the holdout."""
    mails = outputs("spam_assassin", "tfidf")
    stream = sample_stream(
        mails.target_proba, mails.target_y, Constant([0.97, 0.03]), n_rounds=WORKERS * BATCHES, batch_size=20, rng=seed
    )
    batches = [(batch.proba, batch.y) for batch in stream]
    context = multiprocessing.get_context("spawn")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "streams.sqlite"
        create(path, baserate.RegressAndReweight().fit(mails.holdout_proba, mails.holdout_y))
        begin, results = context.Barrier(WORKERS), context.Queue()
        workers = [
            context.Process(target=_in_process, args=(path, begin, batches[i::WORKERS], results))
            for i in range(WORKERS)
        ]
        for worker in workers:
            worker.start()
        told = [results.get(timeout=100) for _ in workers]
        for worker in workers:
            worker.join()
        with closing(sqlite3.connect(path)) as base:
            adapter, version = read(base)
    rows = sum(len(y) for _, y in batches)
    own = sum(int((proba.argmax(axis=1) != y).sum()) for proba, y in batches)
    wrong, again = (sum(values) for values in zip(*told, strict=True))
    print(f"wrong: {own / rows:.1%} of the model's own answers, {wrong / rows:.1%} of the adapted ones")
    print(f"batches: {len(batches)}, rounds of the shared adapter: {adapter.rounds_ - WORKERS}, made again: {again}")
    print(f"spam: {mails.holdout_y.mean():.0%} of the holdout, {adapter.prior_[1]:.0%} tracked, version {version}")


if __name__ == "__main__":
    main()

# sphinx_gallery_thumbnail_path = "images/sightings.svg"
