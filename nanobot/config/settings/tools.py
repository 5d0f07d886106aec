"""What the model may do, and who is asked before."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

from nanobot.config.settings.base import Settings, Unfit, about


class ToolsSettings(Settings, frozen=True, kw_only=True):
    """`[tools]`."""


class RuleSettings(Settings, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A rule for calls. All keys that it has must match. `tool`, `channels`, `chats` and the
    values of `args` are patterns."""

    verdict: Annotated[
        Literal["allow", "ask", "deny"],
        about("What happens to a call: it is allowed, asked about, or denied.", live=True),
    ]
    tool: Annotated[str, about("Pattern of the tool's name.", live=True)] = "*"
    args: Annotated[Mapping[str, str], about("Patterns of arguments.", live=True)] = {}
    roles: Annotated[
        tuple[Literal["owner", "member", "guest"], ...],
        about("Roles of the person who asks. Empty: any.", live=True),
    ] = ()
    channels: Annotated[tuple[str, ...], about("Patterns of channels. Empty: any.", live=True)] = ()
    chats: Annotated[tuple[str, ...], about("Patterns of chats. Empty: any.", live=True)] = ()
    tainted: Annotated[
        bool | None,
        about("Whether the conversation has content from outside. Unset: either.", live=True),
    ] = None
    elsewhere: Annotated[
        bool | None, about("Whether the call writes to another chat. Unset: either.", live=True)
    ] = None
    why: Annotated[str, about("Reason that people are told.", live=True)] = ""


class PolicySettings(Settings, frozen=True, kw_only=True):
    """`[policy]`: which calls are allowed, and which need an approval."""

    rules: Annotated[
        tuple[RuleSettings, ...],
        about("Rules for calls of tools; the first that matches decides.", live=True),
    ] = ()
    hosts: Annotated[
        tuple[str, ...],
        about("Hosts that even conversations with content from outside may ask.", live=True),
    ] = ()

    def __post_init__(self) -> None:
        if any(not host or set(host) & set("/:@?# ") for host in self.hosts):
            raise Unfit("hosts", 'a list of hosts, such as "docs.python.org" or "*.wikipedia.org"')
