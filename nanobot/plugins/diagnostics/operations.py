"""The operation `diagnostics`."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from nanobot.operations.operation import Caller, Operation, OperationContext, operation
from nanobot.operations.rendering import Now
from nanobot.plugins.common.faces import CurrentMetrics
from nanobot.plugins.common.gateway_facts import GatewayFacts
from nanobot.plugins.common.views.plugins import views_of
from nanobot.plugins.diagnostics.contents import Diagnostics
from nanobot.seam.offers import Contributions, Environment
from nanobot.text import Sentence

if TYPE_CHECKING:
    from nanobot.plugins.diagnostics.collecting import Serving


def listed(made: Diagnostics) -> str:
    """The files with their sizes."""
    return "\n".join(
        f"{file.name:<18} {file.size:>9,} bytes"
        + (f"  could not be collected: {file.failed}" if file.failed else "")
        for file in made.files
    )


def _text(made: Diagnostics, _: Now) -> Sentence:
    return listed(made)


@operation("diagnostics", text=_text, own_command=True)
async def diagnose(context: OperationContext, caller: Caller) -> Diagnostics:
    """Collect one redacted archive to attach to a report of a problem."""
    caller.at_this_machine("Collecting diagnostics")
    from nanobot.plugins.diagnostics.collecting import collect  # noqa: PLC0415 - loads doctor

    environ = context.of(Environment)
    return await collect(environ, context.engine.now(), _serving(context))


def _serving(context: OperationContext) -> Serving:
    from nanobot.plugins.diagnostics.collecting import Serving  # noqa: PLC0415 - see above
    from nanobot.tools.redact import Redactor  # noqa: PLC0415

    facts = context.of(GatewayFacts)
    metrics = context.of(CurrentMetrics)  # type: ignore[type-abstract]
    return Serving(
        plugins=partial(views_of, context.of(Contributions)),  # type: ignore[type-abstract]
        channels=lambda: facts.now().channels,
        metrics=metrics.collect,
        redact=context.of(Redactor),
    )


def operations() -> list[Operation]:
    """All operations."""
    return [diagnose]
