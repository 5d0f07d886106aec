"""Models: what is known of them beyond the configuration."""

from __future__ import annotations

from pathlib import Path

from nanobot.seam.plugin import Plugin

PLUGIN = Plugin(
    name="models",
    summary="Prices and limits of models, and checks of their names.",
    texts=Path(__file__).parent,
    provides={
        "families": "nanobot.plugins.models.families:known_profile",
        "model_facts": "nanobot.plugins.models.table:ModelTable",
        "model_check": "nanobot.plugins.models.checking:check_model",
        "named_models": "nanobot.plugins.models.named:check_named",
        "similar_models": "nanobot.plugins.models.similar:with_similar",
        "newest_model": "nanobot.plugins.models.listing:newest_model",
    },
)
