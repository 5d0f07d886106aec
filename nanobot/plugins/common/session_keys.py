"""Keys of sessions that several plugins know. Never change them: databases contain them."""

from __future__ import annotations

from nanobot.session.keys import Keys

LIFECYCLE = Keys("lifecycle")
"""One per lifecycle event (such as start-up) that has a run: its session."""
ONCE = "once"
"""Part of the name of a terminal session that was started for a single message."""
