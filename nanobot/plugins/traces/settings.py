"""Where spans are sent."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from nanobot.config.settings.base import Settings, Unfit, about, is_usable_url


class TracesSettings(Settings, frozen=True, kw_only=True):
    """`[traces]`: each run as a trace of OpenTelemetry. Empty keys are taken from the variables
    `OTEL_EXPORTER_OTLP_*` and `OTEL_SERVICE_NAME`."""

    enabled: Annotated[bool, about("Send a trace of every run to a collector.")] = False
    endpoint: Annotated[
        str,
        about("Address for traces, as http://127.0.0.1:4318/v1/traces. Empty: OTEL_* variables."),
    ] = ""
    api_key: Annotated[
        str, about("Sent as `Authorization: Bearer`. Other headers: OTEL_EXPORTER_OTLP_HEADERS.")
    ] = ""
    content: Annotated[
        bool, about("Send messages, arguments and results of tools too, without known secrets.")
    ] = False
    propagate: Annotated[
        bool,
        about("Tell models, MCP servers and commands the trace, and continue those of programs."),
    ] = True
    interval: Annotated[
        float, Meta(ge=0.2, le=3600), about("How often ended runs are looked for.", unit="s")
    ] = 5.0

    def __post_init__(self) -> None:
        if self.endpoint and not is_usable_url(self.endpoint):
            raise Unfit("endpoint", "an http:// or https:// URL")
