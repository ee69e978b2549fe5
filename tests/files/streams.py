"""Streams as files, for the tests of `baserate.files`."""

import numpy as np
import polars as pl

CLASSES = ["cat", "dog", "eel"]
P = [f"p_{name}" for name in CLASSES]


def model_outputs(n, mix, seed):
    """Probabilities of a model that is right on a balanced mix, and the labels, on samples of another mix."""
    rng = np.random.default_rng(seed)
    y = rng.choice(len(mix), n, p=mix)
    x = rng.normal(size=(n, len(mix)))
    x[np.arange(n), y] += 1.5
    proba = np.exp(1.5 * x)
    return proba / proba.sum(axis=1, keepdims=True), y


def frame(n, mix=(0.1, 0.2, 0.7), seed=1, **columns):
    """A stream: an id, the probabilities, and whatever else."""
    proba, y = model_outputs(n, mix, seed)
    shares = {f"p_{name}": proba[:, i] for i, name in enumerate(CLASSES)}
    return pl.DataFrame({"id": np.arange(n), **shares, **columns}), y


def holdout(n=400, seed=0):
    """A labelled holdout of a balanced mix."""
    table, y = frame(n, mix=(1 / 3, 1 / 3, 1 / 3), seed=seed)
    return table.drop("id").with_columns(label=pl.Series([CLASSES[c] for c in y]))


WRITERS = {
    "csv": lambda table, path: table.write_csv(path),
    "tsv": lambda table, path: table.write_csv(path, separator="\t"),
    "parquet": lambda table, path: table.write_parquet(path),
    "jsonl": lambda table, path: table.write_ndjson(path),
}
READERS = {
    "csv": lambda path: pl.read_csv(path),
    "tsv": lambda path: pl.read_csv(path, separator="\t"),
    "parquet": lambda path: pl.read_parquet(path),
    "jsonl": lambda path: pl.read_ndjson(path),
}


def write(table, path):
    """Write a frame in the format that the suffix says."""
    WRITERS[path.suffix[1:]](table, path)
    return path


def read(path):
    """Read it."""
    return READERS[path.suffix[1:]](path)
