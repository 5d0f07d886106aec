"""The operation that lets a browser in."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from nanobot.messages import Role
from nanobot.operations.operation import Caller, Operation, OperationContext, operation
from nanobot.operations.parameters import Positional
from nanobot.operations.rendering import Now
from nanobot.plugins.common.page_link import PageLink
from nanobot.text import Sentence


def operations() -> list[Operation]:
    """The link."""
    return [make_link]


def _link_text(link: PageLink, _: Now) -> Sentence:
    return f"{link.url}\n(opens the page once, within {link.seconds / 60:.0f} minutes)"


@operation("web link", text=_link_text, example="Anna role=member")
async def make_link(
    context: OperationContext,
    caller: Caller,
    name: Annotated[
        Positional, Meta(description="The person's name, as conversations show it.")
    ] = "",
    *,
    role: Annotated[
        Literal["owner", "member", "guest"], Meta(description="Role of the person who opens it.")
    ] = "owner",
) -> PageLink:
    """Create a link that logs in one browser.

    It is valid for ten minutes.
    """
    caller.at_this_machine("Opening the page")
    # Imported late: every command imports this module, and few need HTTP.
    from nanobot.plugins.common.http.access import Access  # noqa: PLC0415

    return context.of(Access).link(name, Role(role))
