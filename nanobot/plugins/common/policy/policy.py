"""The policy decides whether a call is allowed, needs a person's approval, or is denied: the first
match decides in a table of configured rules, then plugins' and built-in ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from nanobot.config.settings.tools import PolicySettings, RuleSettings
from nanobot.plugins.common.policy.judging import decided, looked_at
from nanobot.plugins.common.policy.rules import (
    DEFAULTS,
    PolicyInput,
    check,
    configured,
    host_among,
)
from nanobot.plugins.common.policy.secret_files import secret_file_in, shows_secrets
from nanobot.tools.base import AnyTool, CallContext
from nanobot.tools.registry import ToolRegistry
from nanobot.tools.verdict import PolicyDecision, Verdict


class Policy:
    """The configured rules, followed by the plugins' rules and the built-in ones."""

    def __init__(
        self, settings: PolicySettings | None = None, added: Sequence[RuleSettings] = ()
    ) -> None:
        """Raises ConfigError for an invalid path pattern. `added`: the plugins' rules."""
        self.settings = settings or PolicySettings()
        self.added = added
        check(self.settings.rules)

    def judge(self, call: PolicyInput) -> PolicyDecision:
        """The verdict of the first rule that matches."""
        if host_among(call.host, self.settings.hosts):
            call = msgspec.structs.replace(call, sends=False)
        if host_among(call.to, self.settings.hosts):
            call = msgspec.structs.replace(call, carries="", to="")
        for number, rule in enumerate(self.settings.rules, 1):
            if configured(rule, call):
                why = rule.why or f"rule {number} of the configuration says so"
                return PolicyDecision(
                    verdict=Verdict(rule.verdict),
                    rule=f"policy.rules, rule {number}",
                    why=why,
                    configured=True,
                )
        for rule in self.added:
            if configured(rule, call):
                why = rule.why or "a rule of a plugin says so"
                verdict = Verdict(rule.verdict)
                return PolicyDecision(verdict=verdict, rule="a plugin's rule", why=why)
        for default in DEFAULTS:
            if default.matches(call):
                name, why = f"built-in: {default.name}", default.why_of(call)
                return PolicyDecision(verdict=default.verdict, rule=name, why=why)
        return PolicyDecision(
            verdict=Verdict.DENY, rule="built-in: nothing else", why="no rule says so"
        )

    async def judged(
        self, tool: AnyTool, args: Any, context: CallContext, *, foreign: bool
    ) -> PolicyDecision:
        """See Judge."""
        call = await looked_at(tool, args, context, foreign=foreign)
        if isinstance(call, PolicyDecision):
            return call
        out = tool.host is not None or tool.sends is not None or foreign
        return decided(self.judge, tool, call, context, goes_out=out)

    def reveals(self, text: str, args: Any = None) -> bool:
        """See Judge: by the form of a secret, or by the name of a file of secrets."""
        return shows_secrets(text) or secret_file_in(msgspec.to_builtins(args)) != ""


def policy_of(tools: ToolRegistry) -> Policy:
    """The policy with the current rules of these tools."""
    return Policy(tools.policy.settings, tools.policy.added)
