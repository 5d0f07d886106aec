"""Optional parts that the configuration enables, and which of them are not installed."""

from __future__ import annotations

from nanobot.config.loader import Config
from nanobot.operations.home import Finding
from nanobot.plugins.common.optional import lack
from nanobot.providers.model_choice import EMBEDDED


def switched_on(config: Config) -> list[tuple[str, str, bool]]:
    """The key, the part it needs, and whether the gateway cannot start without it. E-mail,
    storages of files and parts of plugins are checked by these. Without the sandbox there is
    another one, and a document reports its missing part when it is read."""
    needed: list[tuple[str, str, bool]] = []
    if config.database_url.startswith("postgresql"):
        needed.append(("database_url", "postgres", True))
    labels = (config.agent.model, *config.agent.fallback_models)
    if any(label.partition("/")[0] == EMBEDDED for label in labels):
        needed.append(("agent.model", "embedded", False))
    return needed


def lacking(config: Config) -> list[Finding]:
    """A finding for each that is switched on and not installed."""
    return [
        Finding(
            about="configuration",
            level="broken" if vital else "warning",
            text=f"{config.file}: {key}: {missing}",
        )
        for key, extra, vital in switched_on(config)
        if (missing := lack(extra))
    ]
