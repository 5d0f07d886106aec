"""Operations on outgoing messages: list them, retry or discard one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal, TypeAlias

from msgspec import Meta

from nanobot.errors import NanobotError, UnknownId
from nanobot.operations.operation import Caller, OperationContext, operation
from nanobot.operations.parameters import Limit
from nanobot.plugins.common.views.outbox import OutboxView

if TYPE_CHECKING:
    from nanobot.plugins.common.store.outbox import SqlOutbox

_MessageNumber: TypeAlias = Annotated[int, Meta(ge=1, description="The message.")]


def outbox_of(context: OperationContext) -> SqlOutbox:
    """The outbox of the gateway in which an operation runs."""
    from nanobot.plugins.common.store.outbox import SqlOutbox  # noqa: PLC0415 - loads the store
    from nanobot.store.opening import Store  # noqa: PLC0415 - as above

    store = context.of(Store)
    return SqlOutbox(store.database, store.writer)


async def _message_of(context: OperationContext, number: int) -> OutboxView:
    message = await outbox_of(context).one(number)
    if message is None:
        raise UnknownId(f"There is no message {number}; `outbox list` lists them.")
    return message


@operation(
    "outbox list",
    reads=True,
    example="state=dead",
    shows=("outbound", "outbound_parts", "voice_answers"),
)
async def list_outbox(
    context: OperationContext,
    _: Caller,
    state: Annotated[
        Literal[
            "",
            "preview",
            "held",
            "digested",
            "pending",
            "sending",
            "sent",
            "direct",
            "dead",
            "dropped",
        ],
        Meta(description="Filter by state."),
    ] = "",
    limit: Limit = 20,
) -> list[OutboxView]:
    """List outgoing messages and their delivery state.

    The platform refused a `dead` message, or could not be reached for a day. A notification can be
    `held` or `digested`. Answers that a program got directly have the state `direct` and are listed
    only with it.
    """
    return await outbox_of(context).listed(state=state, limit=limit)


@operation("outbox retry", example="17")
async def retry_message(context: OperationContext, _: Caller, id: _MessageNumber) -> OutboxView:
    """Retry a message whose delivery failed."""
    address = await outbox_of(context).retry(id)
    message = await _message_of(context, id)
    if address is None:
        raise NanobotError(f"Message {id} is {message.state}: only dead messages can be retried.")
    context.engine.bus.owed(address)
    return message


@operation("outbox drop", example="17")
async def drop_message(context: OperationContext, _: Caller, id: _MessageNumber) -> OutboxView:
    """Discard an unsent message."""
    dropped = await outbox_of(context).drop(id)
    message = await _message_of(context, id)
    if not dropped:
        raise NanobotError(f"Message {id} is {message.state}: it cannot be dropped now.")
    return message
