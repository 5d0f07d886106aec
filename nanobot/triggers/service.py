"""The promised import path of the ports to what does jobs, which plugins share."""

from __future__ import annotations

from nanobot.seam.promised import from_plugin

__getattr__ = from_plugin(__name__, "", "nanobot.plugins.common.jobs.service")
