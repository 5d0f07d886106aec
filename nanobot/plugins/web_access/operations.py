"""Operations on who may ask over HTTP."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from msgspec import Meta

from nanobot.messages import Role
from nanobot.operations.operation import Caller, Operation, OperationContext, operation
from nanobot.operations.parameters import Positional
from nanobot.operations.rendering import Now
from nanobot.plugins.web_access.views import AccessView, NewToken
from nanobot.text import Sentence

if TYPE_CHECKING:
    from nanobot.plugins.web_access.named import NamedAccess


def _access(context: OperationContext) -> NamedAccess:
    # Imported late: every command imports this module, and few need the store.
    from nanobot.plugins.web_access.named import NamedAccess  # noqa: PLC0415

    return context.of(NamedAccess)


@operation(
    "web tokens list",
    reads=True,
    empty="`web tokens add laptop` creates a token for a program.",
    shows=("access_tokens",),
)
async def list_tokens(context: OperationContext, _: Caller) -> list[AccessView]:
    """List the tokens of programs and the logged-in browsers."""
    return await _access(context).tokens()


def _token_text(new: NewToken, _: Now) -> Sentence:
    return f"{new.token}\n(for {new.name}, role {new.role}; it is not shown again)"


@operation("web tokens add", text=_token_text, example="laptop role=owner days=90")
async def add_token(
    context: OperationContext,
    caller: Caller,
    name: Annotated[
        Positional,
        Meta(description="A name, such as laptop, or the person it is for."),
    ],
    *,
    role: Annotated[
        Literal["owner", "member", "guest"], Meta(description="Role of the token.")
    ] = "member",
    days: Annotated[int, Meta(ge=0, le=3_660, description="Days until it expires; 0: never.")] = 90,
) -> NewToken:
    """Create a token for a program and show it once.

    The store keeps only its hash.
    """
    caller.at_this_machine("Creating a token")
    return await _access(context).add(name, Role(role), days or None)


def _revoked(view: AccessView, _: Now) -> Sentence:
    return f"Revoked {view.name} ({view.kind})."


@operation("web tokens revoke", text=_revoked, example="laptop")
async def revoke_token(
    context: OperationContext,
    _: Caller,
    name: Annotated[Positional, Meta(description="The token, or the browser.")],
) -> AccessView:
    """Revoke a token or log a browser out."""
    return await _access(context).revoke(name)


def operations() -> list[Operation]:
    """All operations, in the order of the help."""
    return [list_tokens, add_token, revoke_token]
