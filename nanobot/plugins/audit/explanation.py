"""What the policy says of a call that nobody made."""

from __future__ import annotations

import msgspec

from nanobot.text import Sentence
from nanobot.tools.verdict import Verdict


class PolicyExplanation(msgspec.Struct, frozen=True, kw_only=True):
    """A verdict (allow, ask or deny) with the deciding rule and its reason."""

    tool: str
    arguments: str
    verdict: Verdict
    rule: str
    because: Sentence
