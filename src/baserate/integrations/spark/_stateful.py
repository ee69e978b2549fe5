"""The processor as a class of Spark's, whose base needs pyspark to be installed."""

from typing import Any

from baserate.integrations.spark._pyspark import streaming
from baserate.integrations.spark.processor import BucketProcessor, Recipe


def stateful_processor(recipe: Recipe, *, watermarked: bool) -> Any:
    """Return the processor as an object of Spark's class, which goes to the workers with its code."""
    kind = type("StatefulBucketProcessor", (BucketProcessor, streaming().StatefulProcessor), {})
    return kind(recipe, watermarked)
