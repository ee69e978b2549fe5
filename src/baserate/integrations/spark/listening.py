"""listener: the measures of each micro-batch, for a monitoring system."""

import json
from collections.abc import Callable, Mapping
from typing import Any

from baserate.integrations.spark._pyspark import streaming

Measures = Mapping[str, Any]


def listener(report: Callable[[Measures], None], name: str | None = None) -> Any:
    """Return a listener that reports every micro-batch: ``session.streams.addListener(listener(report))``.

    Parameters
    ----------
    report : callable
        Is given a mapping after each micro-batch: ``query`` (its name or id), ``batch``, ``rows``, ``seconds``,
        ``rows_per_second``, ``commit_seconds`` (of the state), ``state_bytes`` (in memory), ``buckets`` and
        ``watermark`` (text, or None).
    name : str, optional
        Of the only query to report. Default: all.
    """

    def progressed(_: Any, event: Any) -> None:
        measures = measures_of(json.loads(event.progress.json))
        if name is None or measures["query"] == name:
            report(measures)

    def nothing(*_: Any) -> None:
        """Say nothing of starts and ends."""

    others = dict.fromkeys(("onQueryStarted", "onQueryIdle", "onQueryTerminated"), nothing)
    kind = type("Listener", (streaming().StreamingQueryListener,), {"onQueryProgress": progressed, **others})
    return kind()


def measures_of(progress: Mapping[str, Any]) -> dict[str, Any]:
    """Return the measures in what Spark says of a micro-batch."""
    state = (progress.get("stateOperators") or [{}])[0]
    seconds = progress["durationMs"].get("triggerExecution", 0) / 1000
    return {
        "query": progress.get("name") or progress["id"],
        "batch": progress["batchId"],
        "rows": progress["numInputRows"],
        "seconds": seconds,
        "rows_per_second": progress["numInputRows"] / seconds if seconds else 0.0,
        "commit_seconds": state.get("commitTimeMs", 0) / 1000,
        "state_bytes": state.get("memoryUsedBytes", 0),
        "buckets": state.get("numRowsTotal", 0),
        "watermark": progress.get("eventTime", {}).get("watermark"),
    }
