"""The hosts that commands of a conversation may reach because somebody allowed it for good."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

import msgspec

from nanobot.session.approvals import RuleView
from nanobot.tools.sandbox.hosts import is_entry


class _Command(msgspec.Struct):
    command: str = ""
    hosts: tuple[str, ...] = ()


class AllowedHosts:
    """Read from the rules that "Always here" leaves: whoever allows a command for good allows the
    hosts that it names, until the rule is forgotten."""

    def __init__(self, rules: Callable[[], Awaitable[Sequence[RuleView]]]) -> None:
        self._rules = rules

    async def allowed_hosts(self, session_key: str) -> list[str]:
        """Those of a conversation, as entries of a HostList."""
        from nanobot.tools.shell.network import named_hosts  # noqa: PLC0415 - with the first command

        hosts: list[str] = []
        for rule in await self._rules():
            if rule.tool == "exec" and rule.session_key == session_key and not rule.tainted:
                try:
                    allowed = msgspec.json.decode(rule.subject, type=_Command)
                except msgspec.DecodeError:
                    continue
                hosts += [*allowed.hosts, *named_hosts(allowed.command)]
        return list(filter(is_entry, hosts))
