"""The first config.toml: the chosen values, and comments about the rest."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from nanobot.config.file import as_toml, edited, tree

if TYPE_CHECKING:
    from nanobot.app.setup.new_channel import NewChannel

_WHOLE = """\
# The configuration of nanobot. `nanobot config get` shows every key with its current value, and
# docs/configuration.md explains each key. After a change, run `nanobot config check` and start
# nanobot again.
#
# Any text can be "${NAME}", a variable of the environment, or "file:PATH", the content of a file
# (relative to this folder). Use this for keys and tokens.

[agent]
# The model that answers: "PROVIDER/MODEL"; "embedded", the small included one; or "auto", the first
# one available.
model = "auto"
# nanobot tries these in order if the model does not work.
# fallback_models = ["openrouter/openrouter/auto"]
# A message that arrives during an answer joins it ("steer") or waits ("queue").
# when_busy = "steer"

# A provider of models. Well-known names need only a key, others also an address.
# [providers.NAME]
# api_key = "${NAME_API_KEY}"
# api_base = "https://api.example.com/v1"

[tools.exec]
# Commands of the model run in a sandbox (bubblewrap). They can reach package registries and code
# hosts, and other hosts with an approval. network = "none" blocks the network.
hosts = ["registries"]

# [tools.web]
# Private machines whose pages the model may read, in addition to the internet.
# allow_private = ["nas.home", "192.168.1.5"]
"""

_OWNERS = """\
# The ids of those who may do everything. Names can be taken by others, ids cannot.
"""
_MEMBERS = """\
# The ids of those who may talk and use the harmless tools; ["*"] lets everybody in. Others who
# write get a code, by which you let them in: nanobot pair approve CODE
members = []
"""


def written(text: str, keys: Mapping[str, Any], channel: NewChannel | None = None) -> str:
    """The text of config.toml ("": new) with these keys and that channel; all else is unchanged.
    Raises ConfigError if that is not possible."""
    text = text or _WHOLE
    for key, value in keys.items():
        text = edited(text, key, value)
    if channel is None:
        return text
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
