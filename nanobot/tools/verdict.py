"""The verdict on a call, with its reason."""

from __future__ import annotations

from enum import StrEnum

import msgspec

from nanobot.text import Sentence


class Verdict(StrEnum):
    """The decision on a call."""

    ALLOW = "allow"
    ASK = "ask"
    DENY = "deny"


class PolicyDecision(msgspec.Struct, frozen=True, kw_only=True):
    """The verdict, the name of the deciding rule, and its reason, phrased to follow "because".
    `configured`: the rule is from the configuration. `typed`: the call is allowed because a person
    typed it."""

    verdict: Verdict
    rule: str
    why: Sentence
    configured: bool = False
    typed: bool = False
