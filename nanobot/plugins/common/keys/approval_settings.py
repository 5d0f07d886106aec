"""Who may approve calls, and how long questions wait for an answer: keys of `[policy]`."""

from __future__ import annotations

from typing import Annotated, ClassVar

from msgspec import Meta

from nanobot.config.settings.base import Settings, about


class ApprovalSettings(Settings, frozen=True, kw_only=True):
    """`approvers` are CHANNEL:ID, or "members"."""

    part_of: ClassVar[str] = "policy"
    approvers: Annotated[
        tuple[str, ...], about("People who may approve calls, in addition to owners.", live=True)
    ] = ()
    approval_seconds: Annotated[
        float,
        Meta(gt=0, le=2_592_000),
        about("How long an approval waits for an answer.", unit="s", live=True),
    ] = 86_400.0
    question_seconds: Annotated[
        float,
        Meta(gt=0, le=2_592_000),
        about("How long a question of the assistant waits for an answer.", unit="s", live=True),
    ] = 86_400.0
