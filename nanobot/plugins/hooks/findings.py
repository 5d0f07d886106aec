"""The findings of `nanobot doctor` about webhooks."""

from __future__ import annotations

from collections.abc import Mapping

from nanobot.config.loader import Config
from nanobot.operations.home import Finding
from nanobot.plugins.common.http.settings import WebSettings
from nanobot.plugins.common.web_port import port_finding
from nanobot.plugins.hooks.settings import HookSettings

_SHORT_SECRET = 16


async def checks(hooks: Mapping[str, HookSettings], config: Config) -> list[Finding]:
    """The findings about each webhook, and about the port if nothing else is served there."""
    on = {name: hook for name, hook in hooks.items() if hook.enabled}
    findings = [await port_finding(config)] if on and not config.of(WebSettings).enabled else []
    for name, hook in on.items():
        about = f"hooks.{name}"
        if len(hook.secret) < _SHORT_SECRET:
            text = f"hooks.{name}.secret has {len(hook.secret)} characters and could be guessed"
            remedy = f"Set one of {_SHORT_SECRET} or more, here and at the sender"
            findings.append(Finding(about=about, level="warning", text=text, remedy=remedy))
        else:
            text = f"/hooks/{name}, answers go to {hook.to or 'the log'}"
            findings.append(Finding(about=about, level="ok", text=text))
    return findings
