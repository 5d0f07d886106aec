"""The promised import path of the messages; they live in nanobot.messages."""

from __future__ import annotations

from nanobot.messages import *  # noqa: F403
