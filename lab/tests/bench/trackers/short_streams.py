"""How long streams are in these tests, and how those that were kept are forgotten."""

from baserate_lab.bench.trackers import sets, streams

ROUNDS = 12


def forget():
    sets._holdout.cache_clear()
    streams.stream.cache_clear()
