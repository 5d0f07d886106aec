"""Settings of the runs at the start and the stop of the gateway."""

from __future__ import annotations

from typing import Annotated

from nanobot.config.settings.base import Duration, Settings, about


class LifecycleSettings(Settings, frozen=True, kw_only=True):
    """`[lifecycle]`: runs at the start and the stop of the gateway."""

    enabled: Annotated[bool, about("Whether BOOT.md and SHUTDOWN.md are carried out.")] = True
    boot_seconds: Annotated[Duration, about("Longest time for BOOT.md.", unit="s")] = 120.0
    shutdown_seconds: Annotated[
        Duration, about("Longest time for SHUTDOWN.md, within `drain_seconds`.", unit="s")
    ] = 30.0
    wait_for_boot: Annotated[bool, about("Whether channels wait until BOOT.md is done.")] = False
