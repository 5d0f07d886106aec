"""What limits and counts model calls: at most one plugin brings it. Money is at stake, so a gateway
does not start if that plugin fails, and says so if none is on."""

from __future__ import annotations

from typing import Any

from nanobot.app.plugged import Plugged
from nanobot.config.loader import Config
from nanobot.config.plugin_tables import set_keys
from nanobot.errors import PluginBroken
from nanobot.operations.home import Finding
from nanobot.seam.installed import installed
from nanobot.seam.offers import Contributions
from nanobot.store.unit import CallLedger, StoreContext


def ledger_of(plugged: Plugged, context: StoreContext) -> CallLedger:
    """The ledger of the plugin that brings one, or one without limits. Raises PluginBroken if that
    plugin fails: calls would have no limit."""
    several = "another plugin already limits model calls"
    found = plugged.only("ledger", CallLedger, several, {StoreContext: context})
    for name, failed in plugged.failures.items():
        if "ledger" in failed:
            raise PluginBroken(
                f"the plugin {name} limits model calls, and failed: {failed['ledger']}. "
                f"`nanobot plugins off {name}` starts without its limits."
            )
    return CallLedger() if found is None else found[1]


def unlimited(config: Config, plugged: Contributions) -> Finding | None:
    """That nothing limits model calls, if so; `broken` if the configuration sets limits."""
    if any(found.plugin.ledger is not None for found in plugged.on.values()):
        return None
    able = [each for each in installed().found.values() if each.plugin.ledger is not None]
    asked = [f"[{each.table}]" for each in able if _is_set(config.tables.get(each.table))]
    asked += [key for each in able for key in set_keys(each, config)]
    text = "model calls are neither limited nor counted"
    if asked:
        text += f", although {' and '.join(asked)} in {config.file} would limit them"
    remedy = f"Switch the plugin on: `nanobot plugins on {able[0].name}`" if able else ""
    return Finding(
        about="budgets", level="broken" if asked else "warning", text=text, remedy=remedy
    )


def _is_set(table: Any) -> bool:
    return table is not None and table != type(table)()
