"""The configuration's keys for people: the current value, the written value, and the purpose."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from nanobot.config import file
from nanobot.config.keys import keys_of
from nanobot.config.loader import Config, load
from nanobot.operations.home import SettingView


def setting_views(config: Config, environ: Mapping[str, str], key: str) -> list[SettingView]:
    """A key, or all below a table ("": all), of a process that works with `config`, including keys
    without a value. Raises UsageError for an unknown key."""
    holds = dict(file.shown(config))
    written = {name: (value, source) for name, value, source in file.sourced(environ)}
    known = {item.name: item for item in (*keys_of(config), *keys_of(load(environ, unset={})))}
    names = [*written, *(name for name in known if name not in written)]
    picked = [name for name in names if not key or name == key or name.startswith(f"{key}.")]
    if not picked:
        file.chosen(environ, key)
    views = []
    for name in picked:
        value, source = written.get(name, (None, "default"))
        now = holds.get(name, value)
        item = known.get(name)
        view = SettingView(
            key=name,
            value=now,
            source=source,
            written=value if now != value else None,
            applies="restart" if item is None else item.applies,
        )
        if item is not None and item.declared is not None:
            told = msgspec.structs.asdict(item.declared)
            view = msgspec.structs.replace(view, **{k: told[k] for k in _TOLD})
        views.append(view)
    return views


_TOLD = ("about", "kind", "unit", "choices", "least", "most", "above", "default")
