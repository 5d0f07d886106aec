"""The servers of the Model Context Protocol, and what each may do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

from msgspec import Meta

from nanobot.config.settings.base import URL, Settings, Unfit, about, is_usable_url
from nanobot.config.values import (
    KEY_LIKE,
    judged_arguments,
    masked_arguments,
    secrets_in_url,
)
from nanobot.plugins.common.keys.tool_settings import REGISTRIES, check_hosts


class McpSettings(Settings, frozen=True, kw_only=True):
    """`[mcp.NAME]`: a server of the Model Context Protocol, which is either a `command` or a
    `url`. Its program reads the system, its own installation and `read`, and writes into `write`
    and a folder of its own. If bubblewrap does not work, it runs with Landlock only and a warning
    ("auto"), or not at all ("bwrap"). `pin`: "changes" means the tools that were added or changed
    after the first connection."""

    enabled: Annotated[bool, about("Whether this server is connected.")] = True
    command: Annotated[str, about("Program to start.")] = ""
    args: Annotated[tuple[str, ...], about("Arguments of the program.")] = ()
    env: Annotated[
        Mapping[str, str], about("Environment of the program, in addition to PATH and HOME.")
    ] = {}
    sandbox: Annotated[
        Literal["auto", "bwrap", "off"], about("Whether the program runs in a sandbox.")
    ] = "auto"
    read: Annotated[tuple[str, ...], about("Folders that the program may read.")] = ()
    write: Annotated[tuple[str, ...], about("Folders that the program may write to.")] = ()
    network: Annotated[
        Literal["hosts", "none", "all"],
        about("What the program reaches: the listed hosts, nothing, or everything."),
    ] = "hosts"
    hosts: Annotated[tuple[str, ...], about("Hosts that the program reaches.")] = (REGISTRIES,)
    url: Annotated[str, about("Address of the server.")] = ""
    headers: Annotated[Mapping[str, str], about("Headers that go with every request.")] = {}
    timeout: Annotated[float, Meta(gt=0, le=3600), about("How long a call may take.", unit="s")] = (
        60.0
    )
    allow: Annotated[tuple[str, ...], about("Patterns of the tools that are offered.")] = ("*",)
    members: Annotated[bool, about("Whether members may use the tools too.")] = False
    pin: Annotated[
        Literal["changes", "all", "off"],
        about("Tools that an owner has to accept: new and changed ones, all, or none."),
    ] = "changes"

    def __post_init__(self) -> None:
        if not self.enabled:
            return
        if bool(self.command) is bool(self.url):
            raise Unfit("", "a table with either a command (a program to start) or a url")
        if self.url and not is_usable_url(self.url):
            raise Unfit("url", URL)
        if self.command and self.headers:
            raise Unfit("headers", "left out where there is a command: they belong to a url")
        check_hosts(self.hosts)
        for key in ("env", "args", "read", "write"):
            if self.url and getattr(self, key):
                raise Unfit(key, "left out where there is a url")
        for key in ("read", "write"):
            if not all(path.startswith(("/", "~/")) for path in getattr(self, key)):
                raise Unfit(key, 'a list of whole paths, like ["/srv/documents", "~/notes"]')

    def __rich_repr__(self) -> list[tuple[str, Any]]:
        # Any of their values, and any argument, may be a key.
        hidden = {"env": sorted(self.env), "headers": sorted(self.headers), "args": len(self.args)}
        return [(key, hidden.get(key, value)) for key, value in super().__rich_repr__()]

    def shown_value(self, key: str) -> Any:
        value = getattr(self, key)
        if key in ("env", "headers"):
            return dict.fromkeys(value, "***")
        return masked_arguments(value) if key == "args" else value

    def hidden_values(self) -> set[str]:
        return {*self.env.values(), *self.headers.values(), *_secrets_in_arguments(self.args)}


def _secrets_in_arguments(arguments: Sequence[str]) -> set[str]:
    """Passwords and keys within the arguments of a program."""
    secrets = set[str]()
    for argument, secret in judged_arguments(arguments):
        if secret is not None:
            secrets.add(secret)
        elif "://" in argument:
            secrets |= secrets_in_url(argument)
        else:
            secrets |= {match[0] for match in KEY_LIKE.finditer(argument)}
    return secrets
