"""Values of families, with labels limited in number and length."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping
from math import isfinite
from typing import TypeAlias

from nanobot.plugins.common.faces import Distribution, Metric
from nanobot.plugins.metrics.families import Family

Labels: TypeAlias = tuple[tuple[str, str], ...]
_MOST_SERIES = 200
_MOST_TEXT = 64
OTHER = "other"


def labelled(family: Family, values: tuple[str, ...]) -> Labels:
    """The labels of a family with these values, each as one short line."""
    short = ("".join(c if c.isprintable() else " " for c in value[:_MOST_TEXT]) for value in values)
    return tuple(zip(family.labels, short, strict=True))


class Histogram:
    """Observations per bucket. Negative values and NaN count as 0, because clocks jump."""

    __slots__ = ("_bounds", "counts", "total")

    def __init__(self, bounds: tuple[float, ...]) -> None:
        self._bounds = bounds
        self.counts = [0] * (len(bounds) + 1)
        self.total = 0.0

    def observe(self, value: float) -> None:
        if not (value > 0 and isfinite(value)):
            value = 0.0
        self.counts[bisect_left(self._bounds, value)] += 1
        self.total += value

    @property
    def value(self) -> Distribution:
        return Distribution(self._bounds, tuple(self.counts), self.total)


class Series:
    """The counts or observations of one family, by labels. Models and people invent names, and each
    would be a permanent series: beyond a limit, new names are counted as `other`.
    """

    def __init__(self, family: Family, *known: tuple[str, ...]) -> None:
        """`known`: labels that start at 0 at once, because a rate needs a previous value."""
        self.family = family
        self._counts: dict[tuple[str, ...], float] = dict.fromkeys(known, 0.0)
        self._histograms: dict[tuple[str, ...], Histogram] = {}
        if family.bounds and not family.labels:
            self._histograms[()] = Histogram(family.bounds)

    def add(self, amount: float, *labels: str) -> None:
        key = self._bounded(labels, self._counts)
        self._counts[key] = self._counts.get(key, 0.0) + amount

    def observe(self, seconds: float, *labels: str) -> None:
        histogram = self._histograms.get(labels)
        if histogram is None:
            key = self._bounded(labels, self._histograms)
            histogram = self._histograms.setdefault(key, Histogram(self.family.bounds))
        histogram.observe(seconds)

    def _bounded(
        self, labels: tuple[str, ...], known: Mapping[tuple[str, ...], object]
    ) -> tuple[str, ...]:
        labels = tuple(label[:_MOST_TEXT] for label in labels)
        if labels in known or len(known) < _MOST_SERIES:
            return labels
        return (OTHER, *labels[1:])

    def metric(self) -> Metric:
        """The current values."""
        values: dict[Labels, float | Distribution] = {}
        for labels, count in self._counts.items():
            values[labelled(self.family, labels)] = count
        for labels, histogram in self._histograms.items():
            values[labelled(self.family, labels)] = histogram.value
        return metric_of(self.family, values)


def gauge(family: Family, values: Mapping[tuple[str, ...], float]) -> Metric:
    """A family with its current values, by labels."""
    most = list(values.items())[:_MOST_SERIES]
    return metric_of(family, {labelled(family, labels): value for labels, value in most})


def metric_of(family: Family, values: Mapping[Labels, float | Distribution]) -> Metric:
    """A family in the form of the seam."""
    return Metric(name=family.name, about=family.about, values=values, kind=family.kind, whole=True)
