"""Models: which one answers in a conversation, and what is known of each."""

from __future__ import annotations

from pathlib import Path

from nanobot.seam.plugin import Plugin

PLUGIN = Plugin(
    name="models",
    summary="Another model for a conversation; prices and limits of models, checks of their names.",
    texts=Path(__file__).parent,
    operations="nanobot.plugins.models.operations:operations",
    provides={
        "additions": "nanobot.plugins.models.additions:VendorAdditions",
        "families": "nanobot.plugins.models.families:known_profile",
        "model_facts": "nanobot.plugins.models.table:ModelTable",
        "model_prices": "nanobot.plugins.common.models.prices:PricedModels",
        "named_model": "nanobot.plugins.common.models.named_model:named_model",
        "named_models": "nanobot.plugins.models.named:check_named",
        "similar_models": "nanobot.plugins.models.similar:with_similar",
        "similar_names": "nanobot.plugins.models.similar:naming_similar",
        "newest_model": "nanobot.plugins.models.listing:newest_model",
    },
)
