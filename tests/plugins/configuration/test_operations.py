"""The configuration, looked at and changed through the operations of a gateway at rest."""

from __future__ import annotations

import pytest

from nanobot.config.loader import load
from nanobot.errors import ConfigError, NanobotError, UsageError
from nanobot.operations.dispatcher import Dispatcher
from tests.operations.homes import WRITTEN, file_of, secrets_of
from tests.operations.homes import environ as environ
from tests.operations.homes import operations as operations


async def test_settings_say_where_they_come_from_and_keep_their_secrets(
    operations: Dispatcher,
) -> None:
    every = {view.key: view for view in await operations.call("config get", {})}
    assert every["agent.model"].source == "file"
    assert every["agent.max_iterations"].source == "default"
    assert (every["drain_seconds"].source, every["drain_seconds"].value) == ("environment", 7.0)
    assert every["providers.groq.api_key"].value == "***"
    assert "gsk-secret" not in repr(every)


async def test_what_is_written_is_told_beside_what_holds_until_the_next_start(
    operations: Dispatcher,
) -> None:
    changed = await operations.call("config set", {"key": "agent.recall_top_k", "text": "9"})
    assert (changed.applied, changed.restart) == ([], ["agent.recall_top_k"])
    (view,) = await operations.call("config get", {"key": "agent.recall_top_k"})
    assert (view.value, view.written, view.source) == (5, 9, "file")


async def test_a_key_that_applies_at_once_holds_and_nothing_waits_for_a_restart(
    operations: Dispatcher,
) -> None:
    changed = await operations.call("config set", {"key": "agent.max_iterations", "text": "9"})
    assert (changed.applied, changed.restart) == (["agent.max_iterations"], [])
    (view,) = await operations.call("config get", {"key": "agent.max_iterations"})
    assert (view.value, view.written, view.source) == (9, None, "file")
    changed = await operations.call("config unset", {"key": "agent.max_iterations"})
    assert changed.applied == ["agent.max_iterations"]


async def test_a_key_that_the_environment_sets_is_said_to_have_no_effect(
    operations: Dispatcher,
) -> None:
    changed = await operations.call("config set", {"key": "drain_seconds", "text": "9"})
    assert (changed.applied, changed.overridden) == ([], ["drain_seconds"])


async def test_every_key_says_what_it_is_for(operations: Dispatcher) -> None:
    views = await operations.call("config get", {})
    silent = [view.key for view in views if not view.about or not view.kind]
    assert silent == ["channels.telegram.token"]  # only its adapter knows it
    tokens = next(view for view in views if view.key == "agent.max_tokens")
    assert (tokens.kind, tokens.unit, tokens.default) == ("integer", "tokens", 4096)
    assert (tokens.least, tokens.most, tokens.above) == (1, 1_000_000, False)
    busy = next(view for view in views if view.key == "agent.when_busy")
    assert (busy.kind, busy.choices[0]) == ("choice", "steer")
    unset = next(view for view in views if view.key == "budgets.person.tokens_per_day")
    assert (unset.value, unset.kind) == (None, "integer")


async def test_a_secret_that_is_set_goes_into_a_file_of_its_owners_alone(
    operations: Dispatcher, environ: dict[str, str]
) -> None:
    await operations.call("config set", {"key": "providers.groq.api_key", "text": "gsk-new"})
    assert "gsk-new" not in file_of(environ)
    assert secrets_of(environ) == {"providers.groq.api_key": ("gsk-new\n", 0o600)}
    assert load(environ).providers["groq"].api_key == "gsk-new"


async def test_a_reference_to_a_secret_is_written_as_it_is(
    operations: Dispatcher, environ: dict[str, str]
) -> None:
    environ["GROQ_API_KEY"] = "from-outside"
    await operations.call(
        "config set", {"key": "providers.groq.api_key", "text": "${GROQ_API_KEY}"}
    )
    assert "${GROQ_API_KEY}" in file_of(environ)


async def test_a_wrong_value_changes_nothing_and_leaves_no_secret_behind(
    operations: Dispatcher, environ: dict[str, str]
) -> None:
    with pytest.raises(ConfigError, match=r"agent\.max_tokens"):
        await operations.call("config set", {"key": "agent.max_tokens", "text": "0"})
    with pytest.raises(UsageError):
        await operations.call("config set", {"key": "../x.token", "text": "secret"})
    with pytest.raises(NanobotError):
        await operations.call("config set", {"key": "agent.token", "text": "secret"})
    assert file_of(environ) == WRITTEN
    assert secrets_of(environ) == {}


async def test_a_key_taken_out_has_its_default_again_and_comments_stay(
    operations: Dispatcher, environ: dict[str, str]
) -> None:
    await operations.call("config unset", {"key": "agent.fallback_models"})
    assert load(environ).agent.fallback_models == ()
    assert file_of(environ).startswith("# Mine.")
    with pytest.raises(UsageError, match="not set"):
        await operations.call("config unset", {"key": "agent.fallback_models"})


async def test_the_models_of_the_configuration_are_listed_once_each(
    operations: Dispatcher,
) -> None:
    options = await operations.call("models list", {})
    assert [(option.name, option.use) for option in options] == [
        ("embedded", "default"),
        ("groq/llama", "fallback"),
    ]
