"""The set-up of a channel: the questions to a person, and a check of the answers."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

import msgspec

from nanobot.text import Sentence


class SetupField(msgspec.Struct, frozen=True, kw_only=True):
    """A question for one key of a channel's table."""

    key: str
    asks: Sentence
    secret: bool = False
    """Not shown while typed, and stored in a separate file."""
    optional: bool = False
    many: bool = False
    """A list."""
    usual: str = ""
    """The default; "@KEY" in it means the text after the @ in the answer to KEY."""
    variables: tuple[str, ...] = ()
    """Environment variables that may already hold it."""


class Setup(msgspec.Struct, frozen=True, kw_only=True):
    """The questions of `nanobot onboard` about a channel: `SETUP` in the adapter's module. It may
    be missing."""

    title: str
    steps: Sentence
    """How to get the answers, for people."""
    docs: str = ""
    """Where to read more."""
    fields: tuple[SetupField, ...] = ()
    person: Sentence = "Your id"
    """The platform's name for a person's id."""
    pattern: str = r"\S+"
    """Its format."""
    only: str = ""
    """The only valid one."""
    knock: Sentence = ""
    """How to write the first message ({bot}: its name there); "": it cannot be waited for."""
    keeps: bool = False
    """The gateway gets that message again."""
    id_is_chat: bool = False
    """A person's id is that of their private chat."""


class Checked(msgspec.Struct, frozen=True):
    """A channel with accepted credentials. `lacking`: a sentence about missing abilities and how to
    get them. `todo`: what remains to be done after it is saved and the gateway runs."""

    who: str
    lacking: Sentence = ""
    todo: Sentence = ""


@runtime_checkable
class SelfChecking(Protocol):
    """A channel that can check its own settings, for doctor and onboard. Optional."""

    async def check(self) -> str | Checked:
        """Its identity on the platform, from the cheapest request; changes nothing there.

        Raises BadCredentials or ChannelDown.
        """
