"""The operation that shows and changes which model answers in a conversation."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from nanobot.messages import Role
from nanobot.operations.operation import Caller, Operation, OperationContext, operation
from nanobot.operations.parameters import Positional, SessionArgument, for_owners
from nanobot.operations.rendering import Now
from nanobot.text import Sentence

_OWNERS = for_owners("Only owners change the model.")


class ModelStatus(msgspec.Struct, frozen=True, kw_only=True):
    """The model that answers in a session; `changed` by this call."""

    session_key: str
    model: str
    changed: bool


def _model_text(model: ModelStatus, _: Now) -> Sentence:
    if model.changed:
        return f"This session now uses {model.model}."
    change = "`/model PROVIDER/MODEL` changes it"
    back = "`/model default` returns to the configured model"
    return f"This session uses {model.model}. {change}, {back}."


@operation(
    "model",
    role=Role.MEMBER,
    text=_model_text,
    command="sessions model",
    example="openai/gpt-6-luna",
)
async def change_model(
    context: OperationContext,
    _: Caller,
    name: Annotated[
        Positional, _OWNERS, Meta(description="PROVIDER/MODEL; empty: show the current model.")
    ] = "",
    *,
    default: Annotated[bool, _OWNERS, Meta(description="Return to the configured model.")] = False,
    force: Annotated[
        bool, _OWNERS, Meta(description="Accept a model that no list contains.")
    ] = False,
    session: SessionArgument = "",
) -> ModelStatus:
    """Show or change the model.

    A model that no list contains is refused, with the nearest names.
    """
    from nanobot.plugins.models.checking import check_label  # noqa: PLC0415 - loads providers
    from nanobot.plugins.models.store import SessionModels  # noqa: PLC0415 - loads the store

    engine = context.engine
    row = await engine.journal.session(session)
    if not name and not default:
        profile = await engine.describe_model(row.model if row else None)
        return ModelStatus(session_key=session, model=profile.label, changed=False)
    default = default or name == "default"
    label = None if default else name
    if label is not None and not force:
        await check_label(label, engine.models)
    profile = await engine.describe_model(label)
    await SessionModels.over(engine.journal).set_model(session, label)
    return ModelStatus(session_key=session, model=profile.label, changed=True)


def operations() -> list[Operation]:
    """All of them."""
    return [change_model]
