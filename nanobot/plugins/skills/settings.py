"""`[skills]`: instructions that the model can load."""

from __future__ import annotations

from typing import Annotated

from nanobot.config.settings.base import Settings, about


class SkillsSettings(Settings, frozen=True, kw_only=True):
    """`[skills]`: instructions that the model can load."""

    disabled: Annotated[
        tuple[str, ...], about("Skills that are not shown to the model.", live=True)
    ] = ()
