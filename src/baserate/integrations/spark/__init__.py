"""Keyed streams on Spark Structured Streaming: buckets of keys in Spark's state, each a `Bank`."""

from baserate.integrations.spark.adapting import adapt
from baserate.integrations.spark.listening import listener
from baserate.integrations.spark.monitoring import state

__all__ = ["adapt", "listener", "state"]
