"""The table of a new channel in config.toml, with comments on its keys."""

from __future__ import annotations

from typing import Any

from nanobot.plugins.common.keys.config_file import as_toml, edited, tree
from nanobot.plugins.setup.new_channel import NewChannel

_OWNERS = """\
# The ids of those who may do everything. Names can be taken by others, ids cannot.
"""
_MEMBERS = """\
# The ids of those who may talk and use the harmless tools; ["*"] lets everybody in. Others who
# write get a code, by which you let them in: nanobot pair approve CODE
members = []
"""


def with_channel(text: str, channel: NewChannel) -> str:
    """The text of config.toml with that channel; all else is unchanged. Raises ConfigError if that
    is not possible."""
    path = f"channels.{channel.name}"
    whole = text
    for key, value in channel.keys.items():
        whole = edited(whole, f"{path}.{key}", value)
    if channel.name in _tables(text):
        return whole
    gap = "\n" if text.endswith("\n") else "\n\n"
    commented = f"{text}{gap}{_block(path, channel)}"
    expected = _tables(whole)
    expected[channel.name].setdefault("owners", [])
    expected[channel.name].setdefault("members", [])
    return commented if _tables(commented) == expected else whole


def _block(path: str, channel: NewChannel) -> str:
    """The table of a channel, with comments on its keys."""
    setup = channel.setup
    more = f"; {setup.docs} lists all keys" if setup.docs else ""
    asks = {field.key: field.asks for field in setup.fields}
    lines = [f"# {setup.title}{more}.", f"[{path}]"]
    keys = {"owners": [], **channel.keys}
    owners = keys.pop("owners")
    for key, value in keys.items():
        lines += [f"# {asks[key]}."] if key in asks else []
        lines.append(f"{key} = {as_toml(value)}")
    lines.append(f"{_OWNERS}owners = {as_toml(owners)}")
    return "\n".join(lines) + "\n" + (_MEMBERS if "members" not in keys else "")


def _tables(text: str) -> dict[str, Any]:
    return dict((tree(text) or {}).get("channels", {}))
