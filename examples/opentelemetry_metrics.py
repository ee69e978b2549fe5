"""OpenTelemetry
=============

An adapter's readings as OpenTelemetry metrics, for whatever dashboard and pager you have.

Observable gauges are read when metrics are exported, not when a batch is served, so they cost the stream nothing. The
exporter reads them from a thread of its own: the adapter's guard keeps it from looking at the middle of a round.
"""

import math

import numpy as np
from opentelemetry.metrics import Observation
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from sklearn.linear_model import LogisticRegression

import baserate
from baserate.datasets import digits
from baserate.shifts import Monotone, sample_stream


def export_readings(meter, adapter, classes, level=0.9):
    """Register gauges for the class mix and its band, the correction, the alarm and the estimated accuracy."""

    def by_class(read):
        def observe(_options):
            with adapter.guard:
                values = read()
            return [Observation(float(v), {"class": str(c)}) for c, v in zip(classes, values, strict=True)]

        return observe

    def one(read):
        def observe(_options):
            with adapter.guard:
                value = float(read())
            return [] if math.isnan(value) else [Observation(value)]  # no samples yet: nothing to report

        return observe

    gauges = {
        "baserate.class.share": (by_class(lambda: adapter.prior_), "tracked share of each class"),
        "baserate.class.share.low": (by_class(lambda: adapter.prior_interval(level)[:, 0]), "its lower limit"),
        "baserate.class.share.high": (by_class(lambda: adapter.prior_interval(level)[:, 1]), "its upper limit"),
        "baserate.correction.weight": (
            one(lambda: adapter.correction_weight_),
            "part of the correction in use, 0 to 1",
        ),
        "baserate.assumption.alarm": (one(lambda: adapter.assumption_alarm_), "1 while more than the mix has changed"),
        "baserate.assumption.evidence": (one(lambda: adapter.assumption_evidence_), "evidence of that; 1 is none"),
        "baserate.accuracy": (
            one(lambda: adapter.estimated_accuracy(level).value),
            "accuracy, estimated without labels",
        ),
        "baserate.accuracy.low": (one(lambda: adapter.estimated_accuracy(level).low), "its lower limit"),
        "baserate.accuracy.high": (one(lambda: adapter.estimated_accuracy(level).high), "its upper limit"),
    }
    for name, (callback, description) in gauges.items():
        meter.create_observable_gauge(name, callbacks=[callback], unit="1", description=description)


def exported(reader):
    """Latest value of each gauge, by name and class."""
    data = reader.get_metrics_data()
    metrics = [m for r in data.resource_metrics for scope in r.scope_metrics for m in scope.metrics]
    return {(m.name, point.attributes.get("class")): point.value for m in metrics for point in m.data.data_points}


def main(seed=0):
    """Follow a stream of digits that come to be mostly eights, then read what a dashboard would show."""
    data = digits.load()
    model = LogisticRegression(max_iter=1000).fit(data.source_X[:300], data.source_y[:300])
    adapter = baserate.RegressAndReweight().fit(model.predict_proba(data.source_X[300:]), data.source_y[300:])

    # In production: PeriodicExportingMetricReader(OTLPMetricExporter()), or with ConsoleMetricExporter() to look at it.
    reader = InMemoryMetricReader()
    provider = MeterProvider(metric_readers=[reader])
    export_readings(provider.get_meter("baserate"), adapter, range(10))

    proba, drift = model.predict_proba(data.target_X), Monotone(second=np.eye(10)[8])
    right = []
    for batch in sample_stream(proba, data.target_y, drift, n_rounds=300, rng=seed):
        step = adapter.step(batch.proba)  # waits while the exporter reads
        right += (step.labels == batch.y).tolist()
        if batch.index in (0, 299):
            now = exported(reader)
            low, high = (now[f"baserate.class.share.{end}", "8"] for end in ("low", "high"))
            print(
                f"round {batch.index}: {len(now)} values, alarm {now['baserate.assumption.alarm', None]:.0f}, ", end=""
            )
            print(f"correction weight {now['baserate.correction.weight', None]:.2f}")
            print(f"eights: {now['baserate.class.share', '8']:.1%} (between {low:.1%} and {high:.1%})")
    low, value, high = (now[f"baserate.accuracy{end}", None] for end in (".low", "", ".high"))
    print(f"accuracy: {value:.1%} estimated (between {low:.1%} and {high:.1%}), {np.mean(right):.1%} true")
    provider.shutdown()


if __name__ == "__main__":
    main()

# sphinx_gallery_thumbnail_path = "images/trust_signals.svg"
