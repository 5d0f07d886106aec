"""The configuration's keys for people: the current value, the written value, and the purpose."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from nanobot.config.loader import Config, load
from nanobot.plugins.common.keys.declared_keys import keys_of
from nanobot.plugins.configuration import shown
from nanobot.plugins.configuration.views import ModelOption, SettingView


def setting_views(config: Config, environ: Mapping[str, str], key: str) -> list[SettingView]:
    """A key, or all below a table ("": all), of a process that works with `config`, including keys
    without a value. Raises UsageError for an unknown key."""
    holds = dict(shown.shown(config))
    written = {name: (value, source) for name, value, source in shown.sourced(environ)}
    known = {item.name: item for item in (*keys_of(config), *keys_of(load(environ, unset={})))}
    names = [*written, *(name for name in known if name not in written)]
    picked = [name for name in names if not key or name == key or name.startswith(f"{key}.")]
    if not picked:
        shown.chosen(environ, key)
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


def model_options(config: Config) -> list[ModelOption]:
    """The models that a configuration names."""
    agent = config.agent
    described = [
        f"{provider}/{model}"
        for provider, settings in config.providers.items()
        for model in settings.models
    ]
    options = {agent.model: ModelOption(name=agent.model, use="default")}
    for name in agent.fallback_models:
        options.setdefault(name, ModelOption(name=name, use="fallback"))
    for name in described:
        options.setdefault(name, ModelOption(name=name))
    return list(options.values())
