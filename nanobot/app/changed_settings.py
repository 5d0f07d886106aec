"""The effects of written keys."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from nanobot.config.keys import Applies
from nanobot.config.values import variable_of
from nanobot.operations.home import ChangedSettings


def changed_settings(
    keys: Sequence[str],
    file: Path,
    changed: Mapping[str, Applies],
    environ: Mapping[str, str],
    off: Sequence[str],
) -> ChangedSettings:
    """The requested keys, with the effects in `changed` on the running process. A table includes
    the keys below it. `off`: their plugins that are switched off."""

    def of(key: str) -> set[Applies]:
        return {when for name, when in changed.items() if f"{name}.".startswith(f"{key}.")}

    overridden = [key for key in keys if environ.get(variable_of(key))]
    return ChangedSettings(
        keys=list(keys),
        file=str(file),
        applied=[key for key in keys if "now" in of(key)],
        restart=[key for key in keys if "restart" in of(key)],
        overridden=overridden,
        off=list(off),
    )
