"""Operations on plugins: which there are, and whether they are on."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from nanobot.operations.home import PluginView
from nanobot.operations.operation import Caller, OperationContext, operation
from nanobot.operations.parameters import Positional
from nanobot.operations.rendering import Now
from nanobot.text import Sentence

_Name = Annotated[Positional, Meta(description="The plugin's name.")]


def _switched(plugin: PluginView, _: Now) -> Sentence:
    return f"The plugin {plugin.name} is {plugin.state} after the next start (`restart`)."


@operation("plugins list", reads=True, of_home=True)
async def list_plugins(context: OperationContext, _: Caller) -> list[PluginView]:
    """List the installed plugins, their state and their parts."""
    return context.engine.home.plugins()


@operation("plugins on", text=_switched, example="voice", of_home=True)
async def plugin_on(context: OperationContext, _: Caller, name: _Name) -> PluginView:
    """Switch a plugin on, from the next start on."""
    return await context.engine.home.switch_plugin(name, on=True)


@operation("plugins off", text=_switched, example="voice", of_home=True)
async def plugin_off(context: OperationContext, _: Caller, name: _Name) -> PluginView:
    """Switch a plugin off, from the next start on.

    Its settings stay and are not checked.
    """
    return await context.engine.home.switch_plugin(name, on=False)
