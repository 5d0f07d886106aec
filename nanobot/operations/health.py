"""The operation that starts the gateway again."""

from __future__ import annotations

from nanobot.operations.operation import Caller, OperationContext, operation
from nanobot.text import Sentence


@operation("restart", confirm="Running answers get time to finish. Restart now?")
async def restart(context: OperationContext, caller: Caller) -> Sentence:
    """Let running answers finish, then restart the gateway with the current configuration.

    If the configuration is wrong, it names the mistake and does not restart.
    """
    caller.at_this_machine("Starting again")
    context.engine.home.restart()
    return "The gateway is restarting. Unfinished answers resume afterwards."
