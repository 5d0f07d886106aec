"""The first config.toml: what was chosen, and comments on what else there is."""

from __future__ import annotations

from collections.abc import Mapping

from nanobot.cli.configfile import edited

_WHOLE = """\
# The configuration of nanobot. `nanobot config get` shows every key with what holds now; what each
# means stands in docs/configuration.md. After a change: `nanobot config check`, then start again.
#
# Any text may be "${NAME}", a variable of the environment, or "file:PATH", the content of a file
# (relative to this folder). Keys and tokens are best kept so.

[agent]
# Which model answers: "PROVIDER/MODEL"; "embedded", the small one that is included; or "auto",
# whatever is there.
model = "auto"
# Tried in this order when the model cannot be reached.
# fallback_models = ["openrouter/openrouter/auto"]
# A message that comes while an answer is in the making joins it ("steer") or waits ("queue").
# when_busy = "steer"

# How to reach a provider. Well-known names need only their key, any other its address as well.
# [providers.NAME]
# api_key = "${NAME_API_KEY}"
# api_base = "https://api.example.com/v1"

[tools.exec]
# Commands of the model run in a sandbox (bubblewrap), or not at all. May they use the network?
network = true

# [tools.web]
# Machines at home that the model may read pages of, besides the internet.
# allow_private = ["nas.home", "192.168.1.5"]
"""

_TELEGRAM = """
[channels.telegram]
# Talk to @BotFather on Telegram, send /newbot: it gives you this.
token = ""
# The ids of those who may do everything. Names can be taken by others, ids cannot.
owners = []
# The ids of those who may talk and use the harmless tools; ["*"] lets everybody in. Others who
# write get a code, by which you let them in: nanobot pair approve CODE
members = []
"""


def written(keys: Mapping[str, str | list[str]]) -> str:
    """The whole file with these keys set."""
    chat = any(key.startswith("channels.telegram.") for key in keys)
    text = _WHOLE + (_TELEGRAM if chat else "")
    for key, value in keys.items():
        text = edited(text, key, value)
    return text
