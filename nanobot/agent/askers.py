"""What asks people about calls, for gateways, programs and tests."""

from __future__ import annotations

from nanobot.agent.asking import Asker
from nanobot.seam.installed import Interface

ASKER: Interface[Asker] = Interface("asker")
