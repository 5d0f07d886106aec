"""Claims: marks answers that say something was done which no call of their run could have done."""

from __future__ import annotations

from pathlib import Path

from nanobot.plugins.claims.settings import ClaimsSettings
from nanobot.seam.plugin import Plugin


def _idle(settings: ClaimsSettings) -> str:
    return "" if settings.enabled else "claims.enabled is false."


PLUGIN = Plugin(
    name="claims",
    summary="Mark answers that claim what no call of their run could have done.",
    texts=Path(__file__).parent,
    settings=ClaimsSettings,
    idle=_idle,
    remarks="nanobot.plugins.claims.service:remarks",
    answer_checks="nanobot.plugins.claims.service:answer_checks",
)
