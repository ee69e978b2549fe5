"""Keep a topic of scored rows right, as a job for spark-submit.

``spark-submit --packages <the connector of your topic> job.py SETTINGS.json``

SETTINGS.json has ``source`` (format and options of a stream), ``schema`` (DDL, of the JSON in the column value),
``holdout`` (a Parquet folder), ``out``, ``checkpoint``, ``watermark`` and ``adapt`` (arguments of `adapt`).
"""

import json
import sys
from pathlib import Path

from pyspark.sql import SparkSession
from pyspark.sql.functions import col, from_json

from baserate.integrations import spark as bs


def main() -> None:
    """Run until it is stopped."""
    settings = json.loads(Path(sys.argv[1]).read_text())
    session = (
        SparkSession.builder.appName("baserate")
        .config(
            "spark.sql.streaming.stateStore.providerClass",
            "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider",
        )
        .config("spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled", "true")
        .config("spark.sql.streaming.stateStore.rocksdb.trackTotalNumberOfRows", "false")
        .config("spark.sql.streaming.stateStore.rocksdb.compression", "none")
        .getOrCreate()
    )
    source = settings["source"]
    read = session.readStream.format(source["format"]).options(**source["options"]).load()
    rows = read.select(from_json(col("value").cast("string"), settings["schema"]).alias("row")).select("row.*")
    rows = rows.withWatermark(settings["adapt"]["time"], settings["watermark"])
    adapted = bs.adapt(rows, holdout=session.read.parquet(settings["holdout"]), **settings["adapt"])
    sink = adapted.writeStream.format("parquet").option("path", settings["out"])
    sink.option("checkpointLocation", settings["checkpoint"]).start().awaitTermination()


if __name__ == "__main__":
    main()
