"""Operations on the configuration, and on the models that it names."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any

from msgspec import Meta

from nanobot.app.live_settings import LiveSettings
from nanobot.config.values import variable_of
from nanobot.operations.home import ChangedSettings
from nanobot.operations.operation import Caller, Operation, OperationContext, operation
from nanobot.operations.parameters import Positional
from nanobot.operations.rendering import Now
from nanobot.plugins.common.keys.home_settings import HomeSettings
from nanobot.plugins.configuration.views import ModelOption, SettingView
from nanobot.seam.installed import provided
from nanobot.seam.offers import Environment
from nanobot.text import Sentence


def _settings_text(settings: list[SettingView], _: Now) -> Sentence:
    return "\n".join(f"{setting.key} = {setting.value!r}" for setting in settings)


def changed_text(changed: ChangedSettings, _: Now | None = None) -> Sentence:
    """What became of keys that were written."""
    lines = [f"Saved {', '.join(changed.keys)} in {changed.file}."]
    if changed.overridden:
        names = ", ".join(map(variable_of, changed.overridden))
        lines.append(f"It has no effect while the environment variable {names} is set.")
    if changed.off:
        return " ".join([*lines, *map(without_effect, changed.off)])
    if changed.applied:
        lines.append("It is in effect now.")
    if changed.restart:
        lines.append("Restart the gateway for it to take effect (`restart`).")
    return " ".join(lines)


def without_effect(plugin: str) -> Sentence:
    """That keys of a plugin do nothing while it is switched off."""
    return f"It has no effect while the plugin {plugin} is off: `plugins on {plugin}`."


@operation("config get", reads=True, text=_settings_text, own_command=True, example="agent.model")
async def get_settings(
    context: OperationContext,
    caller: Caller,
    key: Annotated[Positional, Meta(description="A key or a table; empty: all.")] = "",
) -> list[SettingView]:
    """Show the configuration; secrets are shown as ***."""
    caller.at_this_machine("The configuration")
    from nanobot.plugins.configuration.every_setting import setting_views  # noqa: PLC0415

    return setting_views(context.of(LiveSettings).config, context.of(Environment), key)


def _schema_text(_schema: dict[str, Any], _now: Now) -> Sentence:
    return "The schema is for editors and programs: `nanobot config schema` prints it."


@operation("config schema", text=_schema_text, reads=True, own_command=True)
async def show_schema(_context: OperationContext, _: Caller) -> dict[str, Any]:
    """Print the JSON Schema of the configuration."""
    from nanobot.plugins.configuration import schema  # noqa: PLC0415

    return schema.schema()


@operation(
    "config set",
    text=changed_text,
    own_command=True,
    example="agent.model openai/gpt-6-luna",
)
async def set_setting(
    context: OperationContext,
    caller: Caller,
    key: Annotated[Positional, Meta(description="The key, as in agent.model.")],
    text: Annotated[
        Positional, Meta(description="The value; separate the items of a list by commas.")
    ],
    *,
    force: Annotated[bool, Meta(description="Accept a model that no list contains.")] = False,
) -> ChangedSettings:
    """Set a configuration key."""
    caller.at_this_machine("The configuration")
    # What follows is needed only for a change.
    from nanobot.plugins.common.models.known_models import NAMED_MODELS  # noqa: PLC0415
    from nanobot.plugins.configuration.changes import typed_changes, write  # noqa: PLC0415

    environ, changes = context.of(Environment), typed_changes({key: text})
    check = None if force else provided(NAMED_MODELS)
    if check is not None:
        await check(changes.keys, environ)
    return await context.of(HomeSettings).apply([key], partial(write, environ, changes))


@operation("config unset", text=changed_text, example="agent.model")
async def unset_setting(
    context: OperationContext,
    caller: Caller,
    key: Annotated[Positional, Meta(description="The key, as in agent.model.")],
) -> ChangedSettings:
    """Remove a configuration key, so that its default applies."""
    caller.at_this_machine("The configuration")
    from nanobot.plugins.configuration.changes import check_key  # noqa: PLC0415 - as above

    check_key(key)
    return await context.of(HomeSettings).change({key: None})


@operation("models list", reads=True)
async def list_models(context: OperationContext, _: Caller) -> list[ModelOption]:
    """List the models that the configuration names."""
    from nanobot.plugins.configuration.every_setting import model_options  # noqa: PLC0415

    return model_options(context.of(LiveSettings).config)


def operations() -> list[Operation]:
    """All operations."""
    return [get_settings, show_schema, set_setting, unset_setting, list_models]
