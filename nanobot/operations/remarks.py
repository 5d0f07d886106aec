"""What `remarks` of a plugin give: remarks on runs, for people who look at them."""

from __future__ import annotations

import msgspec

from nanobot.text import Sentence


class Noted(msgspec.Struct, frozen=True, kw_only=True):
    """One remark as a plugin gives it. `entry`: the entry that it is about; 0: the run."""

    text: Sentence
    entry: int = 0
