"""Metrics encoded as OTLP over HTTP, from the same families as /metrics."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from nanobot.plugins.common import otlp
from nanobot.plugins.common.collector import Collector
from nanobot.plugins.common.faces import Distribution, Metric
from nanobot.plugins.common.otlp import Value, attributes, nanoseconds
from nanobot.plugins.metrics.families import FAMILIES, Family

SCOPE = "nanobot.metrics"
_SERVICE = "opentelemetry.proto.collector.metrics.v1.metrics_service_pb2"
_CUMULATIVE = 2
_FAMILIES = {family.name: family for family in FAMILIES}


def encoded(
    metrics: Iterable[Metric], since: float, at: float, resource: Mapping[str, Value], kind: str
) -> bytes:
    """The body of a request to `/v1/metrics`: the values counted from `since` to `at`."""
    times = {
        "startTimeUnixNano": str(nanoseconds(min(since, at))),
        "timeUnixNano": str(nanoseconds(at)),
    }
    written = [
        _metric(_FAMILIES[metric.name], metric, times) for metric in metrics if metric.values
    ]
    scope = {"scope": {"name": SCOPE}, "metrics": written}
    request = {
        "resourceMetrics": [
            {"resource": {"attributes": attributes(resource)}, "scopeMetrics": [scope]}
        ]
    }
    return otlp.encoded(request, kind, f"{_SERVICE}:ExportMetricsServiceRequest")


async def send(collector: Collector, metrics: Iterable[Metric], since: float, at: float) -> str:
    """Send these; returns what the collector complains about although it accepted them. Raises
    NotTaken.
    """
    body = encoded(metrics, since, at, collector.resource, collector.kind)
    said = await collector.post(body)
    return otlp.complaint_in(said, collector.kind, f"{_SERVICE}:ExportMetricsServiceResponse")


def _metric(family: Family, metric: Metric, times: Mapping[str, str]) -> dict[str, Any]:
    points = [
        {"attributes": attributes(dict(labels)), **times, **_point(value)}
        for labels, value in metric.values.items()
    ]
    data: dict[str, Any] = {"dataPoints": points}
    if family.kind != "gauge":
        data["aggregationTemporality"] = _CUMULATIVE
    if family.kind == "counter":
        data["isMonotonic"] = True
    form = {"gauge": "gauge", "counter": "sum", "histogram": "histogram"}[family.kind]
    named = {"name": family.otlp_name, "description": family.about, "unit": family.unit}
    return {**named, form: data}


def _point(value: float | Distribution) -> dict[str, Any]:
    if not isinstance(value, Distribution):
        return {"asDouble": float(value)}
    return {
        "count": str(sum(value.counts)),
        "sum": value.total,
        "bucketCounts": [str(count) for count in value.counts],
        "explicitBounds": list(value.bounds),
    }
