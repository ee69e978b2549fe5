"""A local Spark for measurements, and the files that stand in for its topic."""

import os
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

K = 10
NAMES = [f"c{c}" for c in range(K)]
PROBA = [f"p_{name}" for name in NAMES]


def open_session(changelog=True):
    """Open Spark on two cores, with the settings that the documentation asks for."""
    from pyspark.sql import SparkSession  # the module is also looked through for doctests, without Spark

    os.environ["PYSPARK_PYTHON"] = sys.executable
    session = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.driver.memory", "4g")
        .config("spark.driver.extraJavaOptions", "-XX:+UseParallelGC")
        .config("spark.sql.shuffle.partitions", 2)
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.sql.streaming.pollingDelay", "2s")  # of queries that wait while another one is measured
        .config(
            "spark.sql.streaming.stateStore.providerClass",
            "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider",
        )
        .config("spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled", str(changelog).lower())
        .config("spark.sql.streaming.stateStore.rocksdb.trackTotalNumberOfRows", "false")
        .config("spark.sql.streaming.stateStore.rocksdb.compression", "none")
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("ERROR")
    return session


def outputs(n, rng, mixes):
    """Draw the outputs of a calibrated model trained on equal classes, for the class mix of each row, and labels."""
    y = (rng.random((n, 1)) > np.cumsum(mixes, axis=1)).sum(axis=1).clip(max=K - 1)
    odds = np.exp(2.0 * (rng.normal(size=(n, K)).astype(np.float32) + 2.0 * np.eye(K, dtype=np.float32)[y]))
    return odds / odds.sum(axis=1, keepdims=True), y


def holdout():
    """Return a labelled holdout of 2,000 rows."""
    proba, y = outputs(2000, np.random.default_rng(0), np.full((2000, K), 1.0 / K))
    return pd.DataFrame(proba, columns=PROBA).assign(label=[NAMES[c] for c in y])


def micro_batch(number, n, keys, seed=1):
    """Draw one micro-batch: every key has its own class mix, and as many rows as chance gives it."""
    rng = np.random.default_rng([seed, number])
    of_keys = np.random.default_rng([seed, 2**31]).dirichlet(np.ones(K), keys)
    key = rng.integers(0, keys, n)
    proba, _ = outputs(n, rng, of_keys[key])
    at = 1_767_225_600_000_000 + 60_000_000 * number + np.sort(rng.integers(0, 60_000_000, n))
    return pa.table(
        {
            "id": np.arange(n) + n * number,
            "shop": key,
            "at": pa.array(at, pa.timestamp("us", "UTC")),
            **{name: proba[:, c] for c, name in enumerate(PROBA)},
        }
    )


class Topic:
    """A folder of files as a topic: each file is one micro-batch, and is there at once."""

    def __init__(self, folder: Path) -> None:
        self.folder, self._n = folder, 0
        folder.mkdir(parents=True)

    def put(self, table):
        """Add a micro-batch."""
        hidden = self.folder / f".{self._n}"
        pq.write_table(table, hidden)
        hidden.rename(self.folder / f"{self._n}.parquet")
        self._n += 1
