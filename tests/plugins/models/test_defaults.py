"""The models that are asked unless one is named: by the price table, none is out of date."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from nanobot.plugins.common.models.known_providers import KNOWN_PROVIDERS
from nanobot.plugins.common.models.litellm_names import litellm_name
from nanobot.plugins.models.listing import line_of
from nanobot.plugins.models.table import ModelTable, bundled_table

# Whatever is best now answers there, by the provider's own choice.
_BY_NAME = {"openrouter"}
_DEFAULTS = {n: p.default_model for n, p in KNOWN_PROVIDERS.items() if p.default_model}


@pytest.fixture(scope="module")
def table() -> dict[str, dict[str, Any]]:
    path = bundled_table()
    assert path is not None
    rows: dict[str, dict[str, Any]] = json.loads(path.read_text("utf-8"))
    return rows


def rows_of(table: dict[str, dict[str, Any]], provider: str) -> dict[str, dict[str, Any]]:
    """Of a provider, those that chat and call tools and are not on their way out."""
    theirs = litellm_name(provider) or provider
    return {
        name.removeprefix(f"{theirs}/"): row
        for name, row in table.items()
        if row.get("litellm_provider") == theirs
        and row.get("mode") == "chat"
        and row.get("supports_function_calling")
        and row.get("deprecation_date") is None
    }


@pytest.mark.parametrize("provider", sorted(_DEFAULTS.keys() - _BY_NAME))
def test_a_default_model_is_sold_has_tools_and_stays(
    table: dict[str, dict[str, Any]], provider: str
) -> None:
    """When the table of a later litellm says that a model goes, another has to be chosen."""
    assert _DEFAULTS[provider] in rows_of(table, provider)


@pytest.mark.parametrize("provider", sorted(_DEFAULTS.keys() - _BY_NAME))
def test_no_newer_model_of_its_line_costs_the_same_or_less(
    table: dict[str, dict[str, Any]], provider: str
) -> None:
    rows = rows_of(table, provider)
    default = rows[_DEFAULTS[provider]]
    own, version = line_of(_DEFAULTS[provider])
    newer = [
        name
        for name, row in rows.items()
        if line_of(name)[0] == own
        and line_of(name)[1] > version
        and not re.search(r"\d{4}", name)  # a snapshot of the same
        and (row.get("output_cost_per_token") or 1.0) <= default["output_cost_per_token"]
    ]
    assert newer == []


@pytest.mark.parametrize("provider", sorted(KNOWN_PROVIDERS))
async def test_the_context_of_every_model_with_a_row_is_that_of_its_row(
    table: dict[str, dict[str, Any]], provider: str
) -> None:
    models = ModelTable()
    rows = {
        name: row
        for name, row in rows_of(table, provider).items()
        if isinstance(row.get("max_input_tokens"), int)
    }
    for name in sorted(rows)[:: max(len(rows) // 8, 1)]:
        await models.look_up(provider, name)
        assert models.profile(provider, name).context_tokens == rows[name]["max_input_tokens"]
