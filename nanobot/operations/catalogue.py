"""The one list of operations."""

from __future__ import annotations

from nanobot.features.approving import APPROVING
from nanobot.features.context import CONTEXT
from nanobot.features.hooks import HOOKS
from nanobot.features.jobs import JOBS
from nanobot.features.mcp import MCP
from nanobot.features.memory import MEMORY
from nanobot.features.pairing import PAIRING
from nanobot.features.runs import STORED
from nanobot.features.sessions import SESSIONS
from nanobot.features.skills import SKILLS
from nanobot.features.spending import SPENDING
from nanobot.features.standing import STANDING
from nanobot.features.tasks import TASKS
from nanobot.operations.operation import Operation
from nanobot.operations.talking import TALKING

OPERATIONS: tuple[Operation, ...] = (
    *TALKING,
    *STANDING,
    *APPROVING,
    *SESSIONS,
    *STORED,
    *TASKS,
    *PAIRING,
    *SKILLS,
    *CONTEXT,
    *SPENDING,
    *MCP,
    *MEMORY,
    *JOBS,
    *HOOKS,
)
