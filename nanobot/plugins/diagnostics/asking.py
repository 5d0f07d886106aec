"""Asks the gateway of a home for its diagnostics."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from nanobot.boundary import boundary
from nanobot.config.values import home_of
from nanobot.errors import NanobotError
from nanobot.plugins.common.control.client import call
from nanobot.plugins.diagnostics.contents import Diagnostics


async def asked(environ: Mapping[str, str]) -> tuple[Diagnostics | None, str]:
    """What the gateway collected; None and "" if none runs; None and why if it failed."""
    why = ""
    with boundary("diagnostics: the gateway") as caught:
        try:
            answer = await call(home_of(environ) / "control.sock", "diagnostics", {})
            if answer is None:
                return None, ""
            return msgspec.json.decode(answer, type=Diagnostics), ""
        except (NanobotError, msgspec.DecodeError) as error:
            why = f"{type(error).__name__}: {error}"
    return None, why or f"{type(caught.error).__name__}: {caught.error}"
