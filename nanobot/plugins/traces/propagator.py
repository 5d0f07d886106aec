"""Joins the traces of runs with those of other programs, by the header `traceparent`."""

from __future__ import annotations

from nanobot.log_context import Headers
from nanobot.plugins.common.collector import switched_off
from nanobot.plugins.common.propagation import Step
from nanobot.plugins.common.runs.trace_ids import TRACEPARENT, TraceParent, kept, parsed, trace_id
from nanobot.plugins.traces.sampling import Sampler, sampler_of
from nanobot.plugins.traces.settings import TracesSettings
from nanobot.plugins.traces.span import span_id
from nanobot.system import environment


class TracePropagator:
    """A nanobot.propagation.Propagator. Requests name the span that makes them. A run that an owner
    starts continues the trace of the request; one that anybody else starts only links to it, so
    that they cannot put spans into a trace or keep a run out of the traces.
    """

    def __init__(self, sampler: Sampler) -> None:
        self._sampler = sampler

    def received(self, headers: Headers, *, trusted: bool) -> str:
        """The text for the message; "" if the header is missing, malformed or of no use."""
        parent = parsed(headers.get(TRACEPARENT, ""))
        if parent is None or not (trusted or parent.sampled):
            return ""
        return kept(parent, continued=trusted)

    def sent(self, step: Step) -> Headers:
        """The header with the span of a step."""
        sampled = self._sampler.takes(step.run_id, step.kept)
        return {
            TRACEPARENT: str(TraceParent(trace_id(step.run_id, step.kept), _span(step), sampled))
        }


def _span(step: Step) -> str:
    if step.index is not None:
        return span_id(step.run_id, "tool", (step.call, step.index))
    if step.call:
        return span_id(step.run_id, "call", step.call)
    return span_id(step.run_id, "segment", step.waits)


def propagator(settings: TracesSettings) -> TracePropagator | None:
    """The propagator, unless the configuration or OTEL_SDK_DISABLED switches it off."""
    environ = environment()
    if not settings.propagate or switched_off(environ):
        return None
    return TracePropagator(sampler_of(environ))
