"""How a channel is set up: what people are asked for, and whether it would work."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

import msgspec


class SetupField(msgspec.Struct, frozen=True, kw_only=True):
    """A key of a channel's table, as a person is asked for it. `secret`: not shown while it is
    typed, and kept in a file of its own. `many`: a list. `usual` is taken on a bare Enter; "@KEY"
    in it stands for what follows the @ in the answer to KEY. `variables` of the environment may
    hold it already."""

    key: str
    asks: str
    secret: bool = False
    optional: bool = False
    many: bool = False
    usual: str = ""
    variables: tuple[str, ...] = ()


class Setup(msgspec.Struct, frozen=True, kw_only=True):
    """What `nanobot onboard` asks before it opens a channel: `SETUP` in the adapter's module. It
    may be missing.

    `steps`: how to come by it all, for people; `docs`: where more of it stands. `person` is what a
    person's id is called there, `pattern` how one looks; `only`: the one there is. `knock`: how to
    be the first who writes ({bot}: who it is there); "": nobody can be waited for. `keeps`: the
    gateway gets that message again. `id_is_chat`: a person's id is that of the chat with them.
    """

    title: str
    steps: str
    docs: str = ""
    fields: tuple[SetupField, ...] = ()
    person: str = "Your id"
    pattern: str = r"\S+"
    only: str = ""
    knock: str = ""
    keeps: bool = False
    id_is_chat: bool = False


class Checked(msgspec.Struct, frozen=True):
    """A channel that was let in. `lacking`: a sentence on what it cannot do all the same, and what
    to do about it. `todo`: what is left to do once it is saved and the gateway runs."""

    who: str
    lacking: str = ""
    todo: str = ""


@runtime_checkable
class SelfChecking(Protocol):
    """A channel that can tell whether it would work, for doctor and onboard. An adapter need not
    be one."""

    async def check(self) -> str | Checked:
        """Who it is over there, by the platform's cheapest call; changes nothing there.

        Raises BadCredentials or ChannelDown.
        """
        ...
