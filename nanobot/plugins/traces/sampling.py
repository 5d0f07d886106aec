"""Which traces are sent, as `OTEL_TRACES_SAMPLER` and `OTEL_TRACES_SAMPLER_ARG` say."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
from loguru import logger

from nanobot.plugins.common.runs.trace_ids import continued, trace_id

_PARENT_BASED = "parentbased_"
_USUAL = "parentbased_always_on"
_HALF = 2**63


class Sampler(msgspec.Struct, frozen=True):
    """The part of all traces that is sent, from 0 to 1. `parent_based`: a trace that a program
    began is sent if it says so."""

    ratio: float = 1.0
    parent_based: bool = True

    def takes(self, run_id: str, kept: str = "") -> bool:
        """Whether a run's trace is sent: the same answer whenever and wherever it is asked."""
        parent = continued(kept)
        if self.parent_based and parent is not None:
            return parent.sampled
        # As the SDKs decide by ratio, so that several programs agree about a trace.
        return int(trace_id(run_id, kept)[16:], 16) % _HALF < self.ratio * _HALF


def sampler_of(environ: Mapping[str, str]) -> Sampler:
    """The sampler that the variables name; all traces if they name none, or one that is unknown."""
    named = environ.get("OTEL_TRACES_SAMPLER", "").strip().lower() or _USUAL
    kind = named.removeprefix(_PARENT_BASED)
    ratios = {"always_on": 1.0, "always_off": 0.0, "traceidratio": _ratio(environ)}
    if kind not in ratios:
        logger.warning("traces: OTEL_TRACES_SAMPLER={} is unknown; all are sent", named[:60])
        return Sampler()
    return Sampler(ratios[kind], named.startswith(_PARENT_BASED))


def _ratio(environ: Mapping[str, str]) -> float:
    try:
        ratio = float(environ.get("OTEL_TRACES_SAMPLER_ARG", "") or "1")
    except ValueError:
        return 1.0
    return ratio if 0.0 <= ratio <= 1.0 else 1.0
