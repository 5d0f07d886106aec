"""The first config.toml: the chosen values, and comments about the rest."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nanobot.plugins.common.keys.config_file import edited

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


def written(text: str, keys: Mapping[str, Any]) -> str:
    """The text of config.toml ("": new) with these keys; all else is unchanged. Raises ConfigError
    if that is not possible."""
    text = text or _WHOLE
    for key, value in keys.items():
        text = edited(text, key, value)
    return text
