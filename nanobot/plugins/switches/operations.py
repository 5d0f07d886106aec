"""Operations on plugins: which there are, whether they are on, and the restart that applies it."""

from __future__ import annotations

import asyncio
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from nanobot.errors import UnknownId, UsageError
from nanobot.operations.operation import Caller, Operation, OperationContext, operation
from nanobot.operations.parameters import Positional
from nanobot.operations.rendering import Now
from nanobot.plugins.common.keys.home_settings import HomeSettings
from nanobot.plugins.common.views.plugins import PluginView, views_of
from nanobot.seam.offers import Contributions, Restart
from nanobot.text import Sentence

_Name = Annotated[Positional, Meta(description="The plugin's name.")]
_OWN = "switches"


def _switched(plugin: PluginView, _: Now) -> Sentence:
    return f"The plugin {plugin.name} is {plugin.state} after the next start (`restart`)."


@operation("plugins list", reads=True, of_home=True)
async def list_plugins(context: OperationContext, _: Caller) -> list[PluginView]:
    """List the installed plugins, their state and their parts."""
    return _views(context)


@operation("plugins on", text=_switched, example="voice", of_home=True)
async def plugin_on(context: OperationContext, _: Caller, name: _Name) -> PluginView:
    """Switch a plugin on, from the next start on."""
    return await _switch(context, name, on=True)


@operation("plugins off", text=_switched, example="voice", of_home=True)
async def plugin_off(context: OperationContext, _: Caller, name: _Name) -> PluginView:
    """Switch a plugin off, from the next start on.

    Its settings stay and are not checked.
    """
    if name == _OWN:
        raise UsageError(
            f"nothing could switch {_OWN} on again: write it into plugins.off in config.toml"
        )
    return await _switch(context, name, on=False)


@operation("restart", confirm="Running answers get time to finish. Restart now?")
async def restart(context: OperationContext, caller: Caller) -> Sentence:
    """Let running answers finish, then restart the gateway with the current configuration.

    If the configuration is wrong, it names the mistake and does not restart.
    """
    caller.at_this_machine("Starting again")
    again = context.offered(Restart)
    if again is None:
        raise UsageError("only a gateway can restart itself: exit, and start it again")
    context.of(HomeSettings).read()  # if it could not start again, it continues instead
    again.begin()
    return "The gateway is restarting. Unfinished answers resume afterwards."


def _views(context: OperationContext) -> list[PluginView]:
    return views_of(context.of(Contributions))  # type: ignore[type-abstract]


async def _switch(context: OperationContext, name: str, *, on: bool) -> PluginView:
    """From the next start on. Raises UnknownId."""
    named = {view.name: view for view in _views(context)}
    if name not in named:
        raise UnknownId(f"There is no plugin {name[:60]!r}: nanobot plugins list")
    settings = context.of(HomeSettings)
    before = {*(await asyncio.to_thread(settings.read)).plugins.off}
    off = before - {name} if on else before | {name}
    if off != before:
        await settings.change({"plugins.off": sorted(off) or None})
    state: Literal["on", "off"] = "on" if on else "off"
    return msgspec.structs.replace(named[name], state=state, why="")


def operations() -> list[Operation]:
    """All operations."""
    return [list_plugins, plugin_on, plugin_off, restart]
