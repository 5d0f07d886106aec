"""Prices and capabilities of thousands of models, from litellm's table.

The table is read as a file, on a thread, and only the rows that were looked up are kept; no code of
litellm is executed. The configuration takes precedence.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from math import inf
from pathlib import Path
from typing import Annotated

import msgspec
from loguru import logger

from nanobot.config.settings.agent import ProviderSettings
from nanobot.plugins.common.models.known_models import abilities
from nanobot.plugins.common.models.known_providers import LOCAL_PROVIDERS
from nanobot.plugins.common.models.litellm_names import litellm_name
from nanobot.plugins.common.models.prices import PricedModels
from nanobot.plugins.models.details import ModelDetails, ask_details
from nanobot.plugins.models.families import known_profile
from nanobot.ports import Clock
from nanobot.providers.addresses import versioned
from nanobot.providers.base import ModelProfile, Price
from nanobot.providers.clients import LEAN
from nanobot.providers.model_choice import ModelChoice
from nanobot.providers.model_facts import configured, profile_for
from nanobot.system import SystemClock

_FILE = "model_prices_and_context_window_backup.json"
_ASK_AGAIN_SECONDS = 60.0


_Dollars = Annotated[float, msgspec.Meta(ge=0, le=1)]
"""The price of one token; the highest in the table is a thousandth of a dollar."""
_Tokens = Annotated[int, msgspec.Meta(ge=0, le=1_000_000_000)]


class _Row(msgspec.Struct, frozen=True):
    """The kept fields of a model's row."""

    litellm_provider: str
    input_cost_per_token: _Dollars | None = None
    output_cost_per_token: _Dollars | None = None
    cache_read_input_token_cost: _Dollars | None = None
    cache_creation_input_token_cost: _Dollars | None = None
    max_input_tokens: _Tokens | None = None
    supports_function_calling: bool | None = None
    supports_vision: bool | None = None
    supports_sampling_params: bool = True
    supports_reasoning: bool = False
    supports_none_reasoning_effort: bool = False
    supports_minimal_reasoning_effort: bool | None = None
    thinking_always_on: bool = False

    @property
    def always_thinks(self) -> bool:
        """Whether the model's thinking cannot be turned off, by the rows of its provider."""
        if self.litellm_provider == "openai":
            return self.supports_reasoning and not self.supports_none_reasoning_effort
        if self.litellm_provider == "gemini":
            return self.supports_minimal_reasoning_effort is False
        return self.thinking_always_on


def bundled_table() -> Path | None:
    """The table in the litellm package; None if it was removed."""
    try:
        spec = find_spec("litellm")
    except ValueError:
        return None
    for folder in (spec and spec.submodule_search_locations) or ():
        if (path := Path(folder) / _FILE).is_file():
            return path
    return None


class ModelTable(PricedModels):
    """Adds the table's data on the models that were looked up, and what endpoints say of models
    that are in no table. The configuration takes precedence.
    """

    def __init__(
        self,
        providers: Mapping[str, ProviderSettings] | None = None,
        clock: Clock | None = None,
        find: Callable[[], Path | None] = bundled_table,
    ) -> None:
        super().__init__(providers or {})
        self._clock = clock or SystemClock()
        self._find = find
        self._rows: dict[tuple[str, str], _Row | None] = {}
        self._by_provider: dict[tuple[str, str], ModelDetails] = {}
        self._asked_at: dict[tuple[str, str], float] = {}
        self._loading = asyncio.Lock()

    async def ask(self, choice: ModelChoice) -> None:
        """Ask the endpoint about its model if no table has it; once, or again a minute after it
        gave no answer.
        """
        provider, model, now = choice.provider_name, choice.model, self._clock.monotonic()
        if choice.client != LEAN or now < self._asked_at.get((provider, model), -inf):
            return
        self._asked_at[provider, model] = inf
        if self.knows(provider, model):
            return
        details = await ask_details(versioned(choice.api_base), choice.api_key, model)
        if details is None:
            self._asked_at[provider, model] = now + _ASK_AGAIN_SECONDS
        tells = details is not None and details != ModelDetails()
        self._by_provider[provider, model] = details or ModelDetails()
        logger.info(
            '{} {}: {}; if that is wrong, set [providers.{}.models."{}"]',
            f"{provider}/{model}",
            "reports its capabilities" if tells else "is in no table, so this is assumed",
            *(abilities(self.profile(provider, model)), provider, model),
        )

    async def find_price(self, choice: ModelChoice) -> Price | None:
        """The price of a model. Reads its row if its capabilities or its price need that."""
        if known_profile(choice.provider_name, choice.model) is None:
            await self._look_up(choice)
        price = await super().find_price(choice)
        if price is None:
            await self._look_up(choice)
            price = self.price_of(choice.provider_name, choice.model)
        return price

    async def _look_up(self, choice: ModelChoice) -> None:
        """Look a model up in the table, if the table may have it."""
        if choice.client == "litellm" or litellm_name(choice.provider_name) is not None:
            await self.look_up(choice.provider_name, choice.model)

    async def look_up(self, provider: str, model: str) -> None:
        """Read a model's row, if that was not done yet."""
        async with self._loading:
            if (provider, model) not in self._rows:
                theirs = litellm_name(provider) or provider
                row = await asyncio.to_thread(_read, self._find, theirs, model)
                self._rows[provider, model] = row

    def knows(self, provider: str, model: str) -> bool:
        """Whether a table, or the configuration, describes the model's capabilities. An entry for
        self-hosted servers applies to all their models, so it is a guess.
        """
        settings = self._providers.get(provider)
        configured = None if settings is None else settings.models.get(model)
        if configured is not None and None not in (
            configured.context,
            configured.tools,
            configured.images,
        ):
            return True
        listed = known_profile(provider, model) is not None and provider not in LOCAL_PROVIDERS
        return listed or self._rows.get((provider, model)) is not None

    def has_row(self, provider: str, model: str) -> bool:
        """Whether the table has a row for exactly this model, after it was looked up."""
        return self._rows.get((provider, model)) is not None

    def price_of(self, provider: str, model: str) -> Price | None:
        """The price of a model; None if it is unknown, which does not mean that it is free."""
        if (price := super().price_of(provider, model)) is not None:
            return price
        row = self._rows.get((provider, model))
        if row is None or row.input_cost_per_token is None or row.output_cost_per_token is None:
            return None
        return Price(
            prompt=row.input_cost_per_token,
            completion=row.output_cost_per_token,
            cached=row.cache_read_input_token_cost,
            cache_write=row.cache_creation_input_token_cost,
        )

    def profile(self, provider: str, model: str) -> ModelProfile:
        """A model's capabilities: from the configuration, otherwise its endpoint, otherwise
        litellm's row for exactly this model, otherwise our own table of families, otherwise
        defaults.
        """
        profile = self._tabled(provider, model)
        row = self._rows.get((provider, model))
        if row is not None:
            profile = msgspec.structs.replace(
                profile, sampling=row.supports_sampling_params, always_thinks=row.always_thinks
            )
        settings = self._providers.get(provider)
        return profile if settings is None else configured(profile, settings)

    def _tabled(self, provider: str, model: str) -> ModelProfile:
        usual = profile_for(provider, model)
        details = self._by_provider.get((provider, model))
        if details is not None:
            return msgspec.structs.replace(
                usual,
                context_tokens=details.context or usual.context_tokens,
                tools=usual.tools if details.tools is None else details.tools,
                images=usual.images if details.images is None else details.images,
            )
        row = self._rows.get((provider, model))
        if row is None or provider in LOCAL_PROVIDERS:
            return usual
        if known_profile(provider, model) is None:
            return msgspec.structs.replace(
                usual,
                context_tokens=row.max_input_tokens or usual.context_tokens,
                tools=bool(row.supports_function_calling),
                images=bool(row.supports_vision),
            )
        # The row leaves out unknown values, so that it does not remove a capability.
        return msgspec.structs.replace(
            usual,
            context_tokens=row.max_input_tokens or usual.context_tokens,
            tools=usual.tools and row.supports_function_calling is not False,
            images=usual.images or bool(row.supports_vision),
        )


def _read(find: Callable[[], Path | None], provider: str, model: str) -> _Row | None:
    """The row of a model of `provider`, which is litellm's name."""
    path = find()
    if path is None:
        return None
    try:
        table = msgspec.json.decode(path.read_bytes(), type=dict[str, msgspec.Raw])
    except (OSError, msgspec.DecodeError) as problem:
        logger.warning("no prices: {} cannot be read: {}", path, problem)
        return None
    if (row := _decoded(table.get(f"{provider}/{model}"))) is not None:
        return row
    # Some models are listed without their provider, which then has to be the same one
    # (bedrock_converse).
    bare = _decoded(table.get(model))
    return bare if bare and bare.litellm_provider.startswith(provider) else None


def names_of(provider: str, find: Callable[[], Path | None] = bundled_table) -> list[str]:
    """A provider's models in the table, by the table's names; none without the table."""
    path, theirs = find(), litellm_name(provider) or provider
    if path is None:
        return []
    try:
        table = msgspec.json.decode(path.read_bytes(), type=dict[str, msgspec.Raw])
    except (OSError, msgspec.DecodeError):
        return []
    prefix = f"{theirs}/"
    names = [name.removeprefix(prefix) for name in table if name.startswith(prefix)]
    bare = (name for name, raw in table.items() if "/" not in name and _is_of(theirs, raw))
    return [*names, *bare]


def _is_of(provider: str, raw: msgspec.Raw) -> bool:
    row = _decoded(raw)
    return row is not None and row.litellm_provider == provider


def _decoded(raw: msgspec.Raw | None) -> _Row | None:
    if raw is None:
        return None
    try:
        return msgspec.json.decode(raw, type=_Row, strict=False)
    except msgspec.DecodeError:
        return None  # the example row, and rows in a future format
