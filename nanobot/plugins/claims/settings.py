"""Whether answers are compared with the calls of their runs."""

from __future__ import annotations

from typing import Annotated

from nanobot.config.settings.base import Settings, about


class ClaimsSettings(Settings, frozen=True, kw_only=True):
    """`[claims]`: compares what answers say was done with the calls of their runs."""

    enabled: Annotated[
        bool, about("Whether runs are marked whose answer claims what no call could have done.")
    ] = True
    ask_again: Annotated[
        bool,
        about("Whether the model is told once before such an answer is given, to do it or say so."),
    ] = False
