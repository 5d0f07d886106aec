"""Metrics in the text format of Prometheus."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import accumulate

from nanobot.plugins.common.faces import Distribution, Metric


def prometheus_text(metrics: Iterable[Metric]) -> str:
    """Families in the text format of Prometheus."""
    return "".join(line for metric in metrics for line in _lines(metric))


def _lines(metric: Metric) -> Iterable[str]:
    name = f"nanobot_{metric.name}"
    yield f"# HELP {name} {_in_one_line(metric.about)}\n# TYPE {name} {metric.kind}\n"
    for pairs, value in metric.values.items():
        if isinstance(value, Distribution):
            yield from _buckets(name, pairs, value)
        else:
            yield f"{name}{_labels(pairs)} {float(value)!r}\n"


def _buckets(name: str, pairs: tuple[tuple[str, str], ...], value: Distribution) -> Iterable[str]:
    bounds = (*(repr(bound) for bound in value.bounds), "+Inf")
    for bound, count in zip(bounds, accumulate(value.counts), strict=True):
        yield f"{name}_bucket{_labels((*pairs, ('le', bound)))} {count}\n"
    yield f"{name}_sum{_labels(pairs)} {value.total!r}\n"
    yield f"{name}_count{_labels(pairs)} {sum(value.counts)}\n"


def _labels(pairs: tuple[tuple[str, str], ...]) -> str:
    """The labels after a name."""
    written = ",".join(f'{name}="{_escaped(value)}"' for name, value in pairs)
    return f"{{{written}}}" if written else ""


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _in_one_line(text: str) -> str:
    return text.replace("\\", "\\\\").replace("\n", "\\n")
