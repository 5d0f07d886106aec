"""The plugins whose keys they are."""

from __future__ import annotations

from collections.abc import Sequence

from nanobot.config.loader import Config
from nanobot.seam.installed import installed


def switched_off(keys: Sequence[str], config: Config) -> list[str]:
    """The plugins that people switched off of those that have these keys or tables; of a key that
    several share, if all are off."""
    owners = [_owners(key) for key in keys]
    off = {*config.plugins.off}
    return list(dict.fromkeys(name for each in owners if off.issuperset(each) for name in each))


def _owners(key: str) -> list[str]:
    table, shared = key.partition(".")[0], ".".join(key.split(".")[:2])
    found = installed().found.values()
    return [each.name for each in found if each.table == table or shared in each.shared_keys]
