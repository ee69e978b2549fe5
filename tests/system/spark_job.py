"""A job on a local Spark, to be run and killed: ``spark_job.py FOLDER NAME OPTIONS``; prints where its results are."""

import json
import sys
from pathlib import Path

import pandas as pd

from baserate.integrations import spark as bs


def main() -> None:
    """Run the job."""
    from pyspark.sql import SparkSession  # the module is also looked through for doctests, without Spark

    folder, name, options = Path(sys.argv[1]), sys.argv[2], json.loads(sys.argv[3])
    session = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.shuffle.partitions", options.pop("partitions", 2))
        .config("spark.sql.session.timeZone", "UTC")
        .config(
            "spark.sql.streaming.stateStore.providerClass",
            "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider",
        )
        .config("spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled", "true")
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("ERROR")
    watermark = options.pop("watermark", None)
    said: list[object] = []
    session.streams.addListener(bs.listener(said.append))
    static = session.read.parquet(str(folder / "all.parquet"))
    words = {
        "holdout": pd.read_parquet(folder / options.pop("holdout", "holdout.parquet")),
        "key": "shop",
        "proba": ["p_cat", "p_dog", "p_eel"],
        "labels": "truth",
        "id": "id",
        "time": "at",
        "rounds": 7,
        **options,
    }
    out, checkpoint = folder / f"out-{name}", folder / f"checkpoint-{name}"
    if name == "static":
        pq_folder(bs.adapt(static, **words), folder / "static")
        return
    rows = session.readStream.schema(static.schema).option("maxFilesPerTrigger", 1).parquet(str(folder / "in"))
    rows = rows if watermark is None else rows.withWatermark("at", watermark)
    sink = bs.adapt(rows, **words).writeStream.format("parquet").option("path", str(out))
    sink.option("checkpointLocation", str(checkpoint)).trigger(availableNow=True).start().awaitTermination()
    same = {"holdout": words["holdout"], "options": words.get("options")}
    pq_folder(bs.state(str(checkpoint), **same), folder / f"state-{name}")
    (folder / f"said-{name}.json").write_text(json.dumps(said))
    # Through Spark, which knows which files were committed.
    pq_folder(session.read.parquet(str(out)), folder / f"read-{name}")


def pq_folder(df: object, path: Path) -> None:
    """Write a frame, and print where."""
    df.write.mode("overwrite").parquet(str(path))  # type: ignore[attr-defined]
    print(path)  # noqa: T201


if __name__ == "__main__":
    main()
