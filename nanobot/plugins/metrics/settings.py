"""Where nanobot sends metrics, in addition to /metrics."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from nanobot.config.settings.base import Settings, Unfit, about, is_usable_url


class MetricsSettings(Settings, frozen=True, kw_only=True):
    """`[metrics]`: metrics for a collector of OpenTelemetry, in addition to `/metrics`. Empty keys
    are taken from the variables `OTEL_EXPORTER_OTLP_*` and `OTEL_SERVICE_NAME`."""

    send: Annotated[bool, about("Send metrics to a collector.")] = False
    endpoint: Annotated[
        str,
        about("Address for metrics, as http://127.0.0.1:4318/v1/metrics. Empty: OTEL_* variables."),
    ] = ""
    api_key: Annotated[
        str, about("Sent as `Authorization: Bearer`. Other headers: OTEL_EXPORTER_OTLP_HEADERS.")
    ] = ""
    interval: Annotated[
        float, Meta(ge=0.2, le=3600), about("How often metrics are sent.", unit="s")
    ] = 60.0

    def __post_init__(self) -> None:
        if self.endpoint and not is_usable_url(self.endpoint):
            raise Unfit("endpoint", "an http:// or https:// URL")
