"""The limits of background runs."""

from __future__ import annotations

AGENT = "agent"
"""The run type in which a model does the work: a subagent."""
MAX_TITLE = 120
MAX_DEPTH = 2
"""A person's run may start runs, and these may start more, but no deeper than this."""
MAX_OF_SESSION = 8
"""Maximum number of background runs of one conversation that wait or work at the same time."""
MAX_IN_ALL = 200
