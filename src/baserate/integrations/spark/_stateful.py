"""The processor as a class of Spark's, whose base needs pyspark to be installed."""

from pyspark.sql.streaming import StatefulProcessor

from baserate.integrations.spark.processor import BucketProcessor


class StatefulBucketProcessor(BucketProcessor, StatefulProcessor):
    """Processor of buckets for `transformWithState`."""
