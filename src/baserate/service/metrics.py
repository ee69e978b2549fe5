"""Metrics for Prometheus, in a registry of their own; the only import of prometheus_client."""

import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

from baserate._version import __version__
from baserate.service._web import ASGIApp, Message, Receive, Scope, Send

if TYPE_CHECKING:
    from baserate.service.streams import Streams

try:
    from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
    from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
    from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
except ModuleNotFoundError as error:
    if error.name != "prometheus_client":
        raise
    raise ModuleNotFoundError(
        "the service needs prometheus_client; run: pip install 'baserate[service]'", name=error.name
    ) from error

_BUCKETS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0)


class _StreamMetrics:
    """Readings of streams, as of their last point of history."""

    def __init__(self, streams: "Streams") -> None:
        self._streams = streams

    def collect(self) -> Iterator[Metric]:
        """Return the metrics of all streams."""
        by_class = {
            name: GaugeMetricFamily(f"baserate_{name}", text, labels=["stream", "class"])
            for name, text in (
                ("prior", "Share of a class now, as tracked."),
                ("prior_low", "Lower limit of the share of a class, at the level 0.9."),
                ("prior_high", "Upper limit of the share of a class, at the level 0.9."),
            )
        }
        gauges = {
            name: GaugeMetricFamily(f"baserate_{name}", text, labels=["stream"])
            for name, text in (
                ("correction_weight", "Part of the correction that is used."),
                ("evidence", "Evidence against label shift; 1 is none."),
                ("alarm", "1 while more than the class mix seems to have changed."),
                ("shadow", "1 while the model's own probabilities are answered."),
                ("estimated_accuracy", "Estimated accuracy of the adapted predictions."),
                ("waiting", "Rows that wait for their label."),
                ("label_lag_seconds", "Mean time from a row to its label."),
            )
        }
        counters = {
            name: CounterMetricFamily(f"baserate_{name}", text, labels=["stream"])
            for name, text in (
                ("rows", "Rows learned from."),
                ("rounds", "Rounds."),
                ("labels", "Labels learned from."),
                ("missed_labels", "Labels that came for rows that did not wait."),
            )
        }
        for stream in self._streams.loaded():
            point, name = self._streams.points.get(stream.name), [stream.name]
            if point is None:
                continue
            seen = stream.glance
            for c, label in enumerate(seen.classes):
                if c < len(point.prior):
                    place = [stream.name, str(label)]
                    by_class["prior"].add_metric(place, point.prior[c])
                    by_class["prior_low"].add_metric(place, point.low[c])
                    by_class["prior_high"].add_metric(place, point.high[c])
            gauges["correction_weight"].add_metric(name, point.weight)
            gauges["evidence"].add_metric(name, point.evidence)
            gauges["alarm"].add_metric(name, float(point.alarm))
            gauges["shadow"].add_metric(name, float(seen.shadow))
            if point.accuracy[0] is not None:
                gauges["estimated_accuracy"].add_metric(name, point.accuracy[0])
            gauges["waiting"].add_metric(name, seen.waiting)
            gauges["label_lag_seconds"].add_metric(name, seen.label_lag)
            counters["rows"].add_metric(name, seen.rows)
            counters["rounds"].add_metric(name, seen.round)
            counters["labels"].add_metric(name, seen.labels)
            counters["missed_labels"].add_metric(name, seen.missed_labels)
        yield from by_class.values()
        yield from gauges.values()
        yield from counters.values()


class StreamMetrics:
    """The metrics of all streams.

    Parameters
    ----------
    streams : Streams
    """

    def __init__(self, streams: "Streams") -> None:
        self._registry = CollectorRegistry()
        self._registry.register(_StreamMetrics(streams))
        Gauge("baserate_info", "1, with the version.", ["version"], registry=self._registry).labels(__version__).set(1)

    def text(self) -> bytes:
        """Return them as text."""
        return generate_latest(self._registry)


class RequestMetrics:
    """Counts of requests, and their durations."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self._series: dict[tuple[str, int], tuple[Histogram, Counter]] = {}
        self._latency = Histogram(
            "baserate_request_seconds",
            "Time from the head of a request to the end of its answer.",
            ["route"],
            registry=self._registry,
            buckets=_BUCKETS,
        )
        self._requests = Counter(
            "baserate_requests", "Requests, by route and status.", ["route", "status"], registry=self._registry
        )

    def count(self, route: str, status: int, seconds: float) -> None:
        """Count a request."""
        found = self._series.get((route, status))
        if found is None:
            found = self._latency.labels(route), self._requests.labels(route, str(status))
            self._series[route, status] = found
        found[0].observe(seconds)
        found[1].inc()

    def text(self) -> tuple[bytes, str]:
        """Return them as text, and the content type."""
        return generate_latest(self._registry), CONTENT_TYPE_LATEST


class Meter:
    """Counts requests and their time; routes by their pattern, so that names of streams make no new series."""

    def __init__(self, app: ASGIApp, metrics: RequestMetrics) -> None:
        self._app, self._metrics = app, metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        begun, status = time.perf_counter(), 500

        async def watched(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._app(scope, receive, watched)
        finally:
            self._metrics.count(_pattern(scope["path"]), status, time.perf_counter() - begun)


def _pattern(path: str) -> str:
    """Return the pattern of a path."""
    parts = path.split("/")
    if len(parts) > 3 and parts[1:3] in (["v1", "streams"], ["v2", "models"]):
        what = parts[4] if len(parts) > 4 else ""
        known = what in ("adapt", "labels", "history", "requests", "events", "infer", "ready", "samples")
        return "/".join([*parts[:3], "{name}", what]) if known else "/".join([*parts[:3], "{name}"])
    known = path in ("/v1/streams", "/v1/events", "/healthz", "/readyz", "/metrics", "/login", "/v1/session")
    return path if known else "other"
