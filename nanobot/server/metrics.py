"""/metrics: what Prometheus collects, in its text format."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from aiohttp import web

from nanobot.agent.library.requests import ENDED
from nanobot.operations.engine import Engine
from nanobot.server.application import Route
from nanobot.server.meter import Meter
from nanobot.server.plugin_routes import Each, metrics_of_plugins
from nanobot.server.session_routes import owners_only, refusing
from nanobot.server.wire import QUIET


class MetricsRoute:
    """GET /metrics, for owners."""

    def __init__(self, engine: Engine, meter: Meter, each_plugin: Each) -> None:
        self._engine = engine
        self._meter = meter
        self._each_plugin = each_plugin

    def route(self) -> Route:
        return Route(method="GET", path="/metrics", handler=refusing(self._tell))

    async def _tell(self, request: web.Request) -> web.StreamResponse:
        owners_only(request)
        text = "".join([*self._counted(), *await self._standing(), *self._of_plugins()])
        response = web.Response(body=text.encode(), headers=QUIET)
        response.headers["Content-Type"] = "text/plain; version=0.0.4; charset=utf-8"
        return response

    def _counted(self) -> Iterable[str]:
        meter = self._meter
        # Zeros from the start on: a rate needs a value before the first of them.
        runs = {_labels(state=str(state)): meter.runs[state] for state in sorted(ENDED)}
        tools = {_labels(tool=t, outcome=how): count for (t, how), count in meter.tools.items()}
        tokens = {_labels(kind=kind): meter.tokens[kind] for kind in ("prompt", "completion")}
        yield from _metric("runs_total", "counter", "Runs that ended, by state.", runs)
        yield from _metric("tool_calls_total", "counter", "Tool calls, by outcome.", tools)
        calls = {"": float(meter.model_calls)}
        yield from _metric("model_calls_total", "counter", "Answers of models.", calls)
        yield from _metric("tokens_total", "counter", "Tokens of models.", tokens)
        cached = {"": float(meter.tokens["cached"])}
        about = "Tokens of prompts that a provider had in its cache."
        yield from _metric("cached_tokens_total", "counter", about, cached)
        cost = {"": meter.cost}
        yield from _metric(
            "cost_dollars_total", "counter", "What they cost, as far as that is known.", cost
        )

    def _of_plugins(self) -> Iterable[str]:
        for metric in metrics_of_plugins(self._each_plugin):
            values = {
                _labels(**dict(pairs)) if pairs else "": value
                for pairs, value in metric.values.items()
            }
            yield from _metric(metric.name, metric.kind, metric.about, values)

    async def _standing(self) -> list[str]:
        engine = self._engine
        counts, facts = await engine.records.counts(), engine.facts()
        lines: list[str] = []
        for name, about, values in (
            ("uptime_seconds", "Since the start.", {"": engine.uptime()}),
            ("sessions", "Conversations there are.", {"": float(counts.sessions)}),
            ("runs_running", "Runs driven now.", {"": float(len(engine.running()))}),
            ("inbox_messages", "Messages that wait for a run.", {"": float(counts.waiting)}),
            (
                "outbox_messages",
                "Messages that are owed to chats, and dead ones.",
                {_labels(state="owed"): counts.owed, _labels(state="dead"): counts.dead},
            ),
            (
                "channel_up",
                "Whether a channel is up.",
                {_labels(channel=c): float(s == "up") for c, s in facts.channels.items()},
            ),
        ):
            lines += _metric(name, "gauge", about, values)
        return lines


def _labels(**labels: str) -> str:
    """As they stand behind a name."""
    pairs = (f'{name}="{_escaped(value)}"' for name, value in labels.items())
    return "{" + ",".join(pairs) + "}"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _metric(name: str, kind: str, about: str, values: Mapping[str, float]) -> Iterable[str]:
    yield f"# HELP nanobot_{name} {about}\n# TYPE nanobot_{name} {kind}\n"
    for labels, value in values.items():
        yield f"nanobot_{name}{labels} {float(value)!r}\n"
