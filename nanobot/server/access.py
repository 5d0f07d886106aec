"""The promised import path of who may ask over HTTP."""

from __future__ import annotations

from nanobot.seam.promised import from_plugin

__getattr__ = from_plugin(__name__, "", "nanobot.plugins.common.http.access")
