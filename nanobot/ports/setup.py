"""The set-up of a channel: the questions to a person, and a check of the answers."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

import msgspec

from nanobot.text import Sentence


class SetupField(msgspec.Struct, frozen=True, kw_only=True):
    """A question for one key of a channel's table. `secret`: not shown while typed, and stored in a
    separate file. `many`: a list. `usual`: the default; "@KEY" in it means the text after the @ in
    the answer to KEY. `variables`: environment variables that may already hold it."""

    key: str
    asks: Sentence
    secret: bool = False
    optional: bool = False
    many: bool = False
    usual: str = ""
    variables: tuple[str, ...] = ()


class Setup(msgspec.Struct, frozen=True, kw_only=True):
    """The questions of `nanobot onboard` about a channel: `SETUP` in the adapter's module. It may
    be missing.

    `steps`: how to get the answers, for people; `docs`: where to read more. `person`: the
    platform's name for a person's id; `pattern`: its format; `only`: the only valid one. `knock`:
    how to write the first message ({bot}: its name there); "": waiting for one is not possible.
    `keeps`: the gateway gets that message again. `id_is_chat`: a person's id is that of their
    private chat.
    """

    title: str
    steps: Sentence
    docs: str = ""
    fields: tuple[SetupField, ...] = ()
    person: Sentence = "Your id"
    pattern: str = r"\S+"
    only: str = ""
    knock: Sentence = ""
    keeps: bool = False
    id_is_chat: bool = False


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
        ...
