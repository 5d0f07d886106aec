"""Settings of the triggers of packages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from nanobot.config.settings.base import Settings, Unfit, about

_CHAT = 'a chat as "CHANNEL:ID", like "telegram:1001"'


class TriggerSettings(Settings, frozen=True, kw_only=True):
    """`[triggers.NAME]`: a trigger from a package, which has further keys.

    `type` is its entry point's name, `settings` contains the further keys, with references
    resolved.
    """

    type: Annotated[str, about("Trigger of a package, by default the table's name.")]
    enabled: Annotated[bool, about("Whether this trigger is on.")] = True
    to: Annotated[str, about("Chat that gets the answers, as CHANNEL:ID. Empty: only the log.")] = (
        ""
    )
    settings: Annotated[Mapping[str, Any], about("Further keys of the trigger.")] = {}

    def __post_init__(self) -> None:
        if self.enabled and self.to and not all(self.to.partition(":")):
            raise Unfit("to", _CHAT)

    @classmethod
    def completed(cls, values: dict[str, Any], name: str) -> dict[str, Any]:
        return {"type": name, **values}

    def __rich_repr__(self) -> list[tuple[str, Any]]:
        # Which of them is secret, only the trigger knows: show their keys.
        *own, _ = super().__rich_repr__()
        return [*own, ("settings", sorted(self.settings))]
