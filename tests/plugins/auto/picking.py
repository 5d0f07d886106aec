"""A choice of a model, with what its probe finds."""

from __future__ import annotations

from functools import partial

from nanobot.config.settings.agent import ProviderSettings
from nanobot.plugins.auto.finding import find
from nanobot.plugins.common.models.model_lists import Probe
from nanobot.providers.model_choice import ModelChoice, choose


def answering(**servers: tuple[str, ...]) -> Probe:
    """A probe of a machine where only these ports answer, written `p11434=("model",)`."""

    async def probe(url: str) -> tuple[str, ...] | None:
        return next((names for port, names in servers.items() if f":{port[1:]}/" in url), None)

    return probe


async def untouched(url: str) -> tuple[str, ...] | None:
    """The probe of a choice that asks nothing."""
    raise AssertionError(f"{url} was asked, and nothing should be")


async def pick(
    model: str = "auto",
    probe: Probe = untouched,
    environ: dict[str, str] | None = None,
    **providers: ProviderSettings,
) -> ModelChoice:
    """What a machine with these servers and variables chooses."""
    return await choose(model, providers, environ or {}, auto=partial(find, probe=probe))
