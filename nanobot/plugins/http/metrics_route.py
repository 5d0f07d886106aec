"""/metrics: Prometheus metrics in its text format. The families come from plugins."""

from __future__ import annotations

from aiohttp import web

from nanobot.plugins.common.faces import CurrentMetrics
from nanobot.plugins.common.http.prometheus import prometheus_text
from nanobot.plugins.common.http.refusals import refusing
from nanobot.plugins.common.http.requests import owners_only
from nanobot.plugins.common.http.route import Route
from nanobot.plugins.common.http.wire import QUIET


class MetricsRoute:
    """GET /metrics, for owners."""

    def __init__(self, metrics: CurrentMetrics) -> None:
        self._metrics = metrics

    def route(self) -> Route:
        return Route(method="GET", path="/metrics", handler=refusing(self._tell))

    async def _tell(self, request: web.Request) -> web.StreamResponse:
        owners_only(request)
        text = prometheus_text(await self._metrics.collect())
        response = web.Response(body=text.encode(), headers=QUIET)
        response.headers["Content-Type"] = "text/plain; version=0.0.4; charset=utf-8"
        return response
