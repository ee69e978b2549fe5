"""Keyed streams on Spark
======================

Files stand in for a topic, and every shop has a class mix of its own that drifts.

Needs ``pip install ".[spark]"`` and a Java runtime. Run it: ``python examples/spark_stream.py``
"""

import os
import sys
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
from pyspark.sql import SparkSession

from baserate.integrations import spark as bs

SHOPS, HOURS, ROWS = 40, 6, 4_000
PROBA = ["p_ok", "p_fraud"]


def scored(n, share, rng):
    """Return the outputs of a model that was trained on half fraud, and the labels."""
    fraud = rng.random(n) < share
    p = 1.0 / (1.0 + np.exp(-2.0 * rng.normal(2.0 * fraud - 1.0, 1.0)))
    return pd.DataFrame({"p_ok": 1.0 - p, "p_fraud": p}), np.where(fraud, "fraud", "ok")


def write_hours(folder, rng):
    """A file of scored rows for each hour; shops differ, and fraud becomes more frequent."""
    folder.mkdir()
    for hour in range(HOURS):
        shop = rng.integers(0, SHOPS, ROWS)
        frame, truth = scored(ROWS, 0.02 + 0.3 * (shop % 4 == 0) * hour / HOURS, rng)
        seconds = np.sort(rng.uniform(3600 * hour, 3600 * (hour + 1), ROWS))
        at = pd.Timestamp("2026-01-01", tz="UTC") + pd.to_timedelta(np.round(seconds, 3), unit="s")
        frame = frame.assign(shop=[f"shop {i}" for i in shop], id=np.arange(ROWS) + ROWS * hour, at=at, truth=truth)
        file = folder / f"{hour}.parquet"
        frame.assign(at=frame["at"].astype("datetime64[us, UTC]")).to_parquet(file)
        os.utime(file, (1_700_000_000 + hour,) * 2)


def main():
    """Adapt the stream, then look at what it said and at what the checkpoint holds."""
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    with tempfile.TemporaryDirectory() as folder:
        run(Path(folder))


def run(folder):
    """Write the stream, adapt it, and show what came of it."""
    rng = np.random.default_rng(0)
    write_hours(folder / "in", rng)
    frame, truth = scored(2_000, 0.5, rng)
    session = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.shuffle.partitions", 2)
        .config(
            "spark.sql.streaming.stateStore.providerClass",
            "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider",
        )
        .config("spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled", "true")
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("ERROR")
    schema = session.read.parquet(str(folder / "in")).schema
    rows = session.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(str(folder / "in"))
    adapted = bs.adapt(
        rows, holdout=frame.assign(label=truth), key="shop", proba=PROBA, id="id", time="at", rounds=50,
        options={"keys": SHOPS},
    )  # fmt: skip
    sink = adapted.writeStream.format("parquet").option("path", str(folder / "out"))
    sink.option("checkpointLocation", str(folder / "checkpoint")).trigger(availableNow=True).start().awaitTermination()

    out = session.read.parquet(str(folder / "out")).toPandas()
    before = np.where(out["p_fraud"] > 0.5, "fraud", "ok")
    print(f"{len(out)} rows; error of the model {np.mean(before != out['truth']):.1%}, "
          f"adapted {np.mean(out['adapted_label'] != out['truth']):.1%}")  # fmt: skip
    bs.state(str(folder / "checkpoint")).orderBy("prior_fraud", ascending=False).select(
        "key", "prior_fraud", "rounds", "pending"
    ).show(5)


if __name__ == "__main__":
    main()

# sphinx_gallery_thumbnail_path = "images/hindsight.svg"
