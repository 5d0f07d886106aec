"""The personas that `agent.persona` can name."""

from __future__ import annotations

from collections.abc import Mapping

from nanobot.config.loader import load
from nanobot.plugins.setup.views import PersonaView
from nanobot.workspace import personas


def persona_views(environ: Mapping[str, str]) -> list[PersonaView]:
    """All personas, with the one that the next start uses."""
    config = load(environ, unset={})
    return [
        PersonaView(
            name=name,
            text=personas.text(name, config.workspace).strip(),
            chosen=name == config.agent.persona,
        )
        for name in personas.names(config.workspace)
    ]
