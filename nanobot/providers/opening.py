"""What a provider is opened with."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec

from nanobot.config.settings.agent import ProviderSettings
from nanobot.ports import Clock
from nanobot.providers.base import ModelProfile
from nanobot.providers.model_choice import ModelChoice
from nanobot.providers.retrying import CallPolicy


class Opening(msgspec.Struct, frozen=True, kw_only=True):
    """The first model that is wanted of a provider, with its address and key; the table
    `[providers.NAME]`; the limits of calls; where the abilities of models are found, by provider
    and model; the home and the environment."""

    choice: ModelChoice
    settings: ProviderSettings
    clock: Clock
    policy: CallPolicy
    profiles: Callable[[str, str], ModelProfile]
    home: Path
    environ: Mapping[str, str]
