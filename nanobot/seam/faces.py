"""What people see of a plugin: views of the page, and metrics."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import msgspec


class PageView(msgspec.Struct, frozen=True, kw_only=True):
    """A view of the page, for owners. `script` is a JavaScript module whose default export is a
    function: it gets what the page is made with (`html`, `useState`, `useEffect`, `Head`, `Button`,
    `Fetched`, `useFetched`, `read`, `change`, `get`, `t`) and returns a component."""

    title: str
    script: str
    name: str = "main"
    icon: str = "info"


class Distribution(msgspec.Struct, frozen=True):
    """The value of a histogram: how many observations are at most each of `bounds` and above the
    one before, then how many are above the last; and the sum of all."""

    bounds: tuple[float, ...]
    counts: tuple[int, ...]
    total: float


class Metric(msgspec.Struct, frozen=True, kw_only=True):
    """One family of metrics. `name` is without its prefix `nanobot_PLUGIN_`; `values` are by their
    labels, each as `{"label": "value"}` in order of a tuple of pairs; `()`: no label. The values of
    a histogram are Distributions. `whole`: the prefix is `nanobot_` alone, which only plugins of
    nanobot may have."""

    name: str
    about: str
    values: Mapping[tuple[tuple[str, str], ...], float | Distribution]
    kind: Literal["counter", "gauge", "histogram"] = "gauge"
    whole: bool = False
