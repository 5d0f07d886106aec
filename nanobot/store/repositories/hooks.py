"""What takes part in the transactions of a store, handed over where the store is opened."""

from __future__ import annotations

from nanobot.agent.budgets import Budgets
from nanobot.config.settings.voice import VoiceSettings
from nanobot.store.opening import HooksOf
from nanobot.store.repositories.ledger import SqlBudgetLedger
from nanobot.store.repositories.quiet import SqlNotificationLimiter
from nanobot.store.repositories.tasks import SqlTaskEnds
from nanobot.store.unit import StoreContext, StoreHooks, VoiceHook
from nanobot.triggers.quiet import QuietHours


def store_hooks(
    budgets: Budgets | None = None,
    quiet: QuietHours | None = None,
    voice: VoiceSettings | None = None,
) -> HooksOf:
    """Background runs, with what keeps to these limits, and answers that are spoken."""

    def hooks(context: StoreContext) -> StoreHooks:
        return StoreHooks(
            ledger=None if budgets is None else SqlBudgetLedger(budgets, context.clock),
            tasks=SqlTaskEnds(context),
            notifications=None if quiet is None else SqlNotificationLimiter(context, quiet),
            voice=None if voice is None else _voice_hook(context, voice),
        )

    return hooks


def _voice_hook(context: StoreContext, settings: VoiceSettings) -> VoiceHook:
    from nanobot.store.repositories.voice_answers import SqlVoiceHook  # noqa: PLC0415 - if any are

    return SqlVoiceHook(context, settings)
