"""The models that are asked unless one is named: by the price table, none is out of date."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from nanobot.providers.known_providers import KNOWN_PROVIDERS
from nanobot.providers.litellm_names import litellm_name
from nanobot.providers.model_table import bundled_table

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


def line(name: str) -> tuple[str, tuple[float, ...]]:
    """A model's line, and which of it: "gpt-5.4-mini" is 5.4 of "gpt-*-mini"."""
    numbers = [float(number.replace("p", ".")) for number in re.findall(r"\d+(?:\.\d+)?", name)]
    return re.sub(r"\d+(?:[.-]\d+)*", "*", name), tuple(numbers)


@pytest.mark.parametrize("provider", sorted(_DEFAULTS.keys() - _BY_NAME))
def test_no_newer_model_of_its_line_costs_the_same_or_less(
    table: dict[str, dict[str, Any]], provider: str
) -> None:
    rows = rows_of(table, provider)
    default = rows[_DEFAULTS[provider]]
    own, version = line(_DEFAULTS[provider])
    newer = [
        name
        for name, row in rows.items()
        if line(name)[0] == own
        and line(name)[1] > version
        and not re.search(r"\d{4}", name)  # a snapshot of the same
        and (row.get("output_cost_per_token") or 1.0) <= default["output_cost_per_token"]
    ]
    assert newer == []
