"""The promised import path of CronService, which is in the plugin `jobs`."""

from __future__ import annotations

from nanobot.seam.promised import from_plugin

__getattr__ = from_plugin(__name__, "jobs", "nanobot.plugins.jobs.timer")
