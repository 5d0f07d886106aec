"""Keys that name a model: one that is nowhere is refused before it is written."""

from __future__ import annotations

from pathlib import Path

import pytest

from nanobot.errors import ConfigError
from nanobot.plugins.configuration.named_models import check_named, names_a_model
from nanobot.plugins.configuration.schema import schema


def keys_of_chat_models() -> list[str]:
    """Every key of the schema that names a model which chats."""
    found: list[str] = []

    def walk(rule: dict[str, object], path: str) -> None:
        if "$ref" in rule:
            rule = definitions[str(rule["$ref"]).rpartition("/")[2]]
        for name, below in dict(rule.get("properties") or {}).items():  # type: ignore[call-overload]
            key = f"{path}.{name}" if path else name
            if name in ("model", "fallback_models"):
                found.append(key)
            elif key.count(".") < 4:
                walk(below, key)
        others = rule.get("additionalProperties")
        if isinstance(others, dict):
            walk(others, f"{path}.x")

    whole = schema()
    definitions = whole.get("$defs", {})
    walk(whole, "")
    return found


def test_each_key_that_names_a_model_is_checked() -> None:
    keys = set(keys_of_chat_models())
    assert {"agent.model", "heartbeat.model", "hooks.x.model"} <= keys
    assert {key for key in keys if not names_a_model(key)} == {
        *("voice.model", "budgets.model"),  # a voice, and a limit by model
    }


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("agent.model", "opnai/x"),
        ("agent.fallback_models", ["openai/gpt-5-mini", "opnai/x"]),
        ("hooks.x.model", "opnai/x"),
    ],
)
async def test_a_key_with_a_provider_that_is_not_there_is_refused(
    tmp_path: Path, key: str, value: object
) -> None:
    with pytest.raises(ConfigError, match="did you mean"):
        await check_named({key: value}, {"NANOBOT_HOME": str(tmp_path)})
    await check_named({"agent.persona": value}, {"NANOBOT_HOME": str(tmp_path)})
