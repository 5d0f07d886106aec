"""The option for the format of the log."""

from __future__ import annotations

from collections.abc import Mapping


def with_log_format(environ: Mapping[str, str], log_format: str | None) -> Mapping[str, str]:
    """The environment with the value of the option, which overrides the configuration."""
    return environ if log_format is None else {**environ, "NANOBOT_LOG_FORMAT": log_format}
