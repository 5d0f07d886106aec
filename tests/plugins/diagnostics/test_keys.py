"""Every key of the configuration's schema with something private in it: none of it is shown."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, get_args, get_origin

import msgspec
import pytest

from nanobot.config.loader import survey
from nanobot.config.plugin_tables import config_file
from nanobot.config.settings.base import Settings
from nanobot.config.values import base_of, variable_of
from nanobot.plugins.common.keys.declared_keys import declarations
from nanobot.plugins.diagnostics.keys import configuration, known_words
from nanobot.plugins.diagnostics.own_words import OwnWords
from nanobot.plugins.diagnostics.sentences import own_source
from tests.sampling import few

MARKER = "Zq7marker"
NAME = "zq7marker"
PRIVATE = (
    MARKER,
    f"https://{MARKER}:{MARKER}@{NAME}.example/{MARKER}?key={MARKER}",
    f"sk-{MARKER}0123456789abcdef",
)
CLOSED = frozenset({"boolean", "integer", "number", "choice"})
MODELS = frozenset({"model", "models", "fallback_models", "judge", "embedding_model"})


def keys(table: type[Settings], path: str = "") -> Iterator[tuple[str, Any]]:
    """Every key of the schema with the type of its value; people's own names are the marker."""
    declared = declarations(table)
    for field in msgspec.structs.fields(table):
        base, below = base_of(field.type), f"{path}{field.name}"
        if isinstance(base, type) and issubclass(base, Settings):
            yield from keys(base, f"{below}.")
        elif get_origin(base) is Mapping:
            inner = base_of(get_args(base)[1])
            if isinstance(inner, type) and issubclass(inner, Settings):
                yield from keys(inner, f"{below}.{NAME}.")
            else:
                yield f"{below}.{NAME}", str
        elif declared[field.name].kind not in CLOSED:
            yield below, base


KEYS = dict(keys(config_file()))


def written(key: str, kind: Any, private: str) -> str:
    """A configuration that has only this key."""
    table, _, name = key.rpartition(".")
    value = [private] if get_origin(kind) is tuple else private
    return f"{f'[{table}]' if table else ''}\n{name} = {json.dumps(value)}\n"


def shown(environ: Mapping[str, str]) -> str:
    problems, config = survey(environ)
    own = OwnWords(own_source(), {} if config is None else known_words(config))
    said = "\n".join(map(own, problems))
    return said if config is None else f"{said}\n{configuration(config, own, problems)}"


def test_the_schema_has_the_keys_that_are_known_to_be_secret() -> None:
    assert {
        f"providers.{NAME}.api_key",
        f"mcp.{NAME}.env.{NAME}",
        f"mcp.{NAME}.headers.{NAME}",
        f"channels.{NAME}.owners",
        "web.token",
        "database_url",
    } <= set(KEYS)
    assert len(KEYS) > 100


@pytest.mark.process
@pytest.mark.parametrize("turn", few(range(len(PRIVATE))))
def test_no_value_that_a_person_wrote_is_shown(tmp_path: Path, turn: int) -> None:
    """Each key holds one of the values in turn."""
    leaking = []
    for number, (key, kind) in enumerate(KEYS.items()):
        private = PRIVATE[(number + turn) % len(PRIVATE)]
        (tmp_path / "config.toml").write_text(written(key, kind, private), "utf-8")
        text = shown({"NANOBOT_HOME": str(tmp_path)}).lower()
        is_model = key.rsplit(".", 1)[-1] in MODELS
        if NAME in text and not is_model:
            leaking.append(key)
    assert leaking == []


@pytest.mark.process
def test_no_value_that_came_from_the_environment_is_shown(tmp_path: Path) -> None:
    leaking = []
    for key in KEYS:
        if key.rsplit(".", 1)[-1] in MODELS or NAME in key:
            continue
        environ = {"NANOBOT_HOME": str(tmp_path), variable_of(key): MARKER}
        if NAME in shown(environ).lower():
            leaking.append(key)
    assert leaking == []


def test_keys_that_only_an_adapter_knows_are_masked_whatever_they_hold(tmp_path: Path) -> None:
    lines = f'[channels.{NAME}]\ntype = "telegram"\nbot = "{MARKER}"\nnumber = 4915112345678\n'
    (tmp_path / "config.toml").write_text(lines, "utf-8")
    text = shown({"NANOBOT_HOME": str(tmp_path)})
    assert NAME not in text.lower()
    assert "4915112345678" not in text
    assert ".bot = (text of 9 characters)" in text


def test_numbers_switches_choices_and_models_are_shown(tmp_path: Path) -> None:
    lines = '[agent]\nmodel = "openai/gpt-5"\nmax_history = 12\nwhen_busy = "queue"\n'
    (tmp_path / "config.toml").write_text(lines, "utf-8")
    changed, _, _ = shown({"NANOBOT_HOME": str(tmp_path)}).partition("# Defaults:")
    assert "agent.model = openai/gpt-5\n" in changed
    assert "agent.max_history = 12\n" in changed
    assert "agent.when_busy = queue\n" in changed


def test_a_model_that_names_its_owner_is_not_shown(tmp_path: Path) -> None:
    lines = f'[agent]\nmodel = "openai/ft:gpt-5:{NAME}:tea:1"\nfallback_models = ["{NAME}/llama"]\n'
    (tmp_path / "config.toml").write_text(lines, "utf-8")
    assert NAME not in shown({"NANOBOT_HOME": str(tmp_path)})
