"""The hosts that a conversation's commands may always reach because a person allowed it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

import msgspec

from nanobot.plugins.common.approvals import RuleView
from nanobot.plugins.shell.sandbox.hosts import is_entry


class _Command(msgspec.Struct):
    command: str = ""
    hosts: tuple[str, ...] = ()


class AllowedHosts:
    """Read from the rules created by "Always here": a person who always allows a command also
    allows the hosts it names, until the rule is removed.
    """

    def __init__(self, rules: Callable[[], Awaitable[Sequence[RuleView]]]) -> None:
        self._rules = rules

    async def allowed_hosts(self, session_key: str) -> list[str]:
        """The hosts allowed in a conversation, as entries of a HostList."""
        from nanobot.plugins.shell.network import named_hosts  # noqa: PLC0415 - with the first command

        hosts: list[str] = []
        for rule in await self._rules():
            if rule.tool == "exec" and rule.session_key == session_key and not rule.tainted:
                try:
                    allowed = msgspec.json.decode(rule.subject, type=_Command)
                except msgspec.DecodeError:
                    continue
                hosts += [*allowed.hosts, *named_hosts(allowed.command)]
        return list(filter(is_entry, hosts))
