"""The public import path of the messages, which are in nanobot.messages."""

from __future__ import annotations

from nanobot.messages import *  # noqa: F403
