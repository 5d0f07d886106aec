"""The metrics of plugins."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import msgspec

from nanobot.errors import PluginBroken
from nanobot.plugins.common.awaited import each_awaited
from nanobot.plugins.common.faces import CurrentMetrics, Distribution, Metric
from nanobot.seam.given import listed
from nanobot.seam.installed import FoundPlugin
from nanobot.seam.offers import Contributions
from nanobot.text import pattern

METRICS_SECONDS = 5.0
"""The time limit for a plugin to collect its metrics; the others wait for it."""

_NAME = pattern(r"[a-z][a-z0-9_]{0,63}")


def always_objects(plugins: Contributions) -> Mapping[Any, Any]:
    """The metrics of the plugins that are on."""
    return {CurrentMetrics: PluginMetrics(plugins)}


class PluginMetrics:
    """See nanobot.seam.faces.CurrentMetrics."""

    def __init__(self, plugins: Contributions) -> None:
        self._plugins = plugins

    async def collect(self) -> Sequence[Metric]:
        metrics: list[Metric] = []
        await each_awaited(self._plugins, "metrics", partial(_add, metrics), METRICS_SECONDS)
        return metrics


def _add(metrics: list[Metric], found: FoundPlugin, given: Any) -> None:
    """Add what a plugin gives, with its full names."""
    new = listed(given, Metric)
    for metric in new:
        if _NAME.fullmatch(metric.name) is None:
            raise PluginBroken(f"a metric has the name {metric.name!r}")
        if metric.whole and found.package:
            raise PluginBroken(f"the metric {metric.name!r} must have the plugin's prefix")
        if not all(_fits(metric.kind, value) for value in dict(metric.values).values()):
            raise PluginBroken(f"the values of the metric {metric.name!r} are not numbers")
    metrics.extend(
        metric
        if metric.whole
        else msgspec.structs.replace(metric, name=f"{found.name}_{metric.name}")
        for metric in new
    )


def _fits(kind: str, value: Any) -> bool:
    if kind == "histogram":
        return isinstance(value, Distribution) and len(value.counts) == len(value.bounds) + 1
    return isinstance(value, int | float)
