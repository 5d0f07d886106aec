"""The one list of operations."""

from __future__ import annotations

from nanobot.operations.approvals import APPROVING
from nanobot.operations.context import CONTEXT
from nanobot.operations.conversation import TALKING
from nanobot.operations.cron import JOBS
from nanobot.operations.mcp import MCP
from nanobot.operations.memory import MEMORY
from nanobot.operations.operation import Operation
from nanobot.operations.pairing import PAIRING
from nanobot.operations.runs import STORED
from nanobot.operations.sessions import SESSIONS
from nanobot.operations.skills import SKILLS
from nanobot.operations.status import STANDING
from nanobot.operations.tasks import TASKS
from nanobot.operations.usage import SPENDING
from nanobot.operations.webhooks import HOOKS

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
